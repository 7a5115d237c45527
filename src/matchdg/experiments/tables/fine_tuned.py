"""What the tables with networks from ImageNet weights share: PACS and the chest X-rays (appendices C.1 and C.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matchdg.experiments.study import Rule
from matchdg.methods import METHODS
from matchdg.training import RunSettings

AS_PRINTED = METHODS["matchdg-paper"].label
SEARCH_SEED = 100
# Momentum 0.9 is the reference code's.
TRAINING: dict[str, Any] = {"batch_rows": 16, "momentum": 0.9, "weight_decay": 0.0005, "keep": "accuracy"}
PHASE1_TRAINING: dict[str, Any] = {"batch_rows": 32, "learning_rate": 0.01, "weight_decay": 0.0005}
# Phase 1 of the default starts from the matches that the network gives with its weights from ImageNet.
MATCHER = {"start": "network", "every": 1, "statistics": "domain"}
NOTES = (
    "MatchDG is this package's default: phase 1 starts from the matches that ImageNet features give and is short, "
    "matches are one-to-one along the tree of nearest domains, and phase 2 has no extra random part, so that it takes "
    "the steps and images of ERM. 'MatchDG (as printed)' follows the paper, extra part included.",
    "MDGHybrid passes two views of each image, so twice as many as ERM; its phase 1 is MatchDG's.",
)
AS_THE_PAPER_SAYS = "Training images are augmented anew in every epoch (appendix C.1), in all rows."


@dataclass(frozen=True)
class Setup:
    """What a budget decides.

    `network` says whether networks are fine-tuned, or frozen with a head that trains on their features.
    `phase1_epochs` are those of the default and of the printed phase 1. `grid` has the values that are tried of a
    setting, in place of the paper's; one alone is not searched; `about_search` says so in words. `data` goes into the
    data section.
    """

    about: str
    about_search: str
    network: str
    size: int
    epochs: int
    phase1_epochs: Mapping[str, int]
    grid: Mapping[str, tuple[Any, ...]]
    seeds: tuple[int, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def search_seeds(self) -> tuple[int, ...]:
        """One where there is something to choose."""
        return () if all(len(values) == 1 for values in self.grid.values()) else (SEARCH_SEED,)


def network_of(name: str, setup: Setup) -> dict[str, Any]:
    """The network section: with ImageNet weights, trained or frozen."""
    pretrained = {"name": name, "weights": "imagenet"}
    return pretrained if setup.network == "fine-tuned" else {"name": "frozen", "backbone": pretrained, "views": 2}


def run_of(
    method: str, dataset: Mapping[str, Any], network: str, phase1_network: str, setup: Setup, rule: Rule
) -> dict[str, Any]:
    """A run's sections, all but what `grid_of` gives."""
    values: dict[str, Any] = {
        "dataset": {**dataset, "size": setup.size, **setup.data},
        "network": network_of(network, setup),
        "method": {"name": method},
        "training": {
            **TRAINING,
            "epochs": setup.epochs,
            **({"selection": "target"} if rule == "target" else {}),
        },
    }
    if METHODS[method].phase1 is not None:
        values["phase1"] = _phase1(method, phase1_network, setup)
    return values


def _phase1(method: str, network: str, setup: Setup) -> dict[str, Any]:
    printed = method == "matchdg-paper"
    training = {**PHASE1_TRAINING, "epochs": setup.phase1_epochs["matchdg-paper" if printed else "matchdg"]}
    if printed:
        return {"network": network_of(network, setup), "training": training}
    # Of a frozen network, the inputs are its features already.
    matcher = MATCHER if setup.network == "fine-tuned" else {}
    return {"network": network_of(network, setup), "matcher": matcher, "training": {**training, "schedule": "cosine"}}


def phase1_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a run's phase 1 alone, as a run of its own."""
    phase1 = RunSettings.parse(values).phase1
    assert phase1 is not None
    return phase1.dump()


def grid_of(method: str, dataset: str, setup: Setup) -> dict[str, tuple[Any, ...]]:
    """Learning rates, and the paper's grid of the method, as far as the budget has it."""
    own = {name: setup.grid.get(name, values) for name, values in METHODS[method].search.get(dataset, {}).items()}
    return {
        "training.learning_rate": setup.grid["learning_rate"],
        **{f"method.{name}": values for name, values in own.items()},
    }
