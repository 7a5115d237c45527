import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from matchdg.experiments import figures, tables
from matchdg.experiments.figures.tsne import tsne
from matchdg.experiments.study import override
from matchdg.experiments.tables.rotated_digits import rotated_digits
from matchdg.experiments.tables.slab import slab

SMALL = {
    "dataset": {"name": "slab", "train_per_domain": 40, "validation_per_domain": 20, "test_per_domain": 30},
    "training.epochs": 2,
}


@pytest.fixture(autouse=True)
def small(monkeypatch, shrunk):
    """The slab table on few points, two epochs and two methods, the digits in small; everything else as it is."""

    def study(budget, rule):
        whole = slab(budget, rule)
        arms = [replace(arm, base=override(arm.base, SMALL)) for arm in whole.arms if arm.label in ("ERM", "PerfMatch")]
        return replace(whole, arms=tuple(arms), search_seeds=whole.search_seeds[:1])

    def plane(budget):
        whole = tsne(budget)
        return replace(whole, study=shrunk(whole.study))

    monkeypatch.setitem(tables.STUDIES, "slab", study)
    monkeypatch.setitem(tables.STUDIES, "rotated_digits", lambda *given: shrunk(rotated_digits(*given)))
    monkeypatch.setitem(figures.FIGURES, "tsne", plane)


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


def test_a_figure_leaves_numbers_drawing_and_report(matchdg, tmp_path):
    ran = matchdg("reproduce", "tsne", "--jobs", 1, "--out", "figure")
    assert ran.code == 0, ran.err
    assert "data: rotMNIST; seed: 0; inputs: source; same class, %:" in ran.out
    assert ran.out.strip().endswith("report.html")
    folder = tmp_path / "figure"
    names = {"study.json", "tsne.json", "tsne.csv", "tsne.png", "tsne.svg", "report.html", "runs"}
    assert {path.name for path in folder.iterdir()} == names
    assert json.loads((folder / "tsne.json").read_text())["command"] == "matchdg reproduce tsne --budget quick"


def test_several_have_a_folder_each_and_a_page_that_leads_to_all(matchdg, tmp_path):
    ran = matchdg("reproduce", "rotated_digits", "tsne", "--seeds", 1, "--jobs", 1)
    assert ran.code == 0, ran.err
    folder = tmp_path / "matchdg-out" / "rotated_digits+tsne-quick"
    page = (folder / "report.html").read_text()
    assert ran.out.strip().endswith(str(folder / "report.html"))
    for name in ("rotated_digits", "tsne"):
        assert f'href="{name}/report.html"' in page
        assert (folder / name / "report.html").exists()
    assert (folder / "rotated_digits" / "matches.png").exists()


def test_several_as_json_are_by_name(matchdg):
    found = json.loads(matchdg("reproduce", "rotated_digits", "tsne", "--seeds", 1, "--jobs", 1, "--json").out)
    assert [row["method"] for row in found["rotated_digits"]["rows"]] == ["ERM", "RandMatch", "MatchDG", "PerfMatch"]
    assert found["tsne"]["figure"] == "tsne"


def test_runs_in_a_store_are_shared(matchdg, tmp_path):
    arguments = ("slab", "--seeds", 1, "--jobs", 1, "--store", "store")
    matchdg("reproduce", *arguments, "--out", "one")
    ran = matchdg("reproduce", *arguments, "--out", "two")
    assert "2 runs, 2 of them finished before" in ran.err
    assert not (tmp_path / "two" / "runs").exists()
    assert len(list((tmp_path / "store" / "runs").iterdir())) == 2


def test_a_table_can_be_shown_as_far_as_it_is(matchdg, tmp_path):
    matchdg("reproduce", "slab", "--seeds", 1, "--jobs", 1, "--store", "store", "--out", "one")
    ran = matchdg("reproduce", "slab", "--seeds", 2, "--store", "store", "--out", "two", "--finished")
    assert ran.code == 0, ran.err
    table = json.loads((tmp_path / "two" / "table.json").read_text())
    assert {row["values"]["Target"]["n"] for row in table["rows"]} == {1}
    assert table["notes"][-1] == "Not complete: 2 of 4 runs are finished."
    assert len(list((tmp_path / "store" / "runs").iterdir())) == 2


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
        (["pacs_fulll"], "did you mean 'pacs_full'?"),
        (["slab", "--hparams", "paper"], "the paper prints no hyper-parameters for the rows of slab"),
        (["tsne", "--hparams", "paper"], "nothing is searched for the figure 'tsne'"),
        (["pacs_resnet18", "--hparams", "printed"], "printed"),
        (["slab", "--seeds", "0"], "--seeds is 0"),
        (["slab", "--jobs", "0"], "--jobs is 0"),
        (["slab", "--budget", "papr"], "papr"),
        (["slab", "tsn"], "did you mean 'tsne'?"),
        (["tsne", "--finished"], "--finished shows tables"),
        (["tsne", "--selection", "target"], "nothing is selected for the figure 'tsne'"),
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


def test_a_figure_whose_runs_fail_ends_with_1_and_names_them(matchdg, monkeypatch, tmp_path):
    from matchdg.core.errors import InputError
    from matchdg.experiments import runner

    def never(run, *args):
        raise InputError("boom")

    monkeypatch.setattr(runner, "execute", never)
    ran = matchdg("reproduce", "tsne", "--jobs", 1, "--out", "figure")
    assert ran.code == 1
    assert "; message = boom" in ran.out
    assert "message = boom" in (tmp_path / "figure" / "report.html").read_text()


def test_an_interrupt_ends_all_processes_says_so_and_keeps_what_is_finished(tmp_path):
    """A real one, as a terminal sends it: to the command and to the processes that it started."""
    command = [sys.executable, "-m", "matchdg", "reproduce", "slab", "--jobs", "2", "--out", "demo"]
    said = tmp_path / "said"
    with said.open("w") as stream:
        process = subprocess.Popen(command, cwd=tmp_path, stderr=stream, start_new_session=True)
        try:
            until = time.monotonic() + 120
            while not list(tmp_path.glob("demo/runs/*/result.json")):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=60) == 130
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert "interrupted: what was finished is kept; the same command goes on from there" in said.read_text()
    assert "Traceback" not in said.read_text()
    for result in tmp_path.glob("demo/runs/*/result.json"):
        assert json.loads(result.read_text())["run"] == result.parent.name
