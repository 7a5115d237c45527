"""The distance between matched representations."""

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from matchdg.methods.base import Pull
from matchdg.methods.batch import Batch

Distance = Literal["squared-l2", "l2", "l1", "cosine"]


def match_pull(batch: Batch, features: Tensor, values: Tensor, distance: Distance, weight: float) -> Pull | None:
    """`weight` times the `match_distance` of a batch's `features[V, D]`, if its gradient is known; else None.

    `values` are the features without a graph.
    """
    if batch.cells is not None or distance != "squared-l2" or batch.columns < 2 or weight == 0:
        return None
    if features.dtype not in (torch.float32, torch.float64):
        return None
    return Pull(features, values, squared_l2_gradient(values, batch.columns, batch.rows, weight), 0.5)


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


def squared_l2_gradient(features: Tensor, columns: int, rows: int, weight: float) -> Tensor:
    r"""The gradient g by the features of weight times the same for squared l2.

    Without pairs that is $\frac{2 w}{B(K-1)} \sum_{b,k} \|f_{bk} - \bar f_b\|^2$, so $g = s (f - \bar f)$ with
    $s = 4 w / (B (K-1))$. Because $f - \bar f$ sums to zero over a row, $\langle f, g \rangle$ is twice its value.
    `features[K B, D]`, domain by domain, without a graph.
    """
    flat = features if features.is_contiguous() else features.contiguous()
    centring = _centring(columns, rows, weight, flat.device, flat.dtype)
    return torch.mm(centring, flat.view(columns, -1)).view_as(flat)


# A warm-up has a weight for every epoch, and batches have two sizes.
@lru_cache(maxsize=256)
def _centring(columns: int, rows: int, weight: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    scale = 4.0 * weight / (rows * (columns - 1))
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
