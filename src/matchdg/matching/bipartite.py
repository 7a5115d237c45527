r"""The cheapest matching of all rows of a sparse bipartite graph with slots, and prices of the slots that prove it.

Prices $p_s$ are kept at which each matched row has the cheapest of its slots, by $\text{cost}(r, s) + p_s$.

1. Auction: each free row bids for its cheapest slot as much as makes its second choice equally good, and the highest
   bid takes the slot. This matches most rows, but would not end by itself.
2. Paths: the shortest paths from all free rows at once (Dijkstra; an edge is as long as it is above the best of its
   row) make disjoint trees. In each tree that holds free slots the path to the nearest one is switched, which matches
   the root; and prices change by the distances, so that all edges of these paths are best ones. Each time at least one
   row is matched, so this ends; mostly a good part of them are.

With more slots than rows the graph is solved together with its mirror image, each slot linked with its image at no
cost. That has a perfect matching, and the mean of both prices of a slot is 0 if it is left over.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_FREE: Final = -1
_PASSES: Final = 300
_LOOKS: Final = 30
"""How often at most the auction looks at each edge, on average."""
_ROUNDING: Final = 1e-14


@dataclass(frozen=True)
class Graph:
    """Edges in the order of their rows: those of row r, one at least, are from `starts[r]` up to `starts[r + 1]`."""

    starts: Integers
    slot: Integers
    cost: Floats
    slots: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.starts) - 1


def graph(row: Integers, slot: Integers, cost: Floats, rows: int, slots: int) -> Graph:
    """The graph of edges that come in any order, each once."""
    order = np.argsort(row, kind="stable")
    starts = np.concatenate([[0], np.bincount(row, minlength=rows).cumsum()])
    return Graph(starts, slot[order], cost[order], slots)


def cheapest(edges: Graph, prices: Floats | None = None, match: Integers | None = None) -> tuple[Integers, Floats]:
    """The slot of each row at the least total cost, and prices of the slots: at least 0, and 0 where no row is.

    A matching of all rows must exist. Prices (at least 0) and matches of a similar graph make it faster.
    """
    prices = np.zeros(edges.slots) if prices is None else prices
    match = np.full(edges.rows, _FREE) if match is None else match
    if edges.rows == edges.slots:
        state = _solved(_State(edges, prices, match))
        return state.match, state.prices - state.prices.min()
    state = _solved(_mirrored(edges, prices, match))
    total = state.edges.cost + state.prices[state.edges.slot]
    images = np.minimum.reduceat(total, state.edges.starts[:-1])[edges.rows :]
    return state.match[: edges.rows], np.maximum((state.prices[: edges.slots] - images) / 2, 0)


class _State:
    """Prices and a matching of some rows, each to the cheapest of its slots."""

    def __init__(self, edges: Graph, prices: Floats, match: Integers) -> None:
        """Of `match` that is kept for which `prices` allow."""
        self.edges, self.prices = edges, prices.copy()
        self.row = np.repeat(np.arange(edges.rows), np.diff(edges.starts))
        own = np.flatnonzero(edges.slot == match[self.row])
        paid = edges.cost[own] + prices[edges.slot[own]]
        size = np.abs(edges.cost[own]) + np.abs(prices[edges.slot[own]])
        own = own[paid - self.best()[self.row[own]] <= _ROUNDING * size]
        self.match = np.full(edges.rows, _FREE)
        self.match[self.row[own]] = edges.slot[own]
        self.owner = np.full(edges.slots, _FREE)
        self.owner[edges.slot[own]] = self.row[own]

    def best(self) -> Floats:
        """What each row pays for the cheapest of its slots."""
        return np.minimum.reduceat(self.edges.cost + self.prices[self.edges.slot], self.edges.starts[:-1])

    def free(self) -> Integers:
        """The rows without a slot."""
        return np.flatnonzero(self.match == _FREE)

    def bid(self, rows: Integers) -> bool:
        """One pass of the auction among these free rows; whether any of them took a slot."""
        chosen, firsts = _ranges(self.edges.starts[rows], self.edges.starts[rows + 1])
        total = self.edges.cost[chosen] + self.prices[self.edges.slot[chosen]]
        best = np.minimum.reduceat(total, firsts)
        equal = np.flatnonzero(total == np.repeat(best, np.diff(firsts, append=len(total))))
        at = equal[np.searchsorted(equal, firsts)]
        total[at] = np.inf
        second = np.minimum.reduceat(total, firsts)
        wanted, more = self.edges.slot[chosen[at]], np.where(np.isinf(second), 0, second - best)
        able = (more > 0) | (self.owner[wanted] == _FREE)
        rows, wanted, more = rows[able], wanted[able], more[able]
        order = np.lexsort((more, wanted))
        highest = order[np.diff(wanted[order], append=_FREE) != 0]
        rows, wanted = rows[highest], wanted[highest]
        self.prices[wanted] += more[highest]
        left = self.owner[wanted]
        self.match[left[left != _FREE]] = _FREE
        self.match[rows], self.owner[wanted] = wanted, rows
        return len(rows) > 0

    def augment(self, rows: Integers) -> None:
        """Match some of these rows, which must be all free ones, by the shortest paths from them."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        # A row and its slot are one node; free slots come after the rows.
        count, best = self.edges.rows, self.best()
        node = np.where(self.owner == _FREE, count + np.arange(self.edges.slots), self.owner)
        length = np.maximum(self.edges.cost + self.prices[self.edges.slot] - best[self.row], 0)
        starts = np.append(self.edges.starts, np.full(self.edges.slots, len(length)))
        paths = csr_array((length, node[self.edges.slot], starts), shape=(2 * count, 2 * count))
        distance, before, root = dijkstra(paths, indices=rows, min_only=True, return_predecessors=True)
        ends = np.flatnonzero((self.owner == _FREE) & np.isfinite(distance[node]))
        order = np.lexsort((distance[node[ends]], root[node[ends]]))
        ends = ends[order[np.diff(root[node[ends[order]]], prepend=_FREE) != 0]]
        self.prices += np.maximum(distance[node[ends]].max() - distance[node], 0)
        self._switch(ends, before[node[ends]], before)

    def _switch(self, slots: Integers, rows: Integers, before: Integers) -> None:
        """Backwards along paths, give each row the slot after it; its own goes to the row before."""
        while len(slots):
            own = self.match[rows]
            self.match[rows], self.owner[slots] = slots, rows
            inner = own != _FREE
            slots, rows = own[inner], before[rows[inner]]


def _solved(state: _State) -> _State:
    looks = _LOOKS * len(state.edges.cost)
    for _ in range(_PASSES):
        rows = state.free()
        looks -= int((state.edges.starts[rows + 1] - state.edges.starts[rows]).sum())
        if looks < 0 or len(rows) == 0 or not state.bid(rows):
            break
    while len(rows := state.free()):
        state.augment(rows)
    return state


def _mirrored(edges: Graph, prices: Floats, match: Integers) -> _State:
    """The graph and its image: after the rows come images of the slots, after the slots those of the rows."""
    plain = _State(edges, prices, match)
    rows, slots = edges.rows, edges.slots
    count = np.arange(slots)
    both = graph(
        np.concatenate([plain.row, rows + edges.slot, rows + count]),
        np.concatenate([edges.slot, slots + plain.row, count]),
        np.concatenate([edges.cost, edges.cost, np.zeros(slots)]),
        rows + slots,
        rows + slots,
    )
    images = np.where(plain.owner == _FREE, count, slots + plain.owner)
    return _State(both, np.concatenate([prices, -plain.best()]), np.concatenate([plain.match, images]))


def _ranges(starts: Integers, stops: Integers) -> tuple[Integers, Integers]:
    """All whole numbers of these ranges one after another, and where each range begins among them."""
    firsts = np.cumsum(stops - starts) - (stops - starts)
    return np.repeat(starts - firsts, stops - starts) + np.arange((stops - starts).sum()), firsts
