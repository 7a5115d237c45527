import io
import shutil
from dataclasses import replace

import pytest
import torch

from matchdg.data import DomainDataset
from matchdg.experiments import STUDIES, Arm, Study, reproduce
from matchdg.matching import MatchTable
from matchdg.reports import report as module
from matchdg.reports import write_report
from matchdg.reports.progress import StudyLines
from matchdg.reports.report import best_method, match_gallery
from matchdg.training import run_folder


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


@pytest.fixture(scope="module")
def digits(tmp_path_factory, shrunk):
    """The rotated digits in small, one seed."""
    study = replace(shrunk(STUDIES["rotated_digits"]("quick", "source")), seeds=(0,))
    return reproduce(study, tmp_path_factory.mktemp("digits"), 1, StudyLines(io.StringIO()), "c")


def test_the_report_of_the_digits_shows_matches(digits):
    report = write_report(digits)
    assert [(title, path.name) for title, path, _ in report.figures] == [("Matched digits", "matches.png")]
    assert (digits.out / "matches.png").read_bytes().startswith(b"\x89PNG")
    assert "Matched digits" in report.page.read_text()


def test_matches_are_those_of_the_first_anchor_of_each_class():
    # Class 0 starts from domain a, class 1 from domain b, which has two of it; the first of those is matched wrongly.
    images = torch.arange(5.0).view(5, 1, 1, 1)
    data = DomainDataset.from_arrays(images, [0, 1, 0, 1, 1], ["a", "a", "b", "b", "b"], objects=[0, 2, 0, 1, 2])
    table = MatchTable(torch.tensor([[0, 2], [1, 3], [1, 4]]), torch.tensor([0, 1, 1]))
    shown = module._matches("RandMatch", table, data)
    assert shown.images[:, :, 0, 0].tolist() == [[0, 2], [1, 3]]
    assert shown.wrong.tolist() == [[False, False], [True, False]]
    assert shown.anchors.tolist() == [0, 1]
    assert shown.title == "RandMatch: random within the class\n67 % of all pairs are the same digit"


def test_learnt_matches_stand_beside_random_ones_with_their_classes_and_angles(digits, monkeypatch):
    kept = []
    monkeypatch.setattr(module, "plot_gallery", lambda *given: kept.append(given))
    match_gallery(digits)
    ((panels, classes, angles, _),) = kept
    assert [panel.title.split(":")[0] for panel in panels] == ["MatchDG", "RandMatch"]
    train = digits.run("MatchDG", 0).dataset.build(0).train
    assert classes == [train.class_names[label] for label in train.labels.unique()]
    assert angles == ["15°", "30°"]


def test_methods_without_a_finished_run_have_no_matches_to_show(digits, monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr(module, "plot_gallery", lambda panels, *rest: shown.extend(panel.title for panel in panels))
    some = replace(digits, store=tmp_path / "some")
    shutil.copytree(digits.store, some.store)
    (run_folder(some.store, some.run("MatchDG", 0)) / "result.json").unlink()
    match_gallery(some)
    assert [title.split(":")[0] for title in shown] == ["RandMatch"]
    assert match_gallery(replace(digits, store=tmp_path / "none")) == []
