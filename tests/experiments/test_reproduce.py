import json
import statistics
from dataclasses import replace

import pytest

from matchdg.core.errors import InputError
from matchdg.experiments import reproduce
from matchdg.experiments.reproduce import claim_folder
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


def test_a_damaged_claim_is_refused(study, tmp_path):
    (tmp_path / "study.json").write_text("{")
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


def test_a_point_of_the_search_that_fails_is_out_and_noted_but_fails_nothing(study, arm, quiet, tmp_path):
    mmd = arm("mmd", "MMD", "unconditional matching", {"training.learning_rate": (0.05, 1e30)}, keep="loss")
    outcome = reproduce(replace(study, arms=(mmd,)), tmp_path, 1, quiet, "c")
    assert outcome.chosen["MMD"] == {"training.learning_rate": 0.05}
    assert outcome.table["failed"] == []
    assert "1 runs of the search failed" in outcome.table["notes"][-1]
    assert len(json.loads((tmp_path / "search.json").read_text())["failed"]) == 1
