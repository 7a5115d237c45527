import subprocess
import sys
import warnings

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.reports import Panel, plot_regions

POINTS = np.random.default_rng(0).uniform(-1, 1, (40, 2))
LABELS = (POINTS[:, 1] > 0).astype(int)


def by_slab(inputs):
    return 1 / (1 + np.exp(-8 * inputs[:, 1]))


def panel(title="ERM", probability=by_slab, points=POINTS, labels=LABELS, caption="target accuracy 57.6 %"):
    return Panel(title, probability, points, labels, caption)


def test_a_png_and_an_svg_are_written_and_equal_panels_give_equal_files(tmp_path):
    for name in ("a", "b"):
        plot_regions([panel()], tmp_path / name / "regions.v1.png")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["regions.v1.png", "regions.v1.svg"]
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    svg = (tmp_path / "a" / "regions.v1.svg").read_text()
    assert "<dc:date>" not in svg
    assert "x1 (linear)" in svg
    assert "target accuracy 57.6 %" in svg
    assert (tmp_path / "a" / "regions.v1.png").read_bytes().startswith(b"\x89PNG")


def test_the_grid_covers_the_square_and_every_point_in_float32(tmp_path):
    seen = []

    def remembered(inputs):
        seen.append(inputs)
        return np.full(len(inputs), 0.25)

    far = np.array([[2.0, 0.0], [0.0, -3.0]])
    plot_regions([panel(probability=remembered, points=far, labels=np.array([0, 1]))], tmp_path / "r.png")
    assert seen[0].dtype == np.float32
    assert (seen[0].min(axis=0) <= [-1, -3]).all()
    assert (seen[0].max(axis=0) >= [2, 1]).all()


def test_odd_titles_no_points_a_certain_classifier_and_a_user_style_are_no_trouble(tmp_path):
    import matplotlib

    none = panel("$x_ <b>", lambda inputs: np.zeros(len(inputs)), np.empty((0, 2)), np.empty(0), "")
    with warnings.catch_warnings(), matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30}):
        warnings.simplefilter("error")
        plot_regions([none, panel()], tmp_path / "a.png")
        assert matplotlib.rcParams["font.size"] == 30
    plot_regions([none, panel()], tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"points": POINTS[:, :1]}, r"points of shape \(40, 1\)"),
        ({"labels": LABELS[:3]}, r"labels of shape \(3,\)"),
        ({"labels": LABELS + 1}, "labels that are 0 or 1"),
        ({"points": POINTS * np.nan}, "finite"),
        ({"probability": lambda inputs: inputs}, "gave shape"),
        ({"probability": lambda inputs: inputs[:, 0] * 9}, r"outside \[0, 1\]"),
        ({"probability": lambda inputs: inputs[:, 0] * np.nan}, "NaN"),
    ],
)
def test_arrays_that_do_not_fit_are_named_and_nothing_is_written(tmp_path, wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        plot_regions([panel("Odd one", **wrong)], tmp_path / "r.png")
    assert "Odd one" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_no_panels_or_another_suffix_are_errors(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        plot_regions([], tmp_path / "r.png")
    with pytest.raises(InputError, match=r"r\.pdf"):
        plot_regions([panel()], tmp_path / "r.pdf")


def test_importing_the_room_is_cheap_and_plotting_leaves_pyplot_alone(tmp_path):
    code = """
import sys
import matchdg.reports
heavy = {"torch", "matplotlib", "jinja2", "rich", "numpy", "pandas"} & set(sys.modules)
assert not heavy, heavy
import numpy as np
from pathlib import Path
flat = matchdg.reports.Panel("t", lambda x: np.zeros(len(x)), np.zeros((1, 2)), np.zeros(1), "")
matchdg.reports.plot_regions([flat], Path(sys.argv[1]))
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "r.png")], check=True, timeout=60)


def test_four_panels_take_a_second_row(tmp_path):
    from PIL import Image

    plot_regions([panel()] * 4, tmp_path / "r.png")
    with Image.open(tmp_path / "r.png") as image:
        width, height = image.size
    assert 0.5 < height / width < 1
