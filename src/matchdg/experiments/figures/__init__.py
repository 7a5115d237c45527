"""One file a figure of the paper: which runs it needs, and the numbers that it shows."""

from collections.abc import Callable
from typing import Final

from matchdg.experiments.figures.figure import FigureOutcome, FigureStudy, Numbers, reproduce_figure
from matchdg.experiments.figures.penalty_curves import penalty_curves
from matchdg.experiments.figures.tsne import tsne, tsne_pacs
from matchdg.experiments.study import Budget

__all__ = ["FIGURES", "FigureOutcome", "FigureStudy", "Numbers", "reproduce_figure"]

FIGURES: Final[dict[str, Callable[[Budget], FigureStudy]]] = {
    "penalty_curves": penalty_curves,
    "tsne": tsne,
    "tsne_pacs": tsne_pacs,
}
