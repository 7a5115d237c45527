"""Curves over the epochs, several panels in a grid: a line the mean over seeds, a band their range."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from matchdg.core.errors import InputError
from matchdg.reports.drawing import BLUE, ORANGE, check_png, drawing, save

if TYPE_CHECKING:
    import numpy as np

_STYLES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"))


@dataclass(frozen=True)
class Curve:
    """`values[seeds, epochs]`, with NaN where there is none, at `epochs[epochs]`."""

    label: str
    epochs: "np.ndarray"
    values: "np.ndarray"


@dataclass(frozen=True)
class CurvePanel:
    """Curves in one pair of axes."""

    title: str
    quantity: str
    curves: Sequence[Curve]
    scale: Literal["linear", "log"] = "linear"


def plot_curves(panels: Sequence[CurvePanel], per_row: int, path: Path) -> None:
    """Write the panels to `path` (a PNG) and to an SVG of the same stem; equal panels give equal files."""
    if not panels:
        raise InputError("plot_curves got no panels; give at least one")
    path = check_png(path)
    rows = -(-len(panels) // per_row)
    with drawing(3.5 * per_row, 2.9 * rows + 0.3) as figure:
        axes = figure.subplots(rows, per_row, squeeze=False)
        labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
        styles = {label: _STYLES[index % len(_STYLES)] for index, label in enumerate(labels)}
        for axis, panel in zip(axes.flat, panels, strict=False):
            _draw(axis, panel, styles)
        for unused in axes.flat[len(panels) :]:
            unused.set_visible(False)
        save(figure, path)


def _draw(axis: Any, panel: CurvePanel, styles: dict[str, tuple[str, str, str]]) -> None:
    import numpy as np

    for curve in panel.curves:
        colour, dash, marker = styles[curve.label]
        values = np.ma.masked_invalid(curve.values)
        mean, low, high = values.mean(0), values.min(0), values.max(0)
        every = max(1, len(curve.epochs) // 8)
        axis.plot(curve.epochs, mean, color=colour, ls=dash, marker=marker, ms=4, markevery=every, label=curve.label)
        if len(values) > 1:
            axis.fill_between(curve.epochs, low, high, color=colour, alpha=0.2, lw=0)
    axis.set_yscale(panel.scale)
    if panel.scale == "linear":
        axis.set_ylim(bottom=0)
    axis.set_title(panel.title, fontsize=10, fontweight="bold", parse_math=False)
    axis.set_xlabel("epoch")
    axis.set_ylabel(panel.quantity)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
