from typing import Any

import pytest

from matchdg.experiments import Arm, Study
from matchdg.training import RunResult


class Quiet:
    """A display that keeps what it is told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []
        self.results: list[Any] = []

    def start(self, stage, total, done):
        self.stages.append((stage, total, done))

    def advance(self, result):
        self.results.append(result)

    def stop(self): ...


@pytest.fixture
def quiet():
    return Quiet()


@pytest.fixture
def arm():
    """An arm of the slab table that runs in a fraction of a second."""

    def build(method="erm", label="ERM", group="no invariance term", grid=None, **training):
        base = {
            "dataset": {"name": "slab", "train_per_domain": 40, "validation_per_domain": 20, "test_per_domain": 30},
            "network": {"name": "slab", "width": 6},
            "method": method,
            "training": {"epochs": 2, "batch_rows": 16, "learning_rate": 0.05, **training},
        }
        return Arm(label, group, base, grid or {})

    return build


@pytest.fixture
def study(arm):
    arms = (
        arm(),
        arm("perfmatch", "PerfMatch", "object matching", {"method.penalty": (0.1, 1.0)}),
    )
    return Study("slab", "Slab data", "quick", arms, seeds=(0, 1), search_seeds=(100,))


@pytest.fixture
def result():
    """A finished run's result: accuracies by validation domain, and on the target."""

    def build(run, validation, target):
        return RunResult(
            run=run.hash,
            best_epoch=0,
            epochs=1,
            diverged=False,
            selection="source: accuracy",
            criterion=0.0,
            validation={name: {"accuracy": accuracy, "loss": 0.0} for name, accuracy in validation.items()},
            test={"Target": {"accuracy": target, "loss": 0.0}},
            targets=("Target",),
            seconds=0.0,
            versions={},
        )

    return build
