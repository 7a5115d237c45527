import warnings

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.reports import curves
from matchdg.reports.curves import Curve, CurvePanel, plot_curves

EPOCHS = np.array([1, 2, 3])


def curve(label="ERM", values=((1.0, 3.0, 5.0), (3.0, 5.0, 9.0))):
    return Curve(label, EPOCHS, np.array(values))


def panel(*shown, title="t", scale="linear"):
    return CurvePanel(title, "loss", shown or (curve(),), scale)


def test_a_line_is_the_mean_over_seeds_and_its_band_their_range(drawn, tmp_path):
    figures = drawn(curves)
    plot_curves([panel()], 1, tmp_path / "c.png")
    (axis,) = figures[0].axes
    (line,) = axis.lines
    assert line.get_xydata().tolist() == [[1, 2], [2, 4], [3, 7]]
    (band,) = axis.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert corners == {(1, 1), (2, 3), (3, 5), (1, 3), (2, 5), (3, 9)}
    assert (axis.get_title(), axis.get_xlabel(), axis.get_ylabel()) == ("t", "epoch", "loss")


def test_one_seed_has_no_band(drawn, tmp_path):
    figures = drawn(curves)
    plot_curves([panel(curve(values=[[1.0, 2.0, 3.0]]))], 1, tmp_path / "c.png")
    assert len(figures[0].axes[0].lines) == 1
    assert len(figures[0].axes[0].collections) == 0


def test_what_a_seed_lacks_is_left_out_of_the_mean_and_a_gap_where_all_do(drawn, tmp_path):
    figures = drawn(curves)
    gaps = curve(values=[[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_curves([panel(gaps, scale="log")], 1, tmp_path / "c.png")
    assert figures[0].axes[0].lines[0].get_ydata().tolist() == [2.0, 5.0, None]


def test_a_label_looks_the_same_in_all_panels(drawn, tmp_path):
    figures = drawn(curves)
    plot_curves([panel(curve("a"), curve("b")), panel(curve("b"), curve("c"))], 2, tmp_path / "c.png")
    looks = [
        {line.get_label(): (line.get_color(), line.get_linestyle(), line.get_marker()) for line in axis.lines}
        for axis in figures[0].axes
    ]
    assert looks[0]["b"] == looks[1]["b"]
    assert len({*looks[0].values(), *looks[1].values()}) == 3


def test_the_grid_has_so_many_a_row_and_hides_what_is_over(drawn, tmp_path):
    figures = drawn(curves)
    plot_curves([panel(title="1"), panel(title="2", scale="log"), panel(title="3")], 2, tmp_path / "c.png")
    axes = figures[0].axes
    assert [axis.get_visible() for axis in axes] == [True, True, True, False]
    assert [axis.get_title() for axis in axes] == ["1", "2", "3", ""]
    assert [axis.get_yscale() for axis in axes[:2]] == ["linear", "log"]
    assert axes[0].get_ylim()[0] == 0


def test_equal_panels_give_an_equal_png_and_svg(tmp_path):
    for name in ("a", "b"):
        plot_curves([panel(title="$x_ <b>")], 1, tmp_path / name / "c.png")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["c.png", "c.svg"]
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert "<!-- ERM -->" in (tmp_path / "a" / "c.svg").read_text()


def test_no_panels_or_another_suffix_are_errors_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        plot_curves([], 1, tmp_path / "c.png")
    with pytest.raises(InputError, match=r"c\.pdf"):
        plot_curves([panel()], 1, tmp_path / "c.pdf")
    assert not list(tmp_path.iterdir())
