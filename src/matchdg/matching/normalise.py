"""Take out of the features what tells domains apart before matches are searched: centre or whiten each cell."""

from typing import Literal

import torch
from torch import Tensor

from matchdg.matching.search import check_features

Normalisation = Literal["none", "centre", "whiten"]


@torch.no_grad()
def normalise(features: Tensor, cells: Tensor, how: Normalisation) -> Tensor:
    r"""Features [N, D] of which each cell (`cells[N]`: a class within a domain) has mean 0 and, whitened, covariance 1.

    `centre` subtracts the cell's mean. `whiten` also multiplies by $\Sigma^{-1/2}$, which of all whitenings changes
    points least, so that the features of two domains stay comparable. $\Sigma$ is the cell's covariance shrunk
    towards a multiple of the identity, as far as its number of points asks for (OAS, Chen et al. 2010): a cell may
    have fewer points than features. A cell of equal points, or one point, becomes 0.
    """
    check_features("features", features)
    if how == "none" or len(features) == 0:
        return features
    _, cell = cells.to(features.device).unique(return_inverse=True)
    counts = torch.bincount(cell)
    sums = features.new_zeros(len(counts), features.shape[1]).index_add_(0, cell, features)
    centred = features - (sums / counts[:, None])[cell]
    if how == "centre":
        return centred
    order = cell.argsort(stable=True)
    for positions in order.split(counts.tolist()):
        centred[positions] = _whiten(centred[positions], features[positions].square().mean())
    return centred


def _whiten(centred: Tensor, square: Tensor) -> Tensor:
    """`square`: the mean square of the features before they were centred."""
    covariance = _shrunk_covariance(centred)
    values, vectors = torch.linalg.eigh(covariance)
    # What rounding leaves of equal points, or of directions without spread, is not blown up.
    kept = values > torch.maximum(1e-6 * values[-1], 1e-11 * square)
    scale = torch.where(kept, values, 1).rsqrt() * kept
    return centred @ (vectors * scale) @ vectors.T


def _shrunk_covariance(centred: Tensor) -> Tensor:
    r"""$(1 - \rho) S + \rho \, \text{tr}(S) / D \, I$, with equation 23 of Chen et al. 2010 for $\rho$."""
    count, size = centred.shape
    covariance = centred.T @ centred / count
    trace, square = covariance.trace(), covariance.square().sum()
    top = (1 - 2 / size) * square + trace**2
    bottom = (count + 1 - 2 / size) * (square - trace**2 / size)
    weight = torch.where(bottom > top.abs(), top / bottom, 1)
    identity = torch.eye(size, dtype=centred.dtype, device=centred.device)
    return (1 - weight) * covariance + weight * trace / size * identity
