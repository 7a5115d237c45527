import json
from dataclasses import replace

import pytest

from matchdg.experiments import tables
from matchdg.experiments.study import override
from matchdg.experiments.tables.slab import slab

SMALL = {
    "dataset": {"name": "slab", "train_per_domain": 40, "validation_per_domain": 20, "test_per_domain": 30},
    "training.epochs": 2,
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The slab table on few points, two epochs and two methods; everything else as it is."""

    def study(budget, rule):
        whole = slab(budget, rule)
        arms = [replace(arm, base=override(arm.base, SMALL)) for arm in whole.arms if arm.label in ("ERM", "PerfMatch")]
        return replace(whole, arms=tuple(arms), search_seeds=whole.search_seeds[:1])

    monkeypatch.setitem(tables.STUDIES, "slab", study)


def test_quick_budget_writes_table_report_and_figure(matchdg, tmp_path):
    ran = matchdg("reproduce", "slab", "--jobs", 1, "--out", "demo")
    assert ran.code == 0, ran.err
    assert "PerfMatch" in ran.out
    assert "57.6" in ran.out
    assert ran.out.strip().endswith("report.html")
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "study.json",
        "search.json",
        "table.json",
        "table.md",
        "regions.png",
        "regions.svg",
        "report.html",
        "runs",
    }
    table = json.loads((tmp_path / "demo" / "table.json").read_text())
    assert table["command"] == "matchdg reproduce slab --budget quick"
    assert table["rows"][0]["values"]["Target"]["n"] == 3


def test_paper_budget_searches(matchdg, tmp_path):
    ran = matchdg("reproduce", "slab", "--budget", "paper", "--seeds", 2, "--jobs", 1, "--out", "paper")
    assert ran.code == 0, ran.err
    search = json.loads((tmp_path / "paper" / "search.json").read_text())
    assert len(search["methods"]["PerfMatch"]["seen"]) == 18
    table = json.loads((tmp_path / "paper" / "table.json").read_text())
    assert table["settings"]["seeds"] == [0, 1]
    assert "--seeds 2" in table["command"]


def test_again_finds_everything_finished(matchdg):
    matchdg("reproduce", "slab", "--jobs", 1, "--out", "demo")
    ran = matchdg("reproduce", "slab", "--jobs", 1, "--out", "demo")
    assert "6 runs, 6 of them finished before" in ran.err


def test_json(matchdg):
    table = json.loads(matchdg("reproduce", "slab", "--seeds", 1, "--jobs", 1, "--json").out)
    assert table["table"] == "slab"
    assert [row["method"] for row in table["rows"]] == ["ERM", "PerfMatch"]


def test_target_selection_is_labelled_in_every_row(matchdg, tmp_path):
    ran = matchdg("reproduce", "slab", "--seeds", 1, "--jobs", 1, "--selection", "target", "--out", "leak")
    assert ran.code == 0, ran.err
    assert "selected on target" in ran.out
    assert "selected on target" in (tmp_path / "leak" / "table.md").read_text()
    table = json.loads((tmp_path / "leak" / "table.json").read_text())
    assert {row["selection"] for row in table["rows"]} == {"target: accuracy"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["slabb"], "unknown table 'slabb'; did you mean 'slab'?"),
        (["pacs_full"], "cannot be reproduced yet"),
        (["slab", "--seeds", "0"], "--seeds is 0"),
        (["slab", "--jobs", "0"], "--jobs is 0"),
        (["slab", "--budget", "papr"], "papr"),
    ],
)
def test_bad_input(matchdg, arguments, message):
    ran = matchdg("reproduce", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_the_folder_of_another_study_is_refused_and_left_alone(matchdg, tmp_path):
    matchdg("reproduce", "slab", "--seeds", 1, "--jobs", 1, "--out", "demo")
    before = (tmp_path / "demo" / "table.json").read_text()
    ran = matchdg("reproduce", "slab", "--seeds", 2, "--jobs", 1, "--out", "demo")
    assert ran.code == 2
    assert "belongs to another study" in ran.err
    assert (tmp_path / "demo" / "table.json").read_text() == before


def test_a_failed_run_ends_with_1_and_is_named(matchdg, monkeypatch):
    from matchdg.core.errors import InputError
    from matchdg.experiments import runner

    real = runner.execute

    def sometimes(run, *args, **kwargs):
        if run.seed == 1 and run.method == "erm":
            raise InputError("boom")
        return real(run, *args, **kwargs)

    monkeypatch.setattr(runner, "execute", sometimes)
    ran = matchdg("reproduce", "slab", "--jobs", 1, "--out", "demo")
    assert ran.code == 1
    assert "boom" in ran.err + ran.out
