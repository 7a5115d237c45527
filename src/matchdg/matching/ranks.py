"""Ranks of given candidates among all, by counting the nearer ones instead of sorting."""

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.matching.search import MEMORY, all_scores, check_pair


@torch.no_grad()
def ranks(queries: Tensor, candidates: Tensor, truth: Tensor, memory: int = MEMORY) -> Tensor:
    """The place [Q], from 1, of candidate `truth[q]` when all are sorted by their distance to query q.

    Shapes: queries [Q, D], candidates [N, D], truth [Q]. One more than the count of candidates that are strictly
    nearer, or equally near and of lower position: the place in `nearest(queries, candidates, N)`. So equal
    features share out the places, and a network that maps all inputs to one point does not look perfect.
    Raises `InputError` as `nearest` does.

    >>> ranks(torch.tensor([[0.0]]), torch.tensor([[2.0], [1.0], [3.0]]), torch.tensor([0])).tolist()
    [2]
    """
    check_pair(queries, candidates)
    if truth.shape != (len(queries),) or bool(((truth < 0) | (truth >= len(candidates))).any()):
        raise InputError(
            f"expected the position of a true candidate for each of {len(queries)} queries, from 0 to "
            f"{len(candidates) - 1}, got {tuple(truth.shape)} with values {truth.flatten()[:5].tolist()}"
        )
    # Half for the blocks of the search, half for the scores of a strip of queries and for comparing them.
    strip = memory // 2 // (8 * max(1, len(candidates)))
    if strip < 1 and len(queries):
        raise InputError(
            f"a memory of {memory} bytes is too small for the distances of one point to {len(candidates)} candidates; "
            f"give at least {16 * len(candidates)}"
        )
    parts = zip(queries.split(max(strip, 1)), truth.split(max(strip, 1)), strict=True)
    return torch.cat([_places(part, candidates, true, memory // 2) for part, true in parts])


def _places(queries: Tensor, candidates: Tensor, truth: Tensor, memory: int) -> Tensor:
    if len(queries) == 0:
        return truth
    held = all_scores(queries, candidates, memory)
    own = held.gather(1, truth[:, None])
    earlier = torch.arange(len(candidates), device=queries.device) < truth[:, None]
    return 1 + (held < own).sum(1) + ((held == own) & earlier).sum(1)
