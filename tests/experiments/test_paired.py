"""Paired differences and their interval over tasks and seeds."""

import numpy as np
import pytest

from matchdg.experiments.paired import add_paired, paired_interval


def row(method, group=None, **by_seed):
    return {"method": method, "group": group, "by_seed": by_seed}


def test_the_interval_holds_the_mean_and_grows_with_the_spread():
    narrow = paired_interval([[1.0, 1.2], [0.9, 1.1], [1.0, 1.0]])
    wide = paired_interval([[3.0, -1.0], [0.0, 2.0], [4.0, -2.0]])
    assert narrow[0] == pytest.approx(1.0333, abs=1e-3)
    assert narrow[1] <= narrow[0] <= narrow[2]
    assert wide[2] - wide[1] > narrow[2] - narrow[1]
    assert wide == paired_interval([[3.0, -1.0], [0.0, 2.0], [4.0, -2.0]])


def test_each_task_counts_alike():
    assert paired_interval([[4.0], [0.0, 0.0, 0.0]])[0] == 2.0


def test_it_covers_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(60):
        tasks = random.normal(1.0, 1.0, size=12)
        _, low, high = paired_interval([random.normal(task, 0.5, size=3) for task in tasks])
        inside += low <= 1.0 <= high
    assert inside >= 48


def test_a_table_gets_the_differences_of_equal_seeds_alone():
    table = {
        "rows": [
            row("ERM", photo={"0": 90.0, "1": 92.0}, sketch={"0": 50.0, "1": 52.0}),
            row("MatchDG", photo={"0": 91.0}, sketch={"0": 53.0, "1": 55.0}),
            row("Unfinished", photo={"0": 91.0}),
        ],
        "notes": [],
    }
    add_paired(table, ["ERM", "absent"], ["photo", "sketch"])
    (entry,) = table["paired"]
    assert (entry["method"], entry["baseline"], entry["mean"], entry["pairs"]) == ("MatchDG", "ERM", 2.0, 3)
    assert table["notes"] == [
        "MatchDG against ERM, the same targets and seeds (3 pairs): +2.0 (95 % interval +1.0 to +3.0)."
    ]
