"""PACS with EfficientNet-Lite0, fine-tuned or frozen: what matching gives on photographs, at a size that CPUs allow.

Not tables of the paper: its own, with ResNets at 224 pixels, stand in `pacs.py`.
"""

from collections.abc import Mapping
from typing import Any

from matchdg.experiments.paired import add_paired
from matchdg.experiments.study import Arm, Budget, Column, Rule, Study
from matchdg.experiments.tables.fine_tuned import MATCHER, SEARCH_SEED
from matchdg.experiments.tables.pacs import dataset, fingerprint
from matchdg.methods import METHODS

DOMAINS = ("photo", "art_painting", "cartoon", "sketch")
AVERAGE = "Average"
COLUMNS = {name: Column() for name in (*DOMAINS, AVERAGE)}
NETWORK = {"name": "efficientnet-lite0", "weights": "imagenet"}
Grid = Mapping[str, tuple[Any, ...]]

ERM_TWICE = "ERM, twice the images"
LABELS_KNOWN = (
    "Matches are of the same class; which inputs of it belong together nobody knows, so that there is no oracle here."
)


def pacs_lite0(budget: Budget, rule: Rule) -> Study:
    """ERM, RandMatch, MatchDG and MDGHybrid, the whole network trained; the image size and the epochs go by budget."""
    size, epochs, seeds = {"quick": (64, 2, (0,)), "cpu": (128, 5, (0, 1)), "paper": (224, 30, (0, 1, 2))}[budget]
    training = {
        "epochs": epochs,
        "batch_rows": 16,
        "learning_rate": 0.01,
        "momentum": 0.9,
        "weight_decay": 0.0005,
        "schedule": "cosine",
        "keep": "accuracy",
    }
    phase1 = {
        "network": NETWORK,
        "matcher": MATCHER,
        "training": {"epochs": 2, "batch_rows": 16, "learning_rate": 0.01, "schedule": "cosine"},
    }
    penalties: tuple[float, ...] = (0.1,) if budget == "quick" else (0.01, 0.1)
    rows: list[tuple[str, str, Grid, dict[str, Any]]] = [
        ("ERM", "erm", {}, {}),
        (ERM_TWICE, "erm", {}, {"training": {"extra": "inputs"}}),
        ("RandMatch", "randmatch", {"method.penalty": penalties}, {}),
        ("MatchDG", "matchdg", {"method.penalty": penalties}, {}),
        ("MDGHybrid", "mdghybrid", {"method.penalty": penalties}, {"method": {"view_penalty": 0.1}}),
    ]
    found = fingerprint()
    arms = [
        arm(
            label,
            {"name": method, **changes.get("method", {})},
            {
                "dataset": {**dataset(target, found), "size": size},
                "network": NETWORK,
                "training": {**training, **changes.get("training", {})},
                "phase1": phase1,
            },
            rule,
            grid,
        )
        for label, method, grid, changes in rows
        for target in DOMAINS
    ]
    notes = (
        LABELS_KNOWN,
        "MatchDG's phase 2 takes the steps and images of ERM, its compute-matched control but for phase 1. MDGHybrid "
        f"passes two views of each image; '{ERM_TWICE}' has as many other images beside the batch's.",
        "All rows are trained on augmented images, as appendix C.2 has them.",
    )
    about = f"{size}x{size} pixels, {epochs} epochs from ImageNet weights, learning rate 0.01"
    return Study(
        "pacs_lite0",
        "PACS, EfficientNet-Lite0",
        budget,
        tuple(arms),
        seeds=seeds,
        search_seeds=(SEARCH_SEED,) if len(penalties) > 1 else (),
        rule=rule,
        notes=notes,
        about_budget=about,
        columns=COLUMNS,
        averages={AVERAGE: DOMAINS},
        extend=differences,
    )


def differences(table: dict[str, Any]) -> None:
    """Each row against ERM, and against ERM at equal compute where the table has it."""
    names = [row["method"] for row in table["rows"]]
    add_paired(table, [name for name in ("ERM", ERM_TWICE) if name in names], DOMAINS)


def arm(
    label: str,
    method: Mapping[str, Any],
    sections: Mapping[str, Any],
    rule: Rule,
    grid: Grid | None = None,
) -> Arm:
    """A row's part for the target that `sections` hold out; a phase 1 among them is for the methods that have one."""
    values = {**sections, "method": {**method}}
    if rule == "target":
        values["training"] = {**values["training"], "selection": "target"}
    if METHODS[method["name"]].phase1 is None:
        values.pop("phase1", None)
    (target,) = values["dataset"]["targets"]
    return Arm(label, None, values, grid or {}, task=target, columns={target: "target"})
