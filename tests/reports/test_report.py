import io
from dataclasses import replace

import pytest

from matchdg.experiments import Arm, Study, reproduce
from matchdg.reports import write_report
from matchdg.reports.progress import StudyLines
from matchdg.reports.report import best_method


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    def arm(method, label, group):
        base = {
            "dataset": {"name": "slab", "train_per_domain": 40, "validation_per_domain": 20, "test_per_domain": 30},
            "network": {"name": "slab", "width": 6},
            "method": method,
            "training": {"epochs": 2, "batch_rows": 16, "learning_rate": 0.05},
        }
        return Arm(label, group, base, oracle=method == "perfmatch")

    arms = (
        arm("erm", "ERM", "no invariance term"),
        arm("mmd", "MMD", "unconditional matching"),
        arm("c-mmd", "C-MMD", "class-conditional matching"),
        arm("perfmatch", "PerfMatch", "object matching"),
    )
    study = Study("slab", "Slab data", "quick", arms, seeds=(0, 1))
    out = tmp_path_factory.mktemp("study")
    return reproduce(study, out, 1, StudyLines(io.StringIO()), "matchdg reproduce slab")


def test_the_report_holds_table_figures_and_command(outcome):
    report = write_report(outcome)
    text = report.page.read_text()
    assert report.page == outcome.out / "report.html"
    assert report.title == "Slab data"
    assert all(sentence in text for sentence in report.summary)
    assert [(title, path.name) for title, path, _ in report.figures] == [("Decision regions", "regions.png")]
    assert "data:image/png;base64" in text
    assert "matchdg reproduce slab" in text
    assert (outcome.out / "regions.png").exists()
    assert (outcome.out / "regions.svg").exists()
    assert "| PerfMatch" in (outcome.out / "table.md").read_text()


def test_the_figure_names_erm_the_best_distribution_matching_method_and_perfmatch(outcome):
    write_report(outcome)
    best = best_method(outcome.table, ("unconditional matching", "class-conditional matching"))
    svg = (outcome.out / "regions.svg").read_text()
    for label in ("ERM", best, "PerfMatch"):
        assert f"<!-- {label} -->" in svg


def test_a_report_without_weights_has_no_figure(outcome, tmp_path):
    elsewhere = replace(outcome, out=tmp_path, store=tmp_path)
    report = write_report(elsewhere)
    assert report.figures == []
    assert "data:image/png" not in report.page.read_text()


def test_the_best_method_is_by_the_target_column(outcome):
    rows = [
        {"method": "a", "group": "g", "values": {"Target": {"mean": 50.0}, "Source 1": {"mean": 99.0}}},
        {"method": "b", "group": "g", "values": {"Target": {"mean": 60.0}, "Source 1": {"mean": 90.0}}},
        {"method": "c", "group": "other", "values": {"Target": {"mean": 90.0}}},
    ]
    table = {"columns": ["Source 1", "Target"], "rows": rows}
    assert best_method(table, ("g",)) == "b"
    assert best_method(table, ("absent",)) is None
