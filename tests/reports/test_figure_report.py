import numpy as np
import pytest

from matchdg.experiments.figures import FIGURES
from matchdg.reports import figure_report, summary_lines, write_figure_report

ODD = "<script>alert('x')</script> \"q\" & 🐈"


def values(name, points, **rest):
    return {
        "figure": name,
        "title": "A title",
        "budget": "quick",
        "about_budget": "small",
        "points": points,
        "summary": {"columns": ["data", "penalty"], "rows": [["rotMNIST", 0.012345], ["rotFashionMNIST", None]]},
        "notes": ["A note."],
        "settings": {"seeds": [0, 1], "runs": {}},
        "command": "matchdg reproduce it",
        "versions": {"torch": "2.9"},
        "seconds": 41.2,
        "failed": [],
        **rest,
    }


def penalty(epoch, value, seed=0, objective="IRM", quantity="IRM penalty", data="rotMNIST"):
    kind = {"data": data, "penalty": "IRM penalty", "objective": objective, "quantity": quantity}
    return {**kind, "seed": seed, "epoch": epoch, "value": value}


def place(x, label, domain, kind="source", seed=0, data="rotMNIST"):
    return {"data": data, "seed": seed, "x": x, "y": -x, "class": label, "domain": domain, "kind": kind}


CURVES = values("penalty_curves", [penalty(epoch, 1 / epoch) for epoch in (1, 2)])
PLANE = values("tsne", [place(1.0, "7", "15"), place(2.0, "9", "30"), place(3.0, "7", "90", "target")])


PACS = values("tsne_pacs", [place(1.0, "dog", "cartoon"), place(2.0, "horse", "photo", "target")])


@pytest.fixture
def panels(monkeypatch):
    """Keep the panels that are plotted, and how many a row."""
    kept = []
    for name in ("plot_curves", "plot_scatter"):
        monkeypatch.setattr(figure_report, name, lambda shown, per_row, path: kept.append((shown, per_row)))
    return kept


def draw(found, tmp_path):
    figure_report.DRAWINGS[found["figure"]][1](found, tmp_path / "f.png")


def test_every_figure_has_its_drawing():
    assert list(figure_report.DRAWINGS) == list(FIGURES)


@pytest.mark.parametrize("found", [CURVES, PLANE, PACS])
def test_a_figure_is_drawn_and_its_page_tells_everything(found, tmp_path, parse):
    report = write_figure_report(found, tmp_path)
    name = found["figure"]
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.png", f"{name}.svg", "report.html"}
    assert (report.page, report.title) == (tmp_path / "report.html", "A title")
    assert [(title, path.name) for title, path, _ in report.figures] == [("A title", f"{name}.png")]
    page = parse(report.page.read_text())
    page.check()
    assert page.all("img")[0]["src"].startswith("data:image/png;base64,")
    assert report.summary[0] in page.text
    for part in ("quick: small", "0, 1", f"{name}.csv", "0.0123", "–", "A note.", "matchdg reproduce it", "torch 2.9"):
        assert part in page.text
    assert "Failed" not in page.text


def test_where_every_run_failed_the_page_says_so_and_has_no_figure(tmp_path, parse):
    failed = [{"run": "3f2a", "message": "the loss is NaN"}]
    report = write_figure_report(values("tsne", [], failed=failed, summary={"columns": ["data"], "rows": []}), tmp_path)
    page = parse(report.page.read_text())
    page.check()
    assert report.figures == page.all("img") == []
    assert "run = 3f2a; message = the loss is NaN" in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_odd_text_is_shown_and_never_run(tmp_path, parse):
    odd = {
        "title": ODD,
        "budget": ODD,
        "about_budget": ODD,
        "notes": [ODD],
        "command": ODD,
        "versions": {ODD: ODD},
        "failed": [{ODD: ODD}],
        "summary": {"columns": [ODD], "rows": [[ODD]]},
        "settings": {"seeds": [0], ODD: ODD},
    }
    report = write_figure_report(values("tsne", PLANE["points"], **odd), tmp_path)
    page = parse(report.page.read_text())
    assert not page.all("script")
    assert page.text.count(ODD) > 12
    assert ODD in page.all("img")[0]["alt"]


def test_the_terminal_has_a_line_for_each_row():
    assert summary_lines(CURVES) == ["data: rotMNIST; penalty: 0.0123", "data: rotFashionMNIST; penalty: –"]


def test_curves_have_a_panel_for_each_quantity_and_a_line_for_each_seed(panels, tmp_path):
    points = [penalty(2, 0.2, 1), penalty(1, 0.5, 0), penalty(2, 0.25, 0), penalty(2, None, 0, "ERM")]
    loss = penalty(1, 2.0, quantity="training loss")
    draw(values("penalty_curves", [*points, loss, penalty(1, 9.0, data="other")]), tmp_path)
    ((shown, per_row),) = panels
    titles = ["rotMNIST: IRM penalty", "rotMNIST: training loss", "other: IRM penalty"]
    assert [panel.title for panel in shown] == titles
    assert (per_row, {panel.scale for panel in shown}) == (4, {"log"})
    irm, erm = shown[0].curves
    assert (irm.label, irm.epochs.tolist()) == ("IRM", [1, 2])
    np.testing.assert_array_equal(irm.values, [[0.5, 0.25], [np.nan, 0.2]])
    np.testing.assert_array_equal(erm.values, [[np.nan]])
    assert shown[1].curves[0].values.tolist() == [[2.0]]


def test_the_plane_is_shown_by_class_and_by_angle(panels, tmp_path):
    points = [
        place(1.0, "10", "30"),
        place(2.0, "coat", "15"),
        place(3.0, "9", "15"),
        place(4.0, "9", "90", "target"),
    ]
    draw(values("tsne", points), tmp_path)
    ((shown, per_row),) = panels
    by_class, by_angle = shown
    assert per_row == 2
    assert by_class.points.tolist() == [[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]]
    assert (by_class.names, by_class.order, tuple(by_class.marked)) == (["10", "coat", "9"], ["9", "10", "coat"], ())
    assert (by_angle.names, by_angle.order) == (["30", "15", "15", "90"], ["30", "15", "90"])
    assert by_angle.marked == ["90"]


def test_of_each_data_set_the_first_seed_that_finished_is_shown(panels, tmp_path):
    seeds = [place(1.0, "7", "15", seed=1), place(2.0, "7", "15", seed=0)]
    draw(values("tsne", [*seeds, place(3.0, "7", "15", seed=1, data="other")]), tmp_path)
    ((shown, _),) = panels
    assert [panel.points[:, 0].tolist() for panel in shown] == [[2.0], [2.0], [3.0], [3.0]]


@pytest.mark.parametrize(("found", "palette"), [(PLANE, "viridis"), (PACS, "tab10")])
def test_domains_have_colours_in_an_order_where_they_are_angles(found, palette, panels, tmp_path):
    draw(found, tmp_path)
    ((shown, _),) = panels
    assert [panel.palette for panel in shown] == ["tab10", palette]
