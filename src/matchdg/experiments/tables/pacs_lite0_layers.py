"""Where a match penalty hurts on frozen features of PACS: by layer, distance and weight."""

from typing import Any

from matchdg.experiments.paired import add_paired
from matchdg.experiments.study import Budget, Column, Rule, Study
from matchdg.experiments.tables.pacs import fingerprint
from matchdg.experiments.tables.pacs_lite0 import AVERAGE, COLUMNS, DOMAINS, arm
from matchdg.experiments.tables.pacs_lite0_frozen import TRAINING, sections
from matchdg.methods import METHODS

# Layer, distance, weight.
PENALTIES = (
    ("logits", "squared-l2", 0.01),
    ("logits", "squared-l2", 0.001),
    ("logits", "squared-l2", 0.0001),
    ("representation", "squared-l2", 0.01),
    ("representation", "squared-l2", 0.001),
    ("logits", "cosine", 0.1),
    ("representation", "cosine", 0.1),
    ("representation", "cosine", 1.0),
)
NOTE = (
    "Nothing is chosen here: each row is one setting, so that the best of them is no estimate for a new domain. ERM "
    "has the same rows, steps and images as RandMatch."
)


def pacs_lite0_layers(budget: Budget, rule: Rule) -> Study:
    """ERM, and RandMatch and MatchDG with the penalty on each layer."""
    size, found = {"quick": 64, "cpu": 128, "paper": 224}[budget], fingerprint()
    rows: list[tuple[str, dict[str, Any]]] = [("ERM", {"name": "erm"})]
    for name in ("randmatch", "matchdg"):
        rows += [
            (
                f"{METHODS[name].label}, {layer}, {distance}, {weight:g}",
                {"name": name, "layer": layer, "distance": distance, "penalty": weight},
            )
            for layer, distance, weight in PENALTIES
        ]
    arms = [arm(label, method, sections(target, found, size), rule) for label, method in rows for target in DOMAINS]
    return Study(
        "pacs_lite0_layers",
        "PACS, EfficientNet-Lite0 frozen: the match penalty by layer",
        budget,
        tuple(arms),
        seeds=(0,) if budget == "quick" else (0, 1, 2),
        rule=rule,
        notes=(NOTE,),
        about_budget=f"features of images at {size}x{size} pixels, {TRAINING['epochs']} epochs",
        columns={name: Column() for name in COLUMNS},
        averages={AVERAGE: DOMAINS},
        extend=_against_erm,
    )


def _against_erm(table: dict[str, Any]) -> None:
    add_paired(table, ["ERM"], DOMAINS)
