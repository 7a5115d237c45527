"""Make matches consistent over all domains at once."""

import torch
from torch import Tensor

from matchdg.matching.assign import Assignment, assign_sound
from matchdg.matching.search import MEMORY


@torch.no_grad()
def refine(
    features: list[Tensor], rows: Tensor, base: int, assignment: Assignment, rounds: int, memory: int = MEMORY
) -> Tensor:
    r"""Match each domain anew to the mean of the rows' other members, in turn; rows [n_base, K] like those given.

    Shapes: features[k] [n_k, D] and rows [n_base, K] of one class, as of `route`. The sum over rows of the squared
    distances of all their pairs, $\sum_r \sum_{k < l} \|f_{rk} - f_{rl}\|^2$, falls with each step: but for a
    constant its part with domain k is $(K - 1) \sum_r \|f_{rk} - \bar f_{r \setminus k}\|^2$, which an assignment
    makes least. One-to-one, the base domain has its turn too: its points change rows. By `nearest` it has not, as some
    of its points would be lost. Ends after `rounds` over the domains, or when nothing changes.
    """
    rows = rows.clone()
    used = [domain for domain, own in enumerate(features) if len(own) and len(rows)]
    if len(used) < 3:
        return rows
    for _ in range(rounds):
        before = rows.clone()
        for domain in used if assignment == "one-to-one" else [own for own in used if own != base]:
            others = [features[other][rows[:, other]] for other in used if other != domain]
            rows[:, domain] = assign_sound(torch.stack(others).mean(0), features[domain], assignment, memory)
        rows = rows[rows[:, base].argsort()]
        if torch.equal(rows, before):
            break
    return rows
