import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.reports import scatter
from matchdg.reports.scatter import ScatterPanel, plot_scatter

POINTS = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])


def panel(title="t", points=POINTS, names=("a", "b", "a", "c"), order=("a", "b", "c"), **rest):
    return ScatterPanel(title, points, names, order, **rest)


def looks(axis):
    """Places, colour and corners of the marker, by name."""
    return {
        group.get_label(): (
            group.get_offsets().tolist(),
            tuple(group.get_facecolors()[0]),
            len(group.get_paths()[0].vertices),
        )
        for group in axis.collections
    }


def test_points_are_grouped_by_name_in_the_order_of_the_legend(drawn, tmp_path):
    figures = drawn(scatter)
    plot_scatter([panel(order=("c", "a", "b"))], 1, tmp_path / "s.png")
    (axis,) = figures[0].axes
    found = looks(axis)
    assert {name: places for name, (places, *_) in found.items()} == {
        "c": [[6.0, 7.0]],
        "a": [[0.0, 1.0], [4.0, 5.0]],
        "b": [[2.0, 3.0]],
    }
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["c", "a", "b"]
    assert len({colour for _, colour, _ in found.values()}) == 3


def test_marked_names_have_triangles_and_colours_of_their_own(drawn, tmp_path):
    figures = drawn(scatter)
    plot_scatter([panel(), panel(marked=("c",))], 2, tmp_path / "s.png")
    plain, marked = (looks(axis) for axis in figures[0].axes)
    assert plain["a"][1] == marked["a"][1]
    assert plain["c"][1] != marked["c"][1]
    triangle, circle = marked["c"][2], marked["a"][2]
    assert triangle < circle == plain["c"][2]


def test_a_palette_for_ordered_names_is_passed_through_from_end_to_end(drawn, tmp_path):
    from matplotlib import colormaps

    figures = drawn(scatter)
    plot_scatter(
        [panel(palette="viridis"), panel(names=["a"] * 4, order=["a"], palette="viridis")], 2, tmp_path / "s.png"
    )
    three, one = ({name: look[1][:3] for name, look in looks(axis).items()} for axis in figures[0].axes)
    wheel = colormaps["viridis"]
    expected = {"a": wheel(0.0)[:3], "b": wheel(0.45)[:3], "c": wheel(0.9)[:3]}
    assert three == {name: pytest.approx(colour) for name, colour in expected.items()}
    assert one["a"] == pytest.approx(wheel(0.0)[:3])


def test_more_names_than_colours_begin_anew(drawn, tmp_path):
    figures = drawn(scatter)
    names = [str(number) for number in range(11)]
    plot_scatter([panel(points=np.zeros((11, 2)), names=names, order=names)], 1, tmp_path / "s.png")
    found = looks(figures[0].axes[0])
    assert found["0"][1] == found["10"][1] != found["1"][1]


def test_panels_over_are_hidden(drawn, tmp_path):
    figures = drawn(scatter)
    plot_scatter([panel(), panel("$x_"), panel()], 2, tmp_path / "s.png")
    assert [axis.get_visible() for axis in figures[0].axes] == [True, True, True, False]


def test_equal_panels_give_an_equal_png_and_svg(tmp_path):
    for name in ("a", "b"):
        plot_scatter([panel()], 1, tmp_path / name / "s.png")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["s.png", "s.svg"]
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"points": POINTS[:3]}, r"points of shape \(3, 2\) and 4 names"),
        ({"points": POINTS[:, :1]}, r"points of shape \(4, 1\)"),
        ({"points": np.empty(0), "names": ()}, r"points of shape \(0,\) and 0 names"),
        ({"order": ("a", "c")}, "not there: b"),
    ],
)
def test_arrays_that_do_not_fit_are_named_and_nothing_is_written(tmp_path, wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        plot_scatter([panel(), panel("Odd one", **wrong)], 2, tmp_path / "s.png")
    assert "Odd one" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_no_panels_or_another_suffix_are_errors(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        plot_scatter([], 1, tmp_path / "s.png")
    with pytest.raises(InputError, match=r"s\.pdf"):
        plot_scatter([panel()], 1, tmp_path / "s.pdf")
