import json
import statistics
from dataclasses import replace

import pytest

from matchdg.core.errors import InputError
from matchdg.experiments import reproduce
from matchdg.experiments.paper import printed_table
from matchdg.experiments.reproduce import build_table, claim_folder, columns_of, printed_only
from matchdg.experiments.study import Column
from matchdg.training import read_result


@pytest.fixture
def outcome(study, quiet, tmp_path):
    return reproduce(study, tmp_path / "out", 1, quiet, "matchdg reproduce slab")


def test_the_table_on_disk_is_the_table(outcome):
    assert json.loads((outcome.out / "table.json").read_text()) == json.loads(json.dumps(outcome.table))


def test_values_are_percentages_over_seeds(outcome, study):
    row = outcome.table["rows"][0]
    accuracies = [
        100 * read_result(outcome.out, outcome.run("ERM", seed)).test["Target"]["accuracy"] for seed in study.seeds
    ]
    assert row["values"]["Target"]["mean"] == pytest.approx(statistics.fmean(accuracies))
    assert row["values"]["Target"]["std"] == pytest.approx(statistics.stdev(accuracies))
    assert row["values"]["Target"]["n"] == 2


def test_rows_carry_the_printed_numbers_and_the_rule(outcome):
    erm, perfmatch = outcome.table["rows"]
    assert outcome.table["columns"] == ["Source 1", "Source 2", "Target"]
    assert erm["paper"]["Target"]["mean"] == 57.6
    assert perfmatch["group"] == "object matching"
    assert perfmatch["selection"] == "source: accuracy"


def test_what_the_search_saw_is_kept(outcome):
    search = json.loads((outcome.out / "search.json").read_text())
    assert search["failed"] == []
    assert search["methods"]["ERM"] == {"chosen": {}, "seen": []}
    assert len(search["methods"]["PerfMatch"]["seen"]) == 2
    assert search["methods"]["PerfMatch"]["chosen"] == outcome.chosen["PerfMatch"]


def test_the_same_study_goes_on_in_its_folder(outcome, study, quiet):
    before = len(quiet.results)
    again = reproduce(study, outcome.out, 1, quiet, "matchdg reproduce slab")
    assert len(quiet.results) == before
    assert again.table["rows"] == outcome.table["rows"]


def test_the_folder_of_another_study_is_refused(outcome, study):
    with pytest.raises(InputError, match="belongs to another study"):
        claim_folder(replace(study, seeds=(0, 1, 2)), outcome.out)


@pytest.mark.parametrize("content", ["{", "[1]", "null"])
def test_a_damaged_or_foreign_claim_is_refused(study, tmp_path, content):
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(InputError, match="belongs to another study"):
        claim_folder(study, tmp_path)


def test_one_seed_has_no_deviation(study, quiet, tmp_path):
    outcome = reproduce(replace(study, seeds=(0,)), tmp_path, 1, quiet, "c")
    assert outcome.table["rows"][0]["values"]["Target"]["std"] is None


def test_a_failed_run_is_reported_and_the_table_is_of_the_others(study, arm, quiet, tmp_path):
    mmd = arm("mmd", "MMD", "unconditional matching", learning_rate=1e30, keep="loss")
    outcome = reproduce(replace(study, arms=(*study.arms, mmd)), tmp_path, 1, quiet, "c")
    assert len(outcome.table["failed"]) == 2
    assert outcome.table["rows"][-1]["values"] == {}
    assert outcome.table["rows"][0]["values"]["Target"]["n"] == 2


def test_a_point_of_the_search_that_diverges_is_out_and_noted_but_fails_nothing(study, arm, quiet, tmp_path):
    mmd = arm("mmd", "MMD", "unconditional matching", {"training.learning_rate": (0.05, 1e30)}, keep="loss")
    outcome = reproduce(replace(study, arms=(mmd,)), tmp_path, 1, quiet, "c")
    assert outcome.chosen["MMD"] == {"training.learning_rate": 0.05}
    assert outcome.table["failed"] == []
    assert "1 runs of the search diverged" in outcome.table["notes"][-1]
    assert len(json.loads((tmp_path / "search.json").read_text())["failed"]) == 1


def test_runs_are_shared_through_a_store(study, quiet, tmp_path):
    store = tmp_path / "store"
    first = reproduce(study, tmp_path / "one", 1, quiet, "c", store=store)
    before = len(quiet.results)
    again = reproduce(study, tmp_path / "two", 1, quiet, "c", store=store)
    assert len(quiet.results) == before
    assert again.table["rows"] == first.table["rows"]
    assert again.store == store
    assert not (tmp_path / "two" / "runs").exists()


@pytest.fixture
def results(result):
    """Results of a study's arms from accuracies on the target by (arm's name, seed); what is not there failed."""

    def build(study, values):
        runs = {(arm.name, seed): arm.run({}, seed) for arm in study.arms for seed in study.seeds}
        return {runs[key].hash: result(runs[key], {}, accuracy) for key, accuracy in values.items()}

    return build


@pytest.fixture
def angles(study, arm):
    """A row in two parts, left and right, their average beside them."""
    parts = [
        replace(arm(epochs=2 + place), task=task, columns={task: "target"})
        for place, task in enumerate(("left", "right"))
    ]
    columns = dict.fromkeys(("left", "right", "mean"), Column())
    return replace(study, arms=tuple(parts), columns=columns, averages={"mean": ("left", "right")})


def test_arms_of_one_label_and_group_share_a_row_and_averages_are_by_seed(angles, results, tmp_path):
    values = {("ERM [left]", 0): 0.5, ("ERM [right]", 0): 0.7, ("ERM [left]", 1): 0.9}
    chosen = {"ERM [left]": {}, "ERM [right]": {}}
    (row,) = build_table(angles, chosen, results(angles, values), tmp_path)["rows"]
    assert row["by_seed"] == {"left": {"0": 50.0, "1": 90.0}, "right": {"0": 70.0}, "mean": {"0": pytest.approx(60.0)}}
    assert row["values"]["left"] == {"mean": 70.0, "std": pytest.approx(20 * 2**0.5), "n": 2}
    assert row["values"]["mean"] == {"mean": pytest.approx(60.0), "std": None, "n": 1}
    assert row["paper"] is None


def test_hyper_parameters_are_told_by_task_where_they_differ(angles, tmp_path):
    chosen = {"ERM [left]": {"training.epochs": 2}, "ERM [right]": {"training.epochs": 3}}
    (row,) = build_table(angles, chosen, {}, tmp_path)["rows"]
    assert row["hyperparameters"] == {"left": {"training.epochs": 2}, "right": {"training.epochs": 3}}
    (row,) = build_table(angles, {name: {"training.epochs": 2} for name in chosen}, {}, tmp_path)["rows"]
    assert row["hyperparameters"] == {"training.epochs": 2}


def test_a_row_printed_for_another_group_shows_the_columns_that_it_has(study, arm, results, tmp_path):
    beside = replace(arm(group="more data"), printed_group="no invariance term", columns={"Target": "target"})
    alone = replace(study, arms=(beside,))
    (row,) = build_table(alone, {"ERM": {}}, results(alone, {("ERM", 0): 0.5}), tmp_path)["rows"]
    assert row["group"] == "more data"
    assert row["paper"] == {"Target": printed_table("slab")["rows"][0]["values"]["Target"]}


def test_columns_of_our_own_have_their_units(study, tmp_path):
    columns = {"Target": Column(), "rank": Column("rank", higher_is_better=False)}
    table = build_table(replace(study, columns=columns), {"ERM": {}, "PerfMatch": {}}, {}, tmp_path)
    assert table["unit"] == {"Target": "percent", "rank": "rank"}
    assert table["higher_is_better"] == {"Target": True, "rank": False}
    assert columns_of(study)["Target"] == Column("percent", higher_is_better=True)


def test_a_study_adds_what_only_it_has(study, tmp_path):
    def extend(table):
        table["notes"].append(f"{len(table['rows'])} rows")

    table = build_table(replace(study, extend=extend), {"ERM": {}, "PerfMatch": {}}, {}, tmp_path)
    assert table["notes"] == ["2 rows"]
    assert study.notes == ()


def test_printed_rows_that_are_not_run_are_shown_where_a_study_asks(study, quiet, tmp_path):
    few = replace(study, arms=study.arms[:1], seeds=(0,))
    rows = reproduce(replace(few, show_printed=True), tmp_path / "all", 1, quiet, "c").table["rows"]
    assert [row["method"] for row in rows] == [row["method"] for row in printed_table("slab")["rows"]]
    ours, *others = rows
    assert "origin" not in ours
    assert all(row["values"] == {} and row["selection"] is None and row["origin"] for row in others)
    assert others[-1]["paper"]["Target"]["mean"] == 77.8
    assert len(reproduce(few, tmp_path / "own", 1, quiet, "c").table["rows"]) == 1
    assert printed_only("slab", rows) == []
