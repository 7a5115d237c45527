from dataclasses import replace

import pytest

from matchdg.experiments.measures import measures
from matchdg.matching import RepresentationSettings
from matchdg.training import RunSettings, execute
from matchdg.training.quality import measure_quality

MEASURED = RepresentationSettings(layer="logits")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A tiny run on two target angles, its result, and the folder of both."""
    out = tmp_path_factory.mktemp("measures")
    angles = {"sources": [15, 30], "targets": [0, 90]}
    data = {"name": "rotated-digits", **angles, "size": 8, "train_per_domain": 40, "test_per_domain": 20}
    run = RunSettings.parse({"dataset": data, "method": "erm", "training": {"epochs": 1, "batch_rows": 20}})
    return run, execute(run, out), out


def found(arm, finished, shown=(), **settings):
    run, result, out = finished
    return measures(replace(arm, **settings), run, result, out, shown)


def test_without_columns_of_its_own_an_arm_fills_those_named_after_a_test_domain(arm, finished):
    test = finished[1].test
    expected = {name: 100 * test[name]["accuracy"] for name in ("0", "90")}
    assert found(arm(), finished, ("0", "90", "Average")) == expected


def test_target_is_the_mean_over_the_target_domains(arm, finished):
    test = finished[1].test
    values = found(arm(), finished, columns={"T": "target", "first": "0", "none": "45"})
    mean = 100 * (test["0"]["accuracy"] + test["90"]["accuracy"]) / 2
    assert values == {"T": pytest.approx(mean), "first": 100 * test["0"]["accuracy"]}


def test_match_quality_is_left_out_until_it_is_measured(arm, finished):
    settings = {"columns": {"rank": "quality.mean_rank", "pairs": "quality.overlap"}, "measured": MEASURED}
    assert found(arm(), finished, **settings) == {}
    quality = measure_quality(finished[2], finished[0], MEASURED)
    assert found(arm(), finished, **settings) == {"rank": quality["mean_rank"], "pairs": quality["overlap"]}
