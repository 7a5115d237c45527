"""Give each query a candidate: the nearest, or one-to-one at the least total cost."""

from typing import Final, Literal

import torch
from torch import Tensor

from matchdg.matching.approximate import nearest_approximate
from matchdg.matching.search import MEMORY, all_scores, check_pair, first
from matchdg.matching.sparse import assign_sparsely
from matchdg.matching.table import ABSENT

Assignment = Literal["nearest", "nearest-approximate", "one-to-one"]

LIMIT: Final = 1000
"""Points of a side up to which one-to-one is solved on the table of all costs; above, on its sparse part."""


@torch.no_grad()
def assign(queries: Tensor, candidates: Tensor, how: Assignment, memory: int = MEMORY, limit: int = LIMIT) -> Tensor:
    r"""The position [Q] of each query's candidate; -1 for all if there is none.

    Shapes: queries [Q, D], candidates [N, D].

    `nearest` is the paper's: a candidate may be given to many queries, or none. `nearest-approximate` is the same as
    far as FAISS (an extra) finds it.

    `one-to-one` minimises $\sum_q \|q - c_q\|^2$ where, with Q <= N, no candidate is given twice and, with Q > N, each
    is given to floor(Q / N) or ceil(Q / N) queries. The distance is squared, so that with Q = N a shift of one side
    as a whole, say of one domain's features, does not matter. Up to `limit` points a side the optimum is found on the
    table of all costs, by `scipy.optimize.linear_sum_assignment`; above it by `assign_sparsely`, which takes no such
    table and proves its result to be within a millionth of the optimum. Which of equally good results is taken does
    not depend on the order of the queries, which may be that of the objects. With many more queries than candidates
    that takes long, as some 16 Q / N pairs of each query are looked at.

    Beyond `memory`, `one-to-one` takes about 30 limit^2 bytes or, above the limit, a copy of both sides in float32
    and some 3 kB a point.

    Raises `InputError` as `nearest` does.
    """
    check_pair(queries, candidates)
    return assign_sound(queries, candidates, how, memory, limit)


def assign_sound(
    queries: Tensor, candidates: Tensor, how: Assignment, memory: int = MEMORY, limit: int = LIMIT
) -> Tensor:
    """`assign` for features that were checked before."""
    if len(candidates) == 0 or len(queries) == 0:
        return torch.full((len(queries),), ABSENT, device=queries.device)
    if how == "nearest":
        return first(queries, candidates, memory)
    if how == "nearest-approximate":
        return _approximate(queries, candidates, memory)
    if max(len(queries), len(candidates)) > limit:
        return assign_sparsely(queries, candidates, memory)
    return _assign_densely(queries, candidates, memory)


def _approximate(queries: Tensor, candidates: Tensor, memory: int) -> Tensor:
    """The first candidate that FAISS finds; where the clusters that it looks into are empty, the exact one."""
    found = nearest_approximate(queries, candidates)[0][:, 0]
    lost = (found == ABSENT).nonzero().flatten()
    if len(lost):
        found[lost] = first(queries[lost], candidates, memory)
    return found


def _assign_densely(queries: Tensor, candidates: Tensor, memory: int) -> Tensor:
    """With Q > N each candidate is there Q // N times, and once more at a surcharge above any gain by avoiding it."""
    from scipy.optimize import linear_sum_assignment

    cost = all_scores(queries, candidates, memory).cpu().double()
    copies, left = divmod(len(queries), len(candidates))
    tables = [cost] * copies
    if left:
        tables.append(cost + (cost.max() - cost.min() + 1 if copies else 0))
    order = torch.randperm(len(queries), generator=torch.Generator().manual_seed(0))
    _, column = linear_sum_assignment(torch.cat(tables, 1)[order].numpy())
    found = torch.empty_like(order)
    found[order] = torch.from_numpy(column) % len(candidates)
    return found.to(queries.device)
