"""Groups of a batch (its domains, or its domains within each class), and the mean of a divergence over them."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from matchdg.methods.batch import Batch


@dataclass(frozen=True)
class Groups:
    """G = strata x K groups of V inputs: one stratum for all classes together, or one a class.

    `members[V, G]` is one-hot, `counts[G]` the sizes.
    """

    members: Tensor
    counts: Tensor
    domains: int

    @classmethod
    def of(cls, batch: Batch, conditional: bool, dtype: torch.dtype) -> "Groups":
        """The domains of `batch`, within each class where `conditional`."""
        strata = batch.classes if conditional else 1
        index = batch.labels * batch.columns + batch.domains if conditional else batch.domains
        members = one_hot(index, strata * batch.columns).to(dtype)
        return cls(members, members.sum(0), batch.columns)

    @property
    def averages(self) -> Tensor:
        """`members` scaled so that `averages.T @ x` is each group's mean; zero for an empty group."""
        return self.members / self.counts.clamp(min=1)

    def mean_over_pairs(self, products: Tensor) -> Tensor:
        r"""Mean of $p_{aa} + p_{bb} - 2 p_{ab}$ over all pairs of domains of a stratum, both present.

        `products[G, G]` are inner products of whatever stands for a group; the expression is their squared
        distance. Zero where no pair is present.
        """
        strata = len(self.counts) // self.domains
        blocks = products.view(strata, self.domains, strata, self.domains).diagonal(dim1=0, dim2=2)
        own = blocks.diagonal(dim1=0, dim2=1).T
        divergence = own[:, None] + own[None, :] - 2 * blocks
        present = (self.counts.view(strata, self.domains).T > 0).to(products.dtype)
        pairs = present[:, None] * present[None, :]
        pairs = pairs * (1 - torch.eye(self.domains, device=pairs.device, dtype=pairs.dtype))[:, :, None]
        return (divergence * pairs).sum() / pairs.sum().clamp(min=1)
