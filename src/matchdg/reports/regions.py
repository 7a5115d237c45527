"""Decision regions of classifiers on the slab data's two features, side by side."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchdg.core.errors import InputError
from matchdg.reports.drawing import BLUE, ORANGE, check_png, drawing, save

if TYPE_CHECKING:
    import numpy as np

GRID = 201
MOST_POINTS = 300
PANELS_PER_ROW = 3

_CLASSES = (("class 0", "o", BLUE), ("class 1", "^", ORANGE))
_SHADES = ("#9ecae1", "#f7f7f7", "#fdc086")


@dataclass(frozen=True)
class Panel:
    """One classifier: `probability` maps float32 [n, 2] (x1, x2) to class 1's probability [n].

    `points` [m, 2] with `labels` [m] in {0, 1} are inputs of the target; at most `MOST_POINTS`, evenly spaced
    in their order, are drawn.
    """

    title: str
    probability: "Callable[[np.ndarray], np.ndarray]"
    points: "np.ndarray"
    labels: "np.ndarray"
    caption: str


def plot_regions(panels: Sequence[Panel], path: Path) -> None:
    """Write the panels to `path` (a PNG) and to an SVG of the same stem; equal panels give equal files.

    Raises `InputError` for no panels, another suffix, or a panel whose arrays do not fit `Panel`.
    """
    if not panels:
        raise InputError("plot_regions got no panels; give at least one")
    path = check_png(path)
    x1, x2 = _grid(panels)
    surfaces = [_surface(panel, x1, x2) for panel in panels]
    columns = min(len(panels), PANELS_PER_ROW)
    rows = ceil(len(panels) / columns)
    with drawing(3.4 * columns + 1.1, 4.2 * rows + 0.4) as figure:
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        _draw(figure, axes, panels, surfaces, (x1, x2))
        save(figure, path)


def _grid(panels: Sequence[Panel]) -> "tuple[np.ndarray, np.ndarray]":
    """The same x1 and x2 for all panels: [-1, 1] and every point, with a small margin."""
    import numpy as np

    for panel in panels:
        points, labels = np.asarray(panel.points), np.asarray(panel.labels)
        if points.ndim != 2 or points.shape[1] != 2 or labels.shape != points.shape[:1]:
            raise InputError(
                f"panel {panel.title!r} has points of shape {points.shape} and labels of shape {labels.shape}, "
                "expected [m, 2] and [m]"
            )
        if not np.isin(labels, (0, 1)).all() or not np.isfinite(points).all():
            raise InputError(f"panel {panel.title!r} needs finite points and labels that are 0 or 1")
    corners = [np.asarray(panel.points) for panel in panels] + [np.array([[-1, -1], [1, 1]])]
    every = np.concatenate(corners)
    low, high = every.min(axis=0) - 0.05, every.max(axis=0) + 0.05
    return np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)


def _surface(panel: Panel, x1: "np.ndarray", x2: "np.ndarray") -> "np.ndarray":
    """Class 1's probability [x2, x1] on the grid."""
    import numpy as np

    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2).astype(np.float32)
    values = np.asarray(panel.probability(grid), dtype=float)
    if values.shape != (len(grid),):
        raise InputError(
            f"panel {panel.title!r}: its probability gave shape {values.shape} for {len(grid)} points, "
            f"expected ({len(grid)},)"
        )
    if not ((values >= -1e-6) & (values <= 1 + 1e-6)).all():
        raise InputError(f"panel {panel.title!r}: its probability gave values outside [0, 1], or NaN")
    return values.clip(0, 1).reshape(len(x2), len(x1))


def _draw(
    figure: Any,
    axes: "np.ndarray",
    panels: Sequence[Panel],
    surfaces: "list[np.ndarray]",
    grid: "tuple[np.ndarray, np.ndarray]",
) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.lines import Line2D

    shades = LinearSegmentedColormap.from_list("classes", _SHADES, N=20)
    captions = [textwrap.wrap(panel.caption, 40) for panel in panels]
    caption_lines = max(len(lines) for lines in captions)
    extent = (grid[0][0], grid[0][-1], grid[1][0], grid[1][-1])
    filled = None
    for axis, panel, surface, caption in zip(axes.flat, panels, surfaces, captions, strict=False):
        # An image, not filled contours: those make an SVG of megabytes.
        filled = axis.imshow(surface, extent=extent, origin="lower", cmap=shades, vmin=0, vmax=1, aspect="auto")
        if surface.min() < 0.5 < surface.max():
            axis.contour(*grid, surface, levels=[0.5], colors="black", linewidths=1.2)
        _scatter(axis, panel)
        axis.set_title(textwrap.fill(panel.title, 28), fontweight="bold", pad=8 + 12 * caption_lines, parse_math=False)
        axis.annotate(
            "\n".join(caption + [""] * (caption_lines - len(caption))),
            (0.5, 1),
            (0, 4),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            size=9,
            parse_math=False,
        )
        axis.set_xlabel("x1 (linear)")
        axis.set_box_aspect(1)
    for unused in axes.flat[len(panels) :]:
        unused.set_visible(False)
    for first in axes[:, 0]:
        first.set_ylabel("x2 (slab)")
    figure.colorbar(filled, ax=axes, label="probability of class 1", shrink=0.9, ticks=[0, 0.25, 0.5, 0.75, 1])
    handles = [
        Line2D([], [], ls="", marker=marker, mfc=colour, mec="white", label=f"target point, {name}")
        for name, marker, colour in _CLASSES
    ]
    boundary = Line2D([], [], color="black", lw=1.2, label="decision boundary")
    figure.legend(
        handles=[*handles, boundary], loc="outside lower center", ncols=min(3, axes.shape[1] + 1), frameon=False
    )


def _scatter(axis: Any, panel: Panel) -> None:
    import numpy as np

    count = len(panel.points)
    kept = np.linspace(0, count - 1, min(count, MOST_POINTS)).astype(int)
    points, labels = np.asarray(panel.points)[kept], np.asarray(panel.labels)[kept]
    for label, (_, marker, colour) in enumerate(_CLASSES):
        own = points[labels == label]
        axis.scatter(own[:, 0], own[:, 1], s=20, marker=marker, c=colour, edgecolors="white", linewidths=0.5)
