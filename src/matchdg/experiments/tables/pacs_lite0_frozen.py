"""PACS on features of EfficientNet-Lite0 that are computed once: every method in minutes on a CPU."""

from typing import Any

from matchdg.experiments.study import Budget, Column, Rule, Study
from matchdg.experiments.tables.fine_tuned import SEARCH_SEED
from matchdg.experiments.tables.pacs import dataset, fingerprint
from matchdg.experiments.tables.pacs_lite0 import (
    AVERAGE,
    COLUMNS,
    DOMAINS,
    LABELS_KNOWN,
    NETWORK,
    Grid,
    arm,
    differences,
)
from matchdg.methods import METHODS

FROZEN = {"name": "frozen", "backbone": NETWORK, "hidden": [256], "views": 1}
TRAINING: dict[str, Any] = {
    "epochs": 10,
    "batch_rows": 64,
    "learning_rate": 0.05,
    "momentum": 0.9,
    "weight_decay": 0.0005,
    "schedule": "cosine",
    "keep": "accuracy",
}
# Phase 1 starts from the matches in the features themselves, as the head is random at first.
PHASE1: dict[str, Any] = {
    "matcher": {"start": "inputs", "every": 1, "statistics": "running"},
    "training": {"epochs": 3, "batch_rows": 64, "learning_rate": 0.05, "schedule": "cosine"},
}
SMALL = (0.01, 0.1)
# Which layer is matched is searched with the penalty: on logits it hurt in a first try.
MATCHED: Grid = {"method.penalty": SMALL, "method.layer": ("logits", "representation")}
GRIDS: dict[str, Grid] = {
    "erm": {},
    "irm": {"method.penalty": (1.0, 10.0)},
    "csd": {},
    "coral": {"method.penalty": SMALL},
    "c-coral": {"method.penalty": SMALL},
    "mmd": {"method.penalty": SMALL},
    "dann": {"method.penalty": SMALL},
    "randmatch": MATCHED,
    "matchdg": MATCHED,
    "mdghybrid": MATCHED,
}
NOTES = (
    LABELS_KNOWN,
    "The network stays as it is and a hidden layer of 256 units is trained on its 1,280 features, those of one random "
    "view of each training image included. All rows see the same features and steps; MDGHybrid sees two views a step.",
    "Penalties, and the layer that is matched, are those of the best accuracy on source validation data.",
)


def pacs_lite0_frozen(budget: Budget, rule: Rule) -> Study:
    """Ten methods on frozen features; hyper-parameters are searched on source validation data."""
    size = {"quick": 64, "cpu": 128, "paper": 224}[budget]
    found = fingerprint()
    arms = [
        arm(
            METHODS[name].label,
            {"name": name},
            sections(target, found, size),
            rule,
            _reduced(grid) if budget == "quick" else grid,
        )
        for name, grid in GRIDS.items()
        for target in DOMAINS
    ]
    return Study(
        "pacs_lite0_frozen",
        "PACS, EfficientNet-Lite0 frozen",
        budget,
        tuple(arms),
        seeds=(0,) if budget == "quick" else (0, 1, 2),
        search_seeds=() if budget == "quick" else (SEARCH_SEED,),
        rule=rule,
        notes=NOTES,
        about_budget=f"features of images at {size}x{size} pixels, {TRAINING['epochs']} epochs",
        columns={name: Column() for name in COLUMNS},
        averages={AVERAGE: DOMAINS},
        extend=differences,
    )


def _reduced(grid: Grid) -> Grid:
    """Without a search: the middle value of each setting."""
    return {key: (values[len(values) // 2],) for key, values in grid.items()}


def sections(target: str, found: str | None, size: int) -> dict[str, Any]:
    """What all runs on frozen features share, with `target` held out."""
    return {
        "dataset": {**dataset(target, found), "size": size},
        "network": FROZEN,
        "training": TRAINING,
        "phase1": PHASE1,
    }
