"""Approximate nearest neighbours by FAISS (an extra), and how many of the exact ones they recall."""

from types import ModuleType

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.matching.search import check_features, check_pair, nearest


def nearest_approximate(queries: Tensor, candidates: Tensor, k: int = 1, probes: int = 8) -> tuple[Tensor, Tensor]:
    """As `nearest`, but looks only into the `probes` of about sqrt(N) lists of candidates nearest to a query."""
    faiss = _faiss()
    check_features("queries", queries)
    check_features("candidates", candidates)
    check_pair(queries, candidates)
    k = min(k, len(candidates))
    points, features = candidates.shape
    lists = max(1, int(points**0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(features), features, lists)
    index.cp.min_points_per_centroid = 1
    data = candidates.float().cpu().contiguous().numpy()
    index.train(data)
    index.add(data)
    index.nprobe = min(probes, lists)
    squared, positions = index.search(queries.float().cpu().contiguous().numpy(), k)
    return (
        torch.from_numpy(positions).to(queries.device),
        torch.from_numpy(squared).clamp(min=0).sqrt().to(queries.device),
    )


def recall(queries: Tensor, candidates: Tensor, k: int = 1, sample: int = 1000, probes: int = 8) -> float:
    """Share of the exact k nearest that the approximate search finds, on an even sample of the queries."""
    step = max(1, len(queries) // sample)
    asked = queries[::step][:sample]
    exact = nearest(asked, candidates, k)[0]
    near = nearest_approximate(asked, candidates, k, probes)[0]
    return float((exact[:, :, None] == near[:, None, :]).any(2).double().mean())


def _faiss() -> ModuleType:
    try:
        import faiss
    except ImportError:
        raise InputError("approximate search needs FAISS; install it: pip install 'matchdg[faiss]'") from None
    return faiss
