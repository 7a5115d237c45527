"""Fixtures that every room's tests share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from matchdg.data import DomainDataset
from matchdg.experiments import Study
from matchdg.experiments.study import override
from matchdg.training import RunSettings

torch.set_num_threads(1)


@pytest.fixture
def small_run() -> Callable[..., RunSettings]:
    """A run that takes a fraction of a second; keyword arguments replace its sections."""

    def build(seed: int = 0, training: dict[str, Any] | None = None, **sections: Any) -> RunSettings:
        values = {
            "dataset": {"name": "slab", "train_per_domain": 60, "validation_per_domain": 30, "test_per_domain": 40},
            "network": {"name": "slab", "width": 8},
            "method": "perfmatch",
            "training": {"epochs": 4, "batch_rows": 16, "learning_rate": 0.05, **(training or {})},
            "seed": seed,
        }
        return RunSettings.parse({**values, **sections})

    return build


@pytest.fixture
def npz(tmp_path: Path) -> Callable[..., Path]:
    """Write a `.npz` of three domains; keyword arguments replace its columns."""
    import numpy as np

    def write(**columns: Any) -> Path:
        random = np.random.default_rng(0)
        count = 90
        labels = np.arange(count) % 2
        arrays = {
            "inputs": random.normal(size=(count, 3)) + labels[:, None],
            "labels": labels,
            "domains": np.repeat(["a", "b", "c"], count // 3),
            "objects": np.arange(count) % 15,
        }
        path = tmp_path / "mine.npz"
        np.savez(path, **{**arrays, **columns})
        return path

    return write


@pytest.fixture
def tiny() -> DomainDataset:
    """Six inputs in two domains, by hand."""
    return DomainDataset.from_arrays(
        [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1], ["a", "a", "a", "b", "b", "b"]
    )


@pytest.fixture(scope="session")
def shrunk() -> Callable[[Study], Study]:
    """The same study of rotated images on a few digits of 8x8 pixels, two epochs long: a fraction of a second a run."""
    angles = {"sources": [15, 30], "targets": [0, 90]}
    dataset = {"name": "rotated-digits", **angles, "size": 8, "train_per_domain": 40, "test_per_domain": 20}
    changes = {"dataset": dataset, "network": "small-cnn", "training.epochs": 2, "training.batch_rows": 20}

    def shrink(study: Study) -> Study:
        phase1 = [{"phase1.training.epochs": 1} if arm.base.get("phase1") else {} for arm in study.arms]
        bases = [override(arm.base, {**changes, **more}) for arm, more in zip(study.arms, phase1, strict=True)]
        return replace(study, arms=tuple(replace(arm, base=base) for arm, base in zip(study.arms, bases, strict=True)))

    return shrink
