"""Matches to look at: a row for each anchor, with what is taken for the same object in each source domain."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchdg.core.errors import InputError
from matchdg.reports.drawing import BLUE, ORANGE, check_png, drawing, save

if TYPE_CHECKING:
    import numpy as np

_CELL = 0.56  # inches
_MARGIN = 0.12  # of an image's side


@dataclass(frozen=True)
class Matches:
    """One match table: `images[R, K, H, W]` in [0, 1], `wrong[R, K]`, and the column of each row's anchor, [R]."""

    title: str
    images: "np.ndarray"
    wrong: "np.ndarray"
    anchors: "np.ndarray"


def plot_gallery(panels: Sequence[Matches], rows: Sequence[str], columns: Sequence[str], path: Path) -> None:
    """Write the tables side by side to `path` (a PNG), `rows` and `columns` being their names.

    Wrong matches have a thick frame and a cross, anchors a thin one. Equal panels give equal files. Raises
    `InputError` for no panels, another suffix, or a panel whose arrays do not fit `Matches`.
    """
    if not panels:
        raise InputError("plot_gallery got no panels; give at least one")
    path = check_png(path)
    for panel in panels:
        _check(panel, len(rows), len(columns))
    width = (len(columns) * _CELL + 0.7) * len(panels)
    with drawing(width, len(rows) * _CELL + 1.1) as figure:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            _draw(axis, panel, rows, columns)
        axes[0].set_ylabel("anchor's class")
        _legend(figure)
        save(figure, path, (".png",))


def _check(panel: Matches, rows: int, columns: int) -> None:
    if panel.images.ndim != 4 or panel.images.shape[:2] != (rows, columns) or not rows or not columns:
        raise InputError(
            f"panel {panel.title!r} has images of shape {panel.images.shape}, expected ({rows}, {columns}, height, "
            "width) for as many names of rows and columns"
        )
    if panel.wrong.shape != (rows, columns) or panel.anchors.shape != (rows,):
        raise InputError(
            f"panel {panel.title!r} has marks of shape {panel.wrong.shape} and anchors of shape "
            f"{panel.anchors.shape}, expected ({rows}, {columns}) and ({rows},)"
        )


def _draw(axis: Any, panel: Matches, rows: Sequence[str], columns: Sequence[str]) -> None:
    import numpy as np
    from matplotlib.patches import Rectangle

    side = 1 - 2 * _MARGIN
    for row, column in np.ndindex(panel.wrong.shape):
        left, top = column + _MARGIN, row + _MARGIN
        # Dark on light: a frame shows better than on black.
        extent = (left, left + side, top + side, top)
        axis.imshow(panel.images[row, column], extent=extent, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        is_anchor, is_wrong = column == panel.anchors[row], bool(panel.wrong[row, column])
        colour, thickness = (BLUE, 1.6) if is_anchor else (ORANGE, 2.4) if is_wrong else ("#c8ced4", 0.6)
        axis.add_patch(Rectangle((left, top), side, side, fill=False, ec=colour, lw=thickness))
        if is_wrong:
            axis.plot(left + 0.93 * side, top + 0.07 * side, marker="X", ms=5.5, mfc=ORANGE, mec="white", mew=0.6)
    axis.set_xlim(0, len(columns))
    axis.set_ylim(len(rows), 0)
    axis.set_aspect("equal")
    axis.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axis.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axis.tick_params(length=0, labeltop=True, labelbottom=False)
    axis.spines[:].set_visible(False)
    axis.set_title(panel.title, fontsize=10, fontweight="bold", parse_math=False)


def _legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(fc="white", ec=BLUE, lw=1.6, label="anchor"),
        Patch(fc="white", ec="#c8ced4", lw=0.8, label="match, the same object"),
        Patch(fc="white", ec=ORANGE, lw=2.4, label="match, another object"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
