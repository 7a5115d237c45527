"""Approximate nearest neighbours by FAISS (an extra), and how many of the exact ones it finds."""

from types import ModuleType

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.matching.search import check_pair, nearest


@torch.no_grad()
def nearest_approximate(queries: Tensor, candidates: Tensor, k: int = 1, probes: int = 8) -> tuple[Tensor, Tensor]:
    """As `nearest`, but each query sees only the candidates in the `probes` nearest of about sqrt(N) clusters.

    Runs on the CPU, in float32. Where the clusters seen hold fewer than k candidates the last positions are -1, at
    infinite distance. Raises `InputError` as `nearest` does, and without FAISS.
    """
    faiss = find_faiss()
    check_pair(queries, candidates)
    if k < 1 or probes < 1:
        raise InputError(f"the numbers of neighbours and of probes must be at least 1, got {k} and {probes}")
    k, size = min(k, len(candidates)), candidates.shape[1]
    if k == 0 or len(queries) == 0:
        return queries.new_zeros((len(queries), k), dtype=torch.int64), queries.new_zeros((len(queries), k)).float()
    clusters = max(1, int(len(candidates) ** 0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(size), size, clusters)
    index.cp.min_points_per_centroid = 1  # else it warns about small sets
    known, asked = (side.float().cpu().contiguous().numpy() for side in (candidates, queries))
    index.train(known)
    index.add(known)
    index.nprobe = min(probes, clusters)
    squares, found = index.search(asked, k)
    distances = torch.from_numpy(squares).clamp(min=0).sqrt()
    positions = torch.from_numpy(found)
    return positions.to(queries.device), distances.where(positions >= 0, torch.inf).to(queries.device)


def recall(queries: Tensor, candidates: Tensor, k: int = 1, sample: int = 1000, probes: int = 8) -> float:
    """Share of the k exact nearest that `nearest_approximate` finds, on up to `sample` queries evenly taken."""
    if len(queries) == 0 or sample < 1:
        raise InputError(f"recall needs at least one query, got a sample of {sample} of {len(queries)}")
    asked = queries[:: -(-len(queries) // sample)]
    exact, _ = nearest(asked, candidates, k)
    found, _ = nearest_approximate(asked, candidates, k, probes)
    return float((exact[:, :, None] == found[:, None, :]).any(2).double().mean())


def find_faiss() -> ModuleType:
    """The module; raises `InputError` that names the extra where it is not installed."""
    try:
        import faiss
    except ImportError:
        raise InputError("approximate search needs FAISS; install it: pip install 'matchdg[faiss]'") from None
    return faiss
