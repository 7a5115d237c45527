"""The distance between matched representations."""

from functools import cache
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from matchdg.methods.batch import Batch

Distance = Literal["squared-l2", "l2", "l1", "cosine"]


def match_penalty(batch: Batch, features: Tensor, distance: Distance) -> Tensor:
    """`match_distance` of a batch's `features[V, D]`, by the shortest way there is."""
    whole = features.dtype in (torch.float32, torch.float64)
    if batch.cells is None and distance == "squared-l2" and batch.columns > 1 and whole:
        return mean_squared_l2(features, batch.columns)
    return match_distance(batch.grid(features), batch.mask, distance)


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


def mean_squared_l2(features: Tensor, columns: int) -> Tensor:
    r"""The same for squared l2 without pairs: $\frac{2}{B(K-1)} \sum_{b,k} \|f_{bk} - \bar f_b\|^2$.

    Its gradient is $g = s (f - \bar f)$ with $s = 4 / (B (K-1))$, and its value $\|g\|^2 / 2s$. With g held
    constant, $\langle f, g \rangle$ has that gradient, so value and gradient take a fraction of the operations
    that differentiating every step would; on a small network they are what a penalty costs. The second
    derivative is not there. `features[K B, D]`, domain by domain.
    """
    rows = len(features) // columns
    scale = 4.0 / (rows * (columns - 1))
    flat = features.reshape(-1)
    centring = _centring(columns, scale, flat.device, flat.dtype)
    gradient = torch.mm(centring, flat.detach().view(columns, -1)).view(-1)
    form = torch.dot(flat, gradient)
    # The value is written over that of <f, g>, whose backward pass needs only f and g.
    value = torch.dot(gradient, gradient, out=form.detach())
    value.mul_(0.5 / scale)
    return form


@cache
def _centring(columns: int, scale: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    return scale * (torch.eye(columns, device=device, dtype=dtype) - 1.0 / columns)


def _squared_l2(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum(-1)


def _l2(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.vector_norm(a - b, dim=-1)


def _l1(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs().sum(-1)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    return 1.0 - cosine_similarity(a, b, dim=-1)


_PAIRWISE = {"squared-l2": _squared_l2, "l2": _l2, "l1": _l1, "cosine": _cosine}
