"""One match per anchor and domain: straight from the base domain, or from domain to domain along a tree."""

from typing import Literal

import torch
from torch import Tensor

from matchdg.matching.assign import Assignment, assign
from matchdg.matching.search import MEMORY, check_features
from matchdg.matching.table import ABSENT

Route = Literal["direct", "tree"]


def route(
    features: list[Tensor],
    base: int,
    how: Route,
    assignment: Assignment,
    memory: int = MEMORY,
    weights: Tensor | None = None,
) -> Tensor:
    """Positions [n_base, K] within each domain's list, of one class; -1 where the list is empty."""
    present = [len(own) > 0 for own in features]
    if how == "direct":
        parents = [base if here and domain != base else ABSENT for domain, here in enumerate(present)]
    else:
        if weights is None:
            weights = distances(features, assignment, memory)
        masked = weights.clone()
        absent = ~torch.tensor(present)
        masked[absent] = torch.inf
        masked[:, absent] = torch.inf
        parents = spanning_tree(masked, base)
    return along(features, base, parents, assignment, memory)


def distances(features: list[Tensor], assignment: Assignment, memory: int = MEMORY) -> Tensor:
    """Mean distance [K, K] between assigned points of two domains of one class; infinite where either is empty."""
    K = len(features)
    weights = torch.full((K, K), torch.inf)
    for left in range(K):
        for right in range(left + 1, K):
            if len(features[left]) and len(features[right]):
                found = assign(features[left], features[right], assignment, memory)
                gap = (features[left] - features[right][found]).float().norm(dim=1).mean()
                weights[left, right] = weights[right, left] = float(gap)
    return weights


def spanning_tree(weights: Tensor, root: int) -> list[int]:
    """The parent of each domain in the minimum spanning tree [K]; -1 for the root and what cannot be reached."""
    parents = [ABSENT] * len(weights)
    best, source = weights[root].clone(), [root] * len(weights)
    open_ = set(range(len(weights))) - {root}
    while open_:
        near = min(open_, key=lambda domain: (float(best[domain]), domain))
        if not bool(best[near].isfinite()):
            break
        open_.remove(near)
        parents[near] = source[near]
        for domain in open_:
            if weights[near, domain] < best[domain]:
                best[domain], source[domain] = weights[near, domain], near
    return parents


def along(
    features: list[Tensor], base: int, parents: list[int], assignment: Assignment, memory: int = MEMORY
) -> Tensor:
    """Matches [n_base, K] composed along the tree: each domain is assigned to the points its parent is matched with."""
    own = features[base]
    rows = torch.full((len(own), len(features)), ABSENT, device=own.device)
    rows[:, base] = torch.arange(len(own), device=own.device)
    done, waiting = {base}, [domain for domain, parent in enumerate(parents) if parent != ABSENT]
    while waiting:
        domain = next(domain for domain in waiting if parents[domain] in done)
        parent = parents[domain]
        rows[:, domain] = assign(features[parent][rows[:, parent]], features[domain], assignment, memory)
        done.add(domain)
        waiting.remove(domain)
    return rows


def refine(
    features: list[Tensor], rows: Tensor, base: int, assignment: Assignment, rounds: int, memory: int = MEMORY
) -> Tensor:
    """Make rows consistent over all domains: assign each domain anew to the mean of the rows' other members."""
    rows = rows.clone()
    used = [domain for domain in range(len(features)) if len(features[domain]) and len(rows)]
    if len(used) < 3:
        return rows
    for _ in range(rounds):
        before = rows.clone()
        total = sum(features[domain][rows[:, domain]] for domain in used)
        for domain in used:
            if domain != base:
                others = total - features[domain][rows[:, domain]]
                rows[:, domain] = assign(others / (len(used) - 1), features[domain], assignment, memory)
                total = others + features[domain][rows[:, domain]]
        if torch.equal(rows, before):
            break
    return rows


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
    """Rows [R, K] of a match table in the order of `anchor_positions`; `bases[c]` is the base domain of class c."""
    check_features("features", features)
    classes = len(bases)
    cells = (labels * domain_count + domains).cpu()
    order = cells.argsort(stable=True)
    sizes = torch.bincount(cells, minlength=classes * domain_count)
    members = order.split(sizes.tolist())

    def lists(label: int) -> list[Tensor]:
        return members[label * domain_count : (label + 1) * domain_count]

    def own(label: int) -> list[Tensor]:
        return [features[inside.to(features.device)] for inside in lists(label)]

    weights = None
    if how == "tree":
        all_weights = torch.stack([distances(own(label), assignment, memory) for label in range(classes)])
        finite = all_weights.isfinite()
        weights = torch.where(finite, all_weights, 0).sum(0) / finite.sum(0)
        weights[finite.sum(0) == 0] = torch.inf
    found = []
    for label in range(classes):
        base = int(bases[label])
        mine = own(label)
        rows = route(mine, base, how, assignment, memory, weights)
        rows = refine(mine, rows, base, assignment, rounds, memory).cpu()
        columns = [
            inside[column] if len(inside) else column for inside, column in zip(lists(label), rows.T, strict=True)
        ]
        found.append(torch.stack(columns, 1))
    table = torch.cat(found)
    anchor = torch.cat([members[label * domain_count + int(bases[label])] for label in range(classes)])
    return table[anchor.argsort()]
