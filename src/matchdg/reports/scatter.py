"""Points in the plane, coloured by what they are: one panel a colouring."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchdg.core.errors import InputError
from matchdg.reports.drawing import check_png, drawing, save

if TYPE_CHECKING:
    import numpy as np

_MARKERS = ("o", "^")
_SIZE = 11


@dataclass(frozen=True)
class ScatterPanel:
    """`points[N, 2]`, the name of each, `names[N]`, the names in the order of the legend, and those with a triangle.

    Colours go round the wheel of `palette`: "tab10" for unordered names, "viridis" for ordered ones.
    """

    title: str
    points: "np.ndarray"
    names: Sequence[str]
    order: Sequence[str]
    palette: str = "tab10"
    marked: Sequence[str] = ()


def plot_scatter(panels: Sequence[ScatterPanel], per_row: int, path: Path) -> None:
    """Write the panels to `path` (a PNG) and to an SVG of the same stem; equal panels give equal files."""
    if not panels:
        raise InputError("plot_scatter got no panels; give at least one")
    path = check_png(path)
    for panel in panels:
        unknown = sorted(set(panel.names) - set(panel.order))
        if panel.points.shape != (len(panel.names), 2) or unknown:
            raise InputError(
                f"panel {panel.title!r} has points of shape {panel.points.shape} and {len(panel.names)} names, "
                f"expected [N, 2] and N names in its order; not there: {', '.join(unknown) or 'none'}"
            )
    rows = -(-len(panels) // per_row)
    with drawing(5.0 * per_row, 4.0 * rows) as figure:
        axes = figure.subplots(rows, per_row, squeeze=False)
        for axis, panel in zip(axes.flat, panels, strict=False):
            _draw(axis, panel)
        for unused in axes.flat[len(panels) :]:
            unused.set_visible(False)
        save(figure, path)


def _draw(axis: Any, panel: ScatterPanel) -> None:
    import numpy as np

    colours = _colours(panel)
    names = np.asarray(panel.names)
    for name in panel.order:
        own = panel.points[names == name]
        marker = _MARKERS[name in panel.marked]
        axis.scatter(own[:, 0], own[:, 1], s=_SIZE, marker=marker, color=colours[name], lw=0, alpha=0.8, label=name)
    axis.set_title(panel.title, fontsize=10, fontweight="bold", parse_math=False)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_box_aspect(1)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, markerscale=1.6)


def _colours(panel: ScatterPanel) -> dict[str, Any]:
    """A colour a name; those with a triangle have ones of their own."""
    from matplotlib import colormaps

    plain = [name for name in panel.order if name not in panel.marked]
    wheel = colormaps[panel.palette]
    if wheel.N <= 20:
        found = {name: wheel(index % wheel.N) for index, name in enumerate(plain)}
    else:
        found = {name: wheel(0.9 * index / max(1, len(plain) - 1)) for index, name in enumerate(plain)}
    reds = ("#D55E00", "#CC79A7", "#882255", "#000000")
    return {**found, **{name: reds[index % len(reds)] for index, name in enumerate(panel.marked)}}
