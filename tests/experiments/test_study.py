from dataclasses import replace

import pytest

from matchdg.core.errors import InputError
from matchdg.experiments import with_seeds
from matchdg.experiments.study import override


def test_points_of_a_grid(arm):
    built = arm("perfmatch", grid={"method.penalty": (0.1, 1.0), "training.epochs": (1, 2)})
    assert len(built.points()) == 4
    assert {"method.penalty": 1.0, "training.epochs": 2} in built.points()


def test_nothing_to_search_is_one_empty_point(arm):
    assert arm().points() == [{}]


def test_a_run_takes_its_point_and_seed(arm):
    run = arm("perfmatch").run({"method.penalty": 0.3}, 7)
    assert run.dump()["method"]["penalty"] == 0.3
    assert run.seed == 7


def test_override_keeps_what_it_does_not_name():
    values = {"method": {"name": "irm", "penalty": 1.0}, "seed": 0}
    assert override(values, {"method.start_epoch": 5, "seed": 2}) == {
        "method": {"name": "irm", "penalty": 1.0, "start_epoch": 5},
        "seed": 2,
    }
    assert values["method"] == {"name": "irm", "penalty": 1.0}


def test_the_hash_tells_studies_apart(study, arm):
    assert study.hash == replace(study).hash
    assert study.hash != replace(study, seeds=(0,)).hash
    assert study.hash != replace(study, rule="target").hash
    assert study.hash != replace(study, arms=(arm(epochs=3),)).hash


def test_only_arms_with_a_choice_are_searched(study):
    assert [run.method for run in study.search_runs()] == ["perfmatch", "perfmatch"]


def test_with_seeds(study):
    assert with_seeds(study, None) is study
    assert with_seeds(study, 3).seeds == (0, 1, 2)
    with pytest.raises(InputError, match="--seeds is 0"):
        with_seeds(study, 0)
