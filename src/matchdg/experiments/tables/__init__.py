"""One file a table, or a family of tables: the studies that regenerate the paper's, and one of our own."""

from collections.abc import Callable
from typing import Final

from matchdg.core.families import choose
from matchdg.experiments.study import Budget, Rule, Study
from matchdg.experiments.tables.chest_xray import chest_xray
from matchdg.experiments.tables.leave_one_angle_out import rotated_mnist_domainbed, rotated_mnist_lenet
from matchdg.experiments.tables.match_quality import (
    iterative_ablation,
    match_quality,
    match_quality_fashion_2k,
    match_quality_phase2,
)
from matchdg.experiments.tables.pacs import pacs_alexnet, pacs_full, pacs_resnet18, pacs_resnet50
from matchdg.experiments.tables.pacs_lite0 import pacs_lite0
from matchdg.experiments.tables.pacs_lite0_frozen import pacs_lite0_frozen
from matchdg.experiments.tables.pacs_lite0_layers import pacs_lite0_layers
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
    "pacs_resnet18": pacs_resnet18,
    "pacs_resnet50": pacs_resnet50,
    "pacs_alexnet": pacs_alexnet,
    "pacs_full": pacs_full,
    "chest_xray": chest_xray,
    "pacs_lite0": pacs_lite0,
    "pacs_lite0_frozen": pacs_lite0_frozen,
    "pacs_lite0_layers": pacs_lite0_layers,
}


def study_of(table: str, budget: Budget = "quick", rule: Rule = "source") -> Study:
    """The study of a table; raises `InputError` that names the nearest one."""
    return choose("table", table, STUDIES)(budget, rule)
