r"""One-to-one assignment of large sets by column generation: of all pairs few are looked at, and the optimum is proven.

1. Solve the assignment on a sparse set of pairs (near neighbours at first) exactly, by `cheapest`, from where the
   round before came to. This also gives prices $p_c \ge 0$ at which each query has the cheapest of its candidates, by
   $\text{cost}(q, c) + p_c$.
2. Search all pairs, in blocks, for cheaper ones at these prices. What they would save, summed over the queries, bounds
   how much better the optimum can be (duality). Add these pairs and go back to 1, until the bound is small.

With Q > N each candidate is there Q // N times, and once more at a surcharge above any gain by avoiding it. A slot is
such a copy: candidate c of copy i is slot i * N + c.
"""

from typing import Final
from warnings import warn

import numpy as np
import torch
from torch import Tensor

from matchdg.core.errors import InputWarning
from matchdg.matching.bipartite import Graph, cheapest, graph
from matchdg.matching.search import first_k
from matchdg.matching.table import ABSENT

_NEIGHBOURS: Final = 8
_ROUNDS: Final = 50
_TOLERANCE: Final = 1e-6


def assign_sparsely(queries: Tensor, candidates: Tensor, memory: int) -> Tensor:
    """Solve `one-to-one` of `assign`, for at least one query and candidate, to within a millionth of the least cost.

    Warns (`InputWarning`) where that is not reached, and by how much at most.
    """
    count, size = len(queries), len(candidates)
    queries, candidates = _shifted(queries.float(), candidates.float())
    surcharges = _surcharges(queries, candidates)
    every, k = torch.arange(count), min(_NEIGHBOURS, size)
    pairs = _first_pairs(queries, candidates, k, memory)
    slot, prices = torch.full((count,), ABSENT), torch.zeros(len(surcharges) * size, dtype=torch.float64)
    for _ in range(_ROUNDS):
        edges = _edges(pairs, _costs(queries, candidates, pairs, memory), surcharges, count, size)
        slot, prices = _matching(edges, slot, prices)
        plain = _costs(queries, candidates, every * size + slot % size, memory)
        paid = plain + surcharges[slot // size]
        best = (prices.view(-1, size) + surcharges[:, None]).min(0).values
        # Only differences of prices matter, and float32 keeps small ones.
        asked = (best - best.min()).float().to(queries.device)
        near = first_k(queries, candidates, k, memory, asked).cpu()
        offers = every[:, None] * size + near
        least = (_costs(queries, candidates, offers.flatten(), memory).view(count, k) + best[near]).min(1).values
        saved = (paid + prices[slot] - least).clamp(min=0)
        # No cost is below 0, so that no more than all can be saved.
        bound = torch.minimum(saved.sum() + prices.sum() - prices[slot].sum(), plain.sum())
        grown = torch.cat([pairs, offers[saved > 0].flatten()]).unique()
        if bound <= _TOLERANCE * plain.sum() or len(grown) == len(pairs):
            break
        pairs = grown
    if bound > _TOLERANCE * plain.sum():
        warn(
            f"the one-to-one matching of {count} inputs with {size} costs at most {float(bound / plain.sum()):.2%} "
            f"more than the best one; the search did not come closer",
            InputWarning,
            stacklevel=2,
        )
    return (slot % size).to(queries.device)


def _edges(pairs: Tensor, costs: Tensor, surcharges: Tensor, count: int, size: int) -> Graph:
    """Each pair once for each copy of its candidate."""
    copies = len(surcharges)
    slots = pairs % size + size * torch.arange(copies)[:, None]
    rows = (pairs // size).repeat(copies)
    cost = (costs + surcharges[:, None]).flatten()
    cost += _tie_breaks(rows * copies * size + slots.flatten(), float(costs.mean()))
    return graph(rows.numpy(), slots.flatten().numpy(), cost.numpy(), count, copies * size)


def _shifted(queries: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Each side by its own mean if all candidates are given equally often, as the result then stays the same."""
    middle = candidates.mean(0)
    return queries - (queries.mean(0) if len(queries) % len(candidates) == 0 else middle), candidates - middle


def _surcharges(queries: Tensor, candidates: Tensor) -> Tensor:
    """What each copy of a candidate costs extra [copies]."""
    copies, left = divmod(len(queries), len(candidates))
    farthest = float(queries.norm(dim=1).max() + candidates.norm(dim=1).max())
    last = [len(queries) * farthest**2 if copies else 0.0] if left else []
    return torch.tensor([0.0] * copies + last, dtype=torch.float64)


def _first_pairs(queries: Tensor, candidates: Tensor, k: int, memory: int) -> Tensor:
    """The near neighbours of both sides, and pairs that make an assignment possible; pair (q, c) is q * N + c."""
    count, size = len(queries), len(candidates)
    forth = first_k(queries, candidates, k, memory).cpu()
    back = first_k(candidates, queries, min(k, count), memory).cpu()
    # In the order of a random projection, in which near points are near, and equal ones in any order.
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(queries.shape[1], generator=generator).to(queries.device)
    shuffled = torch.randperm(count, generator=generator)
    left = shuffled[(queries @ direction).cpu()[shuffled].argsort()]
    right = (candidates @ direction).cpu().argsort()
    possible = left * size + right[torch.arange(count) * size // count]
    ahead, behind = torch.arange(count)[:, None] * size + forth, back * size + torch.arange(size)[:, None]
    return torch.cat([ahead.flatten(), behind.flatten(), possible]).unique()


def _costs(queries: Tensor, candidates: Tensor, pairs: Tensor, memory: int) -> Tensor:
    """Half the squared distance of each pair, in double precision."""
    rows = max(1, memory // (16 * queries.shape[1]))
    parts = [(part // len(candidates), part % len(candidates)) for part in pairs.to(queries.device).split(rows)]
    return torch.cat([(queries[q] - candidates[c]).square().sum(1).double() / 2 for q, c in parts]).cpu()


def _tie_breaks(keys: Tensor, scale: float) -> Tensor:
    """Noise of some 1e-12 of `scale`, always the same for a key: of equal costs none is everyone's first choice."""
    bits = keys.numpy().view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0xC2B2AE3D27D4EB4F)
    return torch.from_numpy((bits >> np.uint64(11)) * (2.0**-53 * 1e-12 * scale))


def _matching(edges: Graph, slot: Tensor, prices: Tensor) -> tuple[Tensor, Tensor]:
    """The slot of each query at the least total cost, and prices, from those of the round before."""
    found, paid = cheapest(edges, prices.numpy(), slot.numpy())
    return torch.from_numpy(found), torch.from_numpy(paid)
