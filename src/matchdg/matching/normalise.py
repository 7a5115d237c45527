"""Take out of the features what tells domains apart, before matches are searched: centre or whiten each cell."""

from typing import Literal

import torch
from torch import Tensor

from matchdg.matching.search import check_features

Normalisation = Literal["none", "centre", "whiten"]


@torch.no_grad()
def normalise(features: Tensor, cells: Tensor, how: Normalisation) -> Tensor:
    """Features [N, D] with the mean (centre), or mean and covariance (whiten), of each cell taken out.

    `cells[N]` numbers the class within its domain.
    """
    check_features("features", features)
    if how == "none" or len(features) == 0:
        return features
    _, cell = cells.unique(return_inverse=True)
    counts = torch.bincount(cell).to(features.device)
    sums = torch.zeros(len(counts), features.shape[1], dtype=features.dtype, device=features.device)
    means = sums.index_add_(0, cell, features) / counts[:, None]
    centred = features - means[cell]
    if how == "whiten":
        for index in range(len(counts)):
            inside = (cell == index).nonzero().flatten()
            centred[inside] = _whitened(centred[inside])
    return centred


def _whitened(centred: Tensor) -> Tensor:
    count, features = centred.shape
    covariance = centred.T @ centred / count
    trace = covariance.trace()
    if float(trace) <= 0:
        return centred
    square = covariance.square().sum()
    top = (1 - 2 / features) * square + trace**2
    bottom = (count + 1 - 2 / features) * (square - trace**2 / features)
    weight = float((top / bottom.clamp(min=1e-30)).clamp(0, 1))
    shrunk = (1 - weight) * covariance
    shrunk.diagonal().add_(weight * trace / features)
    values, vectors = torch.linalg.eigh(shrunk)
    return centred @ (vectors * values.clamp(min=1e-6 * float(trace) / features).rsqrt()) @ vectors.T
