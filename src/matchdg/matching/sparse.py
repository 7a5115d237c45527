r"""One-to-one assignment of large sets by column generation: of all pairs few are looked at, and the optimum is proven.

1. Solve the assignment on a sparse set of pairs (near neighbours at first) exactly, by `cheapest`, from where the
   round before came to. This also gives prices $p_c \ge 0$ at which each query has the cheapest of its candidates, by
   $\text{cost}(q, c) + p_c$.
2. Search all pairs, in blocks, for cheaper ones at these prices. What they would save, summed over the queries, bounds
   how much better the optimum can be (duality). Add these pairs and go back to 1, until the bound is small.

With Q > N each candidate is there Q // N times, and once more at a surcharge above any gain by avoiding it. A slot is
such a copy: candidate c of copy i is slot i * N + c.
"""

from dataclasses import dataclass
from typing import Final
from warnings import warn

import numpy as np
import torch
from torch import Tensor

from matchdg.core.errors import InputWarning
from matchdg.matching.bipartite import Graph, cheapest, graph
from matchdg.matching.search import first_k
from matchdg.matching.table import ABSENT

_NEIGHBOURS: Final = 16
_MEMBERS: Final = 4
"""How many of a group of equal candidates are taken at a time."""
_ROUNDS: Final = 50
_TOLERANCE: Final = 1e-6
_BLOCK: Final = {"cpu": 2**22}
"""Bytes for the features of pairs at a time, so that they stay in the caches of a CPU; elsewhere all the memory."""


@dataclass(frozen=True)
class Proof:
    """A result costs at most `excess`, a share of its costs, more than the best one; it took so many `searches`."""

    excess: float
    searches: int


def assign_sparsely(queries: Tensor, candidates: Tensor, memory: int) -> Tensor:
    """`solve`, with an `InputWarning` where the result is not proven to be within a millionth of the least cost."""
    found, proof = solve(queries, candidates, memory)
    if proof.excess > _TOLERANCE:
        warn(
            f"the one-to-one matching of {len(queries)} inputs with {len(candidates)} costs at most "
            f"{proof.excess:.2%} more than the best one; the search did not come closer",
            InputWarning,
            stacklevel=2,
        )
    return found


def solve(queries: Tensor, candidates: Tensor, memory: int) -> tuple[Tensor, Proof]:
    """Solve `one-to-one` of `assign`, for at least one query and candidate, to within a millionth of the least cost."""
    count, size = len(queries), len(candidates)
    queries, candidates = _shifted(queries.float(), candidates.float())
    surcharges = _surcharges(queries, candidates)
    every = torch.arange(count)
    known, groups = _Known(queries, candidates, memory), _Groups(candidates)
    known.add(_first_pairs(queries, candidates, groups, memory))
    slot, prices = torch.full((count,), ABSENT), torch.zeros(len(surcharges) * size, dtype=torch.float64)
    searches = 2
    for _ in range(_ROUNDS):
        slot, prices = _matching(_edges(known, surcharges, count, size), slot, prices)
        plain = known.costs(every * size + slot % size)
        level = groups.least(prices.view(-1, size))
        best = (level + surcharges[:, None]).min(0).values
        offers = every[:, None] * size + groups.nearest(queries, memory, best)
        searches += 1
        grown = known.add(offers.flatten())
        least = (known.costs(offers) + best[offers % size]).min(1).values
        saved = (plain + (surcharges[slot // size] + level.flatten()[slot]) - least).clamp(min=0)
        bound = saved.sum() + level.sum() - level.flatten()[slot].sum()
        # No cost is below 0, so that no more than all can be saved.
        excess = min(1.0, max(0.0, float(bound / plain.sum()))) if plain.sum() else 0.0
        if excess <= _TOLERANCE or (groups.alone and not grown):
            break
    return (slot % size).to(queries.device), Proof(excess, searches)


class _Groups:
    """Points in groups of equal ones, of which a search would give the first few to all."""

    def __init__(self, candidates: Tensor) -> None:
        self.generator = torch.Generator().manual_seed(0)
        self.members, first = _ordered(candidates, self.generator)
        self.start = first.nonzero().flatten()
        self.count = torch.diff(self.start, append=torch.tensor([len(candidates)]))
        self.group = torch.empty_like(self.members)
        self.group[self.members] = first.cumsum(0) - 1
        self.alone = len(self.start) == len(candidates)
        self.distinct = candidates if self.alone else candidates[self.members[self.start].to(candidates.device)]

    def least(self, prices: Tensor) -> Tensor:
        """Prices [copies, N], the same for all of a group: the least of them."""
        group = self.group.expand_as(prices)
        return torch.full_like(prices, torch.inf).scatter_reduce(1, group, prices, "amin").gather(1, group)

    def nearest(self, queries: Tensor, memory: int, prices: Tensor | None = None) -> Tensor:
        """The nearest candidates of each query at these prices, which are the same in a group; of each any members."""
        if prices is not None:
            if not self.alone:
                prices = prices[self.members[self.start]]
            # Only differences of prices matter, and float32 keeps small ones.
            prices = (prices - prices.min()).float().to(queries.device)
        found = first_k(queries, self.distinct, min(_NEIGHBOURS, len(self.distinct)), memory, prices).cpu()
        if self.alone:
            return found
        found = found.repeat(1, _MEMBERS)
        step = torch.randint(2**31, found.shape, generator=self.generator)
        return self.members[self.start[found] + step % self.count[found]]


def _ordered(points: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Positions in an order in which equal points follow one another, and where others begin."""
    values = (points * torch.randn(points.shape[1], generator=generator).to(points.device)).sum(1)
    values, order = values.sort(stable=True)
    alike = (values[1:] == values[:-1]).nonzero().flatten()
    first = torch.ones(len(points), dtype=torch.bool)
    first[alike.cpu() + 1] = (points[order[alike + 1]] != points[order[alike]]).any(1).cpu()
    return order.cpu(), first


class _Known:
    """The pairs looked at so far and their costs, half the squared distances; pair (q, c) is q * N + c."""

    def __init__(self, queries: Tensor, candidates: Tensor, memory: int) -> None:
        self.queries, self.candidates = queries, candidates
        self.rows = max(1, min(memory, _BLOCK.get(queries.device.type, memory)) // (16 * queries.shape[1]))
        self.pairs = torch.zeros(0, dtype=torch.int64)
        self.cost = torch.zeros(0, dtype=torch.float64)

    def add(self, pairs: Tensor) -> bool:
        """Look at these too; whether there were new ones."""
        new = pairs.unique()
        if len(self.pairs):
            new = new[self.pairs[self._places(new)] != new]
        self.pairs, order = torch.cat([self.pairs, new]).sort()
        self.cost = torch.cat([self.cost, self._measured(new)])[order]
        return len(new) > 0

    def costs(self, pairs: Tensor) -> Tensor:
        """The costs of pairs that are known."""
        return self.cost[self._places(pairs)]

    def _places(self, pairs: Tensor) -> Tensor:
        return torch.searchsorted(self.pairs, pairs).clamp(max=len(self.pairs) - 1)

    def _measured(self, pairs: Tensor) -> Tensor:
        """In double precision, from differences of float32."""
        size = len(self.candidates)
        costs = torch.empty(len(pairs), dtype=torch.float64)
        for place, part in zip(costs.split(self.rows), pairs.to(self.queries.device).split(self.rows), strict=True):
            difference = self.queries[part // size].sub_(self.candidates[part % size])
            place.copy_(difference.square_().sum(1).double() / 2)
        return costs


def _edges(known: _Known, surcharges: Tensor, count: int, size: int) -> Graph:
    """Each pair once for each copy of its candidate."""
    copies = len(surcharges)
    rows = (known.pairs // size).repeat(copies)
    slots = (known.pairs % size + size * torch.arange(copies)[:, None]).flatten()
    cost = (known.cost + surcharges[:, None]).flatten()
    cost += _tie_breaks(rows * copies * size + slots, float(known.cost.mean()))
    return graph(rows.numpy(), slots.numpy(), cost.numpy(), count, copies * size)


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


def _first_pairs(queries: Tensor, candidates: Tensor, groups: _Groups, memory: int) -> Tensor:
    """The near neighbours of both sides, and pairs that make an assignment possible; pair (q, c) is q * N + c."""
    count, size = len(queries), len(candidates)
    forth = groups.nearest(queries, memory)
    back = _Groups(queries).nearest(candidates, memory)
    # In the order of a random projection, in which near points are near, and equal ones in any order.
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(queries.shape[1], generator=generator).to(queries.device)
    shuffled = torch.randperm(count, generator=generator)
    left = shuffled[(queries @ direction).cpu()[shuffled].argsort()]
    right = (candidates @ direction).cpu().argsort()
    possible = left * size + right[torch.arange(count) * size // count]
    ahead, behind = torch.arange(count)[:, None] * size + forth, back * size + torch.arange(size)[:, None]
    return torch.cat([ahead.flatten(), behind.flatten(), possible]).unique()


def _tie_breaks(keys: Tensor, scale: float) -> Tensor:
    """Noise of some 1e-12 of `scale`, always the same for a key: of equal costs none is everyone's first choice."""
    bits = keys.numpy().view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0xC2B2AE3D27D4EB4F)
    return torch.from_numpy((bits >> np.uint64(11)) * (2.0**-53 * 1e-12 * scale))


def _matching(edges: Graph, slot: Tensor, prices: Tensor) -> tuple[Tensor, Tensor]:
    """The slot of each query at the least total cost, and prices, from those of the round before."""
    found, paid = cheapest(edges, prices.numpy(), slot.numpy())
    return torch.from_numpy(found), torch.from_numpy(paid)
