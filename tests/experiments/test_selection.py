import pytest

from matchdg.core.errors import InputError
from matchdg.experiments.runner import Failure
from matchdg.experiments.selection import choose_point, score


@pytest.fixture
def searched(arm, result):
    built = arm("perfmatch", grid={"method.penalty": (0.1, 1.0, 10.0)})
    values = {0.1: (0.9, 0.7, 0.5), 1.0: (0.85, 0.85, 0.4), 10.0: (0.8, 0.8, 0.99)}
    results = {}
    for point in built.points():
        for seed in (0, 1):
            run = built.run(point, seed)
            a, b, target = values[point["method.penalty"]]
            results[run.hash] = result(run, {"a": a, "b": b}, target)
    return built, results


def test_source_rule_takes_the_best_mean_over_source_domains(searched):
    built, results = searched
    point, seen = choose_point(built, (0, 1), results, "source")
    assert point == {"method.penalty": 1.0}
    assert [entry["accuracy"] for entry in seen] == pytest.approx([0.8, 0.85, 0.8])


def test_source_rule_does_not_look_at_the_target(searched):
    built, results = searched
    assert choose_point(built, (0, 1), results, "source")[0] != {"method.penalty": 10.0}


def test_target_rule_does(searched):
    built, results = searched
    assert choose_point(built, (0, 1), results, "target")[0] == {"method.penalty": 10.0}


def test_the_first_of_equals_is_taken(searched, result):
    built, results = searched
    equal = {name: result(type("R", (), {"hash": name}), {"a": 0.5}, 0.5) for name in results}
    assert choose_point(built, (0, 1), equal, "source")[0] == built.points()[0]


def test_a_point_with_a_seed_that_diverged_is_out(searched):
    built, results = searched
    lost = built.run({"method.penalty": 1.0}, 1).hash
    results[lost] = Failure(lost, "boom", "diverged")
    point, seen = choose_point(built, (0, 1), results, "source")
    assert point != {"method.penalty": 1.0}
    assert [entry["accuracy"] is None for entry in seen] == [False, True, False]


def test_all_diverged_is_an_error(searched):
    built, results = searched
    with pytest.raises(InputError, match="every point of the search"):
        choose_point(built, (0, 1), {name: Failure(name, "boom", "diverged") for name in results}, "source")


def test_a_run_that_failed_otherwise_or_is_not_there_leaves_nothing_to_choose_by(searched):
    built, results = searched
    lost = built.run({"method.penalty": 1.0}, 1).hash
    with pytest.raises(InputError, match=f"run {lost} of the search for ERM failed: disk full"):
        choose_point(built, (0, 1), {**results, lost: Failure(lost, "disk full")}, "source")
    del results[lost]
    with pytest.raises(InputError, match="the search for ERM is not finished"):
        choose_point(built, (0, 1), results, "source")


def test_score_counts_domains_alike(arm, result):
    found = result(arm().run({}, 0), {"a": 1.0, "b": 0.5}, 0.3)
    assert score(found, "source") == 0.75
    assert score(found, "target") == 0.3
