"""What a method is: a loss made of named terms, on any network, and at most some parameters of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from matchdg.core.settings import Settings
from matchdg.methods.batch import Batch
from matchdg.networks import Network

Turn = Literal["network", "adversary"]


@dataclass
class Clock:
    """Where training stands: `step` counts batches from 0 over the whole run, `epoch` from 0 to `epochs` - 1."""

    step: int
    epoch: int
    epochs: int


@dataclass(frozen=True)
class Loss:
    """`total` is minimised; `terms` are logged under their names, unweighted: scalars, or [K] one a domain."""

    total: Tensor
    terms: dict[str, Tensor]


class Method(nn.Module):
    """Maps (network, batch) to named loss terms. Owns no loop, optimiser, device or file.

    Parameters of a method train with the network's, except those under `adversary`, which have their turn alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.adversary: nn.Module | None = None

    def turn(self, step: int) -> Turn:
        """Whose parameters the step updates."""
        return "network"

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """The loss of one batch."""
        raise NotImplementedError


Build = Callable[[Any, Network, int], Method]


@dataclass(frozen=True)
class MethodSpec:
    """A row of `METHODS`: everything that the rest of the house needs to know of a method.

    `build(settings, network, domains)` makes it; `matcher` names the match table whose rows it trains on by
    default; `search` holds the grids of the paper by experiment ("slab", "rotated-mnist", …), as settings.
    """

    label: str
    reference: str
    settings: type[Settings]
    build: Build
    matcher: str = "random"
    search: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)


def classification(batch: Batch, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy: its mean over the batch, and its means per domain [K]. `logits[V, C]`."""
    losses = cross_entropy(logits, batch.labels, reduction="none")
    per_domain = batch.domain_means(losses)
    return (per_domain.mean() if batch.cells is None else losses.mean()), per_domain


def with_penalty(batch: Batch, logits: Tensor, name: str, penalty: Tensor, weight: float) -> Loss:
    """The form of most methods: ERM + weight * penalty."""
    mean, per_domain = classification(batch, logits)
    return Loss(mean + weight * penalty, {"classification": per_domain, name: penalty})
