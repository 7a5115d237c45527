import json

import pytest

from matchdg.experiments.figures import reproduce_figure
from matchdg.experiments.figures.penalty_curves import penalty_curves, read
from matchdg.training import run_folder

ERM, IRM, MATCHDG = "ERM", "IRM", "MatchDG"


@pytest.fixture
def figure(shrunk):
    whole = penalty_curves("quick")
    return type(whole)(shrunk(whole.study), read)


def records(match, *classification):
    """A line for each epoch, as the trainer writes them."""
    lines = [
        {"epoch": epoch, "terms": {"match": value, "classification": {"15": losses[0], "30": losses[1]}}}
        for epoch, (value, losses) in enumerate(zip(match, classification, strict=True))
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_a_penalty_is_measured_with_and_without_it_from_the_same_start(figure, quiet, tmp_path):
    values = reproduce_figure(figure, tmp_path, 1, quiet, "c").values
    assert values["failed"] == []
    kinds = {(point["data"], point["penalty"], point["objective"], point["quantity"]) for point in values["points"]}
    assert kinds == {
        (data, penalty, objective, quantity)
        for data in ("rotMNIST", "rotFashionMNIST")
        for penalty, own in (("match penalty", MATCHDG), ("IRM penalty", IRM))
        for objective in (own, ERM)
        for quantity in (penalty, "training loss")
    }
    assert {point["epoch"] for point in values["points"]} == {1, 2}
    assert len(values["points"]) == 2 * len(kinds)
    assert all(point["value"] >= 0 for point in values["points"])
    ends = {tuple(row[:3]): row[3] for row in values["summary"]["rows"]}
    assert ends["rotMNIST", "match penalty", MATCHDG] < ends["rotMNIST", "match penalty", ERM]


def test_erm_is_the_same_run_without_the_weight():
    study = penalty_curves("quick").study
    pairs = list(zip(study.arms[::2], study.arms[1::2], strict=True))
    assert len(pairs) == 4
    for trained, measured in pairs:
        assert (trained.group, trained.task, measured.label) == (measured.group, measured.task, ERM)
        with_penalty, without = trained.run({}, 0).dump(), measured.run({}, 0).dump()
        assert with_penalty["method"].pop("penalty") > 0
        assert without["method"].pop("penalty") == 0
        assert with_penalty == without


def test_points_and_the_last_epoch_s_means_by_hand(figure, quiet, tmp_path):
    reproduce_figure(figure, tmp_path, 1, quiet, "c")
    (arm, *_) = figure.study.arms
    path = run_folder(tmp_path, arm.run({}, 0)) / "records.jsonl"
    path.write_text(records([4.0, 0.5], (1.0, 3.0), (0.2, 0.4)))
    numbers = read(figure.study, tmp_path)
    first = [point for point in numbers.points if point["objective"] == MATCHDG and point["data"] == "rotMNIST"]
    assert [(point["epoch"], point["quantity"], point["value"]) for point in first] == [
        (1, "match penalty", 4.0),
        (1, "training loss", 2.0),
        (2, "match penalty", 0.5),
        (2, "training loss", pytest.approx(0.3)),
    ]
    assert numbers.rows[0] == ("rotMNIST", "match penalty", MATCHDG, 0.5, pytest.approx(0.3))


def test_an_epoch_that_diverged_has_no_value_and_breaks_nothing(figure, quiet, tmp_path):
    reproduce_figure(figure, tmp_path, 1, quiet, "c")
    path = run_folder(tmp_path, figure.study.arms[0].run({}, 0)) / "records.jsonl"
    path.write_text(records([4.0, None], (1.0, 3.0), (0.2, None)))
    numbers = read(figure.study, tmp_path)
    assert [point["value"] for point in numbers.points[:4]] == [4.0, 2.0, None, None]
    assert numbers.rows[0] == ("rotMNIST", "match penalty", MATCHDG, None, None)


def test_runs_that_are_not_there_are_left_out(figure, tmp_path):
    numbers = read(figure.study, tmp_path)
    assert numbers.points == numbers.rows == []
