"""The distance between matched representations."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

Distance = Literal["squared-l2", "l2", "l1", "cosine"]


def match_distance(features: Tensor, mask: Tensor | None, distance: Distance) -> Tensor:
    r"""Mean distance over all pairs of domains of a row, then over rows: the penalty of the paper's eq. 3.

    $\frac{1}{|P|} \sum_{(j,k) \in P} \operatorname{dist}(\Phi(x_j), \Phi(x_k))$ with P the matched pairs. The
    paper sums; a mean leaves lambda's meaning independent of batch size and of the number of domains. Rows
    count alike where all cells are present, pairs count alike otherwise.

    `features[B, K, D]`, `mask[B, K]` or None where every cell is present. Zero where there is no pair.
    """
    rows, columns = features.shape[:2]
    if columns < 2:
        return features.sum() * 0.0
    if mask is None and distance == "squared-l2":
        # Over K points the mean squared distance of a pair is twice the unbiased variance.
        return features.var(1).sum() * (2.0 / rows)
    left, right = torch.triu_indices(columns, columns, 1, device=features.device)
    distances = _PAIRWISE[distance](features[:, left], features[:, right])
    if mask is None:
        return distances.mean()
    present = mask[:, left] & mask[:, right]
    return distances.masked_fill(~present, 0.0).sum() / present.sum().clamp(min=1)


def _squared_l2(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum(-1)


def _l2(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.vector_norm(a - b, dim=-1)


def _l1(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs().sum(-1)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    return 1.0 - cosine_similarity(a, b, dim=-1)


_PAIRWISE = {"squared-l2": _squared_l2, "l2": _l2, "l1": _l1, "cosine": _cosine}
