"""The distance between matched representations."""

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from matchdg.methods.base import Scaled
from matchdg.methods.batch import Batch

Distance = Literal["squared-l2", "l2", "l1", "cosine"]


def weighted_match_penalty(
    batch: Batch, features: Tensor, distance: Distance, weight: float
) -> tuple[Tensor, Tensor | Scaled]:
    """`weight` times the `match_distance` of a batch's `features[V, D]`, by the shortest way there is; and the term."""
    whole = features.dtype in (torch.float32, torch.float64)
    if batch.cells is None and distance == "squared-l2" and batch.columns > 1 and whole and weight > 0:
        weighted, value = weighted_squared_l2(features, batch.columns, weight)
        return weighted, Scaled(value, 1.0 / weight)
    penalty = match_distance(batch.grid(features), batch.mask, distance)
    return weight * penalty, penalty.detach()


def match_distance(features: Tensor, mask: Tensor | None, distance: Distance) -> Tensor:
    r"""Mean distance over all pairs of domains of a row, then over rows: the penalty of the paper's eq. 3.

    $\frac{1}{|P|} \sum_{(j,k) \in P} \operatorname{dist}(\Phi(x_j), \Phi(x_k))$ with P the matched pairs. The
    paper sums; a mean leaves lambda's meaning independent of batch size and of the number of domains.

    `features[B, K, D]`, `mask[B, K]` or None where every cell is present. Zero where there is no pair.
    """
    columns = features.shape[1]
    if columns < 2:
        return features.sum() * 0.0
    left, right = torch.triu_indices(columns, columns, 1, device=features.device)
    distances = _PAIRWISE[distance](features[:, left], features[:, right])
    if mask is None:
        return distances.mean()
    present = mask[:, left] & mask[:, right]
    return distances.masked_fill(~present, 0.0).sum() / present.sum().clamp(min=1)


def weighted_squared_l2(features: Tensor, columns: int, weight: float) -> tuple[Tensor, Tensor]:
    r"""Weight times the same for squared l2, without pairs: $\frac{2 w}{B(K-1)} \sum_{b,k} \|f_{bk} - \bar f_b\|^2$.

    Its gradient is $g = s (f - \bar f)$ with $s = 4 w / (B (K-1))$, and, because $f - \bar f$ sums to zero over a
    row, its value $\langle f, g \rangle / 2$. With g held constant, $\langle f, g \rangle$ has that gradient, so value
    and gradient take a fraction of the operations that differentiating every step would; on a small network they
    are what a penalty costs. The second derivative is not there. `features[K B, D]`, domain by domain. Returns
    it, and its value without a graph.
    """
    flat = features.view(-1) if features.is_contiguous() else features.reshape(-1)
    centring, half = _constants(columns, len(features) // columns, weight, flat.device, flat.dtype)
    gradient = torch.mm(centring, flat.detach().view(columns, -1)).view(-1)
    form = torch.dot(flat, gradient)
    # Halved in place: its backward pass needs f and g alone.
    return form, form.detach().mul_(half)


# A warm-up has a weight for every epoch, and batches have two sizes. Half is a tensor too: making one of a number at
# every step is felt.
@lru_cache(maxsize=256)
def _constants(
    columns: int, rows: int, weight: float, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    scale = 4.0 * weight / (rows * (columns - 1))
    centring = scale * (torch.eye(columns, device=device, dtype=dtype) - 1.0 / columns)
    return centring, torch.tensor(0.5, device=device, dtype=dtype)


def _squared_l2(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum(-1)


def _l2(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.vector_norm(a - b, dim=-1)


def _l1(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs().sum(-1)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    return 1.0 - cosine_similarity(a, b, dim=-1)


_PAIRWISE = {"squared-l2": _squared_l2, "l2": _l2, "l1": _l1, "cosine": _cosine}
