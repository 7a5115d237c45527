"""One file a table of the paper: the study that regenerates it."""

from collections.abc import Callable
from typing import Final

from matchdg.core.errors import InputError
from matchdg.experiments.paper import printed_table
from matchdg.experiments.study import Budget, Rule, Study
from matchdg.experiments.tables.slab import slab

STUDIES: Final[dict[str, Callable[[Budget, Rule], Study]]] = {
    "slab": slab,
}


def study_of(table: str, budget: Budget = "quick", rule: Rule = "source") -> Study:
    """The study of a table; raises `InputError` for a table that is unknown, or has no study yet."""
    printed = printed_table(table)
    if table not in STUDIES:
        raise InputError(
            f"table {table!r} ({printed['dataset']}) is in the paper, but cannot be reproduced yet; "
            f"those that can: {', '.join(STUDIES)}"
        )
    return STUDIES[table](budget, rule)
