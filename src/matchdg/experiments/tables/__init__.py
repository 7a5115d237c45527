"""One file a table, or a family of tables: the studies that regenerate the paper's, and one of our own."""

from collections.abc import Callable
from typing import Final

from matchdg.core.errors import InputError
from matchdg.core.families import choose
from matchdg.experiments.paper import printed_tables
from matchdg.experiments.study import Budget, Rule, Study
from matchdg.experiments.tables.leave_one_angle_out import rotated_mnist_domainbed, rotated_mnist_lenet
from matchdg.experiments.tables.match_quality import (
    iterative_ablation,
    match_quality,
    match_quality_fashion_2k,
    match_quality_phase2,
)
from matchdg.experiments.tables.pacs_lite0 import pacs_lite0
from matchdg.experiments.tables.perfect_fraction import perfect_fraction
from matchdg.experiments.tables.phase1_ablation import phase1_ablation
from matchdg.experiments.tables.rotated_digits import rotated_digits
from matchdg.experiments.tables.rotated_mnist_resnet18 import rotated_mnist_resnet18
from matchdg.experiments.tables.slab import slab

STUDIES: Final[dict[str, Callable[[Budget, Rule], Study]]] = {
    "slab": slab,
    "rotated_mnist_resnet18": rotated_mnist_resnet18,
    "match_quality": match_quality,
    "rotated_mnist_lenet": rotated_mnist_lenet,
    "rotated_mnist_domainbed": rotated_mnist_domainbed,
    "perfect_fraction": perfect_fraction,
    "match_quality_phase2": match_quality_phase2,
    "match_quality_fashion_2k": match_quality_fashion_2k,
    "iterative_ablation": iterative_ablation,
    "rotated_digits": rotated_digits,
    "phase1_ablation": phase1_ablation,
    "pacs_lite0": pacs_lite0,
}


def study_of(table: str, budget: Budget = "quick", rule: Rule = "source") -> Study:
    """The study of a table; raises `InputError` for a table that is unknown, or has no study yet."""
    if table in STUDIES:
        return STUDIES[table](budget, rule)
    printed = choose("table", table, printed_tables())
    raise InputError(
        f"table {table!r} ({printed['dataset']}) is in the paper, but cannot be reproduced yet; "
        f"those that can: {', '.join(STUDIES)}"
    )
