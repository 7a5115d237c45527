"""One match per anchor and domain: straight from the base domain, or from domain to domain along a tree."""

from typing import Literal

import torch
from torch import Tensor

from matchdg.matching.assign import Assignment, assign_sound
from matchdg.matching.refine import refine
from matchdg.matching.search import MEMORY, check_features
from matchdg.matching.table import ABSENT

Route = Literal["direct", "tree"]


@torch.no_grad()
def match_rows(
    features: Tensor,
    labels: Tensor,
    domains: Tensor,
    domain_count: int,
    bases: Tensor,
    assignment: Assignment = "nearest",
    how: Route = "direct",
    rounds: int = 0,
    memory: int = MEMORY,
) -> Tensor:
    """Rows [R, K] of a match table on features [N, D], in the order of `anchor_positions`.

    Shapes: labels [N], domains [N], bases [classes] (of `base_domains`). Each class is matched by itself, by `route`
    and then `refine`. With `tree`, all classes share the weights of the tree, the mean of their `distances`, so that
    they share the tree too, but for classes that a domain lacks. Raises `InputError` as `nearest` does.
    """
    check_features("features", features)
    sizes = torch.bincount(labels * domain_count + domains, minlength=len(bases) * domain_count)
    cells = (labels * domain_count + domains).argsort(stable=True).split(sizes.tolist())
    classes = [cells[first : first + domain_count] for first in range(0, len(cells), domain_count)]
    largest = int(sizes.view(-1, domain_count).sum(1).max())
    held = features.new_empty(largest, features.shape[1])  # one class at a time: fresh memory is slow
    weights = None
    if how == "tree":
        tables = [distances(_gather(features, inside, held), assignment, memory) for inside in classes]
        weights = _mean_of_finite(tables)
    rows, anchors = [], []
    for inside, base in zip(classes, bases.tolist(), strict=True):
        own = _gather(features, inside, held)
        found = route(own, base, how, assignment, memory, weights)
        found = refine(own, found, base, assignment, rounds, memory).cpu()
        columns = [
            positions[column] if len(positions) else column
            for positions, column in zip(inside, found.unbind(1), strict=True)
        ]
        rows.append(torch.stack(columns, 1))
        anchors.append(inside[base])
    return torch.cat(rows)[torch.cat(anchors).argsort()]


def route(
    features: list[Tensor],
    base: int,
    how: Route,
    assignment: Assignment,
    memory: int = MEMORY,
    weights: Tensor | None = None,
) -> Tensor:
    """Matches of one class: positions [n_base, K] within each domain's features [n_k, D]; -1 where it has none.

    `direct`, the paper's, assigns every domain to the base domain. `tree` assigns along the minimum spanning tree of
    the domains with these `weights` [K, K] (by default the class's `distances`): where domains lie in a chain, as
    rotations do, neighbours are easier to match than the ends.
    """
    present = [len(own) > 0 for own in features]
    if how == "direct":
        parents = [base if here and domain != base else ABSENT for domain, here in enumerate(present)]
    else:
        weights = distances(features, assignment, memory) if weights is None else weights
        both = torch.tensor(present)[:, None] & torch.tensor(present)
        parents = spanning_tree(weights.masked_fill(~both, torch.inf), base)
    return along(features, base, parents, assignment, memory)


def distances(features: list[Tensor], assignment: Assignment, memory: int = MEMORY) -> Tensor:
    """The mean distance of assigned points [K, K] of one class's domains; infinite where one of the two has none."""
    weights = torch.full((len(features), len(features)), torch.inf)
    for left, own in enumerate(features):
        for right in range(left + 1, len(features)):
            other = features[right]
            if len(own) and len(other):
                gap = (own - other[assign_sound(own, other, assignment, memory)]).norm(dim=1).mean()
                weights[left, right] = weights[right, left] = float(gap)
    return weights


def spanning_tree(weights: Tensor, root: int) -> list[int]:
    """Each domain's parent [K] in the minimum spanning tree, by Prim; -1 for the root, and where no path leads.

    >>> spanning_tree(torch.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]]), root=0)
    [-1, 0, 1]
    """
    table = weights.tolist()
    parents = [ABSENT] * len(table)
    parent = {domain: root for domain in range(len(table)) if domain != root}
    while parent:
        nearest = min(parent, key=lambda domain: table[parent[domain]][domain])
        if table[parent[nearest]][nearest] == float("inf"):
            break
        parents[nearest] = parent.pop(nearest)
        for domain, current in parent.items():
            if table[nearest][domain] < table[current][domain]:
                parent[domain] = nearest
    return parents


def along(
    features: list[Tensor], base: int, parents: list[int], assignment: Assignment, memory: int = MEMORY
) -> Tensor:
    """Matches [n_base, K] along a tree: each domain is assigned to the points that its parent is matched with.

    A point that its parent is matched with twice asks twice, so that `one-to-one` gives two different points, if
    there are. Domains without a parent, the base aside, get -1.
    """
    count, device = len(features[base]), features[base].device
    rows = torch.full((count, len(features)), ABSENT, device=device)
    rows[:, base] = torch.arange(count, device=device)
    waiting = [base]
    while waiting:
        parent = waiting.pop()
        for domain in [child for child, own in enumerate(parents) if own == parent]:
            rows[:, domain] = assign_sound(features[parent][rows[:, parent]], features[domain], assignment, memory)
            waiting.append(domain)
    return rows


def _gather(features: Tensor, cells: tuple[Tensor, ...], held: Tensor) -> list[Tensor]:
    """The features of each cell, side by side in `held`."""
    positions = torch.cat(cells).to(features.device)
    together = torch.index_select(features, 0, positions, out=held[: len(positions)])
    return list(together.split([len(own) for own in cells]))


def _mean_of_finite(tables: list[Tensor]) -> Tensor:
    stacked = torch.stack(tables)
    finite = stacked.isfinite()
    total = stacked.masked_fill(~finite, 0).sum(0)
    return torch.where(finite.any(0), total / finite.sum(0).clamp(min=1), torch.inf)
