import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.reports import gallery
from matchdg.reports.drawing import BLUE, ORANGE
from matchdg.reports.gallery import Matches, plot_gallery

IMAGES = np.linspace(0, 1, 2 * 3 * 4 * 4).reshape(2, 3, 4, 4)
WRONG = np.array([[False, True, False], [False, False, False]])
ANCHORS = np.array([0, 2])
ROWS, COLUMNS = ("seven", "nine"), ("15°", "30°", "45°")


def matches(title="MatchDG", images=IMAGES, wrong=WRONG, anchors=ANCHORS):
    return Matches(title, images, wrong, anchors)


def test_a_row_is_an_anchor_with_its_matches_at_each_angle(drawn, tmp_path):
    figures = drawn(gallery)
    plot_gallery([matches()], ROWS, COLUMNS, tmp_path / "g.png")
    (axis,) = figures[0].axes
    assert np.array_equal([image.get_array() for image in axis.images], IMAGES.reshape(6, 4, 4))
    assert [text.get_text() for text in axis.get_xticklabels()] == list(COLUMNS)
    assert [text.get_text() for text in axis.get_yticklabels()] == list(ROWS)
    # Rows from the top down, and white to black whatever the images hold.
    assert axis.get_ylim() == (2, 0)
    assert {image.get_clim() for image in axis.images} == {(0, 1)}


def test_anchors_are_blue_and_wrong_matches_orange_with_a_cross(drawn, tmp_path):
    from matplotlib.colors import to_hex

    figures = drawn(gallery)
    plot_gallery([matches()], ROWS, COLUMNS, tmp_path / "g.png")
    (axis,) = figures[0].axes
    frames = [to_hex(frame.get_edgecolor()).upper() for frame in axis.patches]
    grey = frames[2]
    assert frames == [BLUE, ORANGE, grey, grey, grey, BLUE]
    (cross,) = axis.lines
    assert 1 < cross.get_xdata()[0] < 2
    assert 0 < cross.get_ydata()[0] < 1
    widths = [frame.get_linewidth() for frame in axis.patches]
    assert widths[1] > widths[0] > widths[2]


def test_tables_stand_side_by_side_under_their_titles(drawn, tmp_path):
    figures = drawn(gallery)
    plot_gallery([matches(), matches("$x_ <b>")], ROWS, COLUMNS, tmp_path / "g.png")
    left, right = figures[0].axes
    assert [left.get_title(), right.get_title()] == ["MatchDG", "$x_ <b>"]
    assert left.get_position().x1 < right.get_position().x0
    labels = [text.get_text() for text in figures[0].legends[0].get_texts()]
    assert labels == ["anchor", "match, the same object", "match, another object"]


def test_equal_panels_give_an_equal_png_and_nothing_else(tmp_path):
    for name in ("a", "b"):
        plot_gallery([matches(), matches("$x_ <b>")], ROWS, COLUMNS, tmp_path / name / "g.png")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["g.png"]
    assert (tmp_path / "a" / "g.png").read_bytes() == (tmp_path / "b" / "g.png").read_bytes()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"images": IMAGES[0]}, r"images of shape \(3, 4, 4\), expected \(2, 3, height, width\)"),
        ({"images": IMAGES[:, :2]}, r"images of shape \(2, 2, 4, 4\)"),
        ({"wrong": WRONG[:1]}, r"marks of shape \(1, 3\)"),
        ({"anchors": ANCHORS[:1]}, r"anchors of shape \(1,\)"),
    ],
)
def test_arrays_that_do_not_fit_are_named_and_nothing_is_written(tmp_path, wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        plot_gallery([matches(), matches("Odd one", **wrong)], ROWS, COLUMNS, tmp_path / "g.png")
    assert "Odd one" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_no_panels_no_rows_or_another_suffix_are_errors(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        plot_gallery([], ROWS, COLUMNS, tmp_path / "g.png")
    with pytest.raises(InputError, match=r"expected \(0, 3, height, width\)"):
        plot_gallery(
            [matches(images=IMAGES[:0], wrong=WRONG[:0], anchors=ANCHORS[:0])], (), COLUMNS, tmp_path / "g.png"
        )
    with pytest.raises(InputError, match=r"g\.pdf"):
        plot_gallery([matches()], ROWS, COLUMNS, tmp_path / "g.pdf")
