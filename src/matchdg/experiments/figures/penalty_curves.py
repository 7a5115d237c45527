"""Figure 3: is a penalty met by training alone? Those of MatchDG and of IRM over the epochs, with and without them."""

import statistics
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from matchdg.experiments.figures.figure import FigureStudy, Numbers
from matchdg.experiments.study import Arm, Budget, Study, override
from matchdg.experiments.tables import rotated
from matchdg.experiments.tables.rotated import FASHION, MNIST, SETUPS
from matchdg.training import read_result, run_folder
from matchdg.training.records import read_records

DATASETS = {MNIST: "rotMNIST", FASHION: "rotFashionMNIST"}
PENALTIES = {"match": "match penalty", "irm": "IRM penalty"}
LOSS = "training loss"
# The paper's epochs in every budget, because the figure is about the end of training.
EPOCHS = 25
OFF = {"method.penalty": 0.0}
NOTES = (
    "ERM's penalties are measured and not trained on: the same run with a weight of zero. ERM's match penalty is of "
    "the same learnt matches as MatchDG's.",
    "Match penalty: mean squared l2 distance of the logits of matched inputs. IRM penalty: mean over domains of the "
    "squared gradient of a domain's loss by a factor on the logits. Training loss: mean cross-entropy over the source "
    "domains. Each is the mean over an epoch, while the network is being trained.",
)


def penalty_curves(budget: Budget) -> FigureStudy:
    """The match penalty of MatchDG and of ERM, and the IRM penalty of IRM and of ERM, as training loss goes to zero."""
    setup = SETUPS[budget]
    arms = tuple(arm for name in DATASETS for arm in _arms(name, budget))
    about = f"{setup.about}; here {EPOCHS} epochs and one seed"
    study = Study("penalty_curves", "Penalties during training", budget, arms, (0,), notes=NOTES, about_budget=about)
    return FigureStudy(study, read)


def _arms(name: str, budget: Budget) -> Iterator[Arm]:
    setup = SETUPS[budget]
    data = rotated.dataset(name, setup)
    for term, method, label in (("match", "matchdg", "MatchDG"), ("irm", "irm", "IRM")):
        values = rotated.run_of(method, data, setup, training={"epochs": EPOCHS})
        for own, base in ((label, values), ("ERM", override(values, OFF))):
            yield Arm(own, DATASETS[name], base, task=f"{DATASETS[name]}, {PENALTIES[term]}", columns={term: term})


def read(study: Study, store: Path) -> Numbers:
    """A point for every run, quantity and epoch, from the runs' records; the summary has the last epoch's means.

    A value is None where training diverged.
    """
    points: list[dict[str, Any]] = []
    rows = []
    for arm in study.arms:
        (term,) = arm.columns or {}
        own = [point for seed in study.seeds_of(arm) for point in _points(arm, term, seed, store)]
        points += own
        last = max((point["epoch"] for point in own), default=0)
        ends = [
            [point["value"] for point in own if point["epoch"] == last and point["quantity"] == quantity]
            for quantity in (PENALTIES[term], LOSS)
        ]
        if own:
            rows.append((arm.group, PENALTIES[term], arm.label, *map(_mean, ends)))
    columns = ("data", "penalty", "objective", "penalty in the last epoch", f"{LOSS} in the last epoch")
    return Numbers(points, columns, rows)


def _points(arm: Arm, term: str, seed: int, store: Path) -> Iterator[dict[str, Any]]:
    run = arm.run({}, seed)
    if read_result(store, run) is None:
        return
    for record in read_records(run_folder(store, run) / "records.jsonl"):
        loss = _mean(record["terms"]["classification"].values())
        for quantity, value in ((PENALTIES[term], record["terms"][term]), (LOSS, loss)):
            yield {
                "data": arm.group,
                "penalty": PENALTIES[term],
                "objective": arm.label,
                "seed": seed,
                "epoch": record["epoch"] + 1,
                "quantity": quantity,
                "value": value,
            }


def _mean(values: Collection[float | None]) -> float | None:
    """The mean; None where a value is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None
