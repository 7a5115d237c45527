"""A figure of the paper drawn anew: PNG, SVG, and `report.html` with the numbers in a table."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from matchdg.reports import cells
from matchdg.reports.curves import Curve, CurvePanel, plot_curves
from matchdg.reports.html import Figure, Report, embedded, write_html
from matchdg.reports.page import how_made
from matchdg.reports.scatter import ScatterPanel, plot_scatter

Values = Mapping[str, Any]


def write_figure_report(values: Values, out: Path) -> Report:
    """Draw `values`, the content of a figure's JSON file, into `out`, and write its page."""
    name = values["figure"]
    caption, plot = DRAWINGS[name]
    figures: list[Figure] = []
    if values["points"]:
        image = out / f"{name}.png"
        plot(values, image)
        figures = [(cells.one_line(values["title"]), image, caption)]
    page = out / "report.html"
    fill = {
        "title": cells.one_line(values["title"]),
        "summary": [caption],
        "head": _head(values),
        "figures": embedded(figures),
        "caption": "What the figure comes to",
        "columns": values["summary"]["columns"],
        "rows": [[_text(value) for value in row] for row in values["summary"]["rows"]],
        "notes": [cells.one_line(note) for note in values["notes"]],
        "failed": cells.failures(values),
        **how_made(values),
    }
    write_html("figure.html.j2", fill, page)
    return Report(page, fill["title"], [caption], figures)


def summary_lines(values: Values) -> list[str]:
    """The page's small table as lines for a terminal."""
    names = values["summary"]["columns"]
    rows = values["summary"]["rows"]
    return ["; ".join(f"{name}: {_text(value)}" for name, value in zip(names, row, strict=True)) for row in rows]


def _head(values: Values) -> list[tuple[str, str]]:
    budget = f"{values['budget']}: {values['about_budget']}" if values["about_budget"] else values["budget"]
    seeds = ", ".join(str(seed) for seed in values["settings"]["seeds"])
    found = f"{values['figure']}.csv, {values['figure']}.json, {values['figure']}.svg"
    return [("Budget", cells.one_line(budget)), ("Seeds", seeds), ("Numbers and drawing", f"beside this page: {found}")]


def _text(value: Any) -> str:
    """Numbers to three digits.

    >>> _text(0.012345), _text("ERM"), _text(None), _text(14.3), _text(0)
    ('0.0123', 'ERM', '–', '14.3', '0')
    """
    if value is None:
        return cells.MISSING
    return f"{value:.3g}" if isinstance(value, float) else cells.one_line(value)


def _draw_curves(values: Values, path: Path) -> None:
    """A row a data set: the match penalty, the IRM penalty, and the training loss of all four runs."""
    points = values["points"]
    panels = []
    for data in _unique(points, "data"):
        own = [point for point in points if point["data"] == data]
        for penalty in _unique(own, "penalty"):
            shown = [point for point in own if point["penalty"] == penalty]
            for quantity in _unique(shown, "quantity"):
                curves = [point for point in shown if point["quantity"] == quantity]
                title = f"{data}: {quantity}"
                panels.append(CurvePanel(title, quantity, _curves(curves), "log"))
    plot_curves(panels, 4, path)


def _curves(points: list[dict[str, Any]]) -> list[Curve]:
    """A curve an objective, a line a seed in it."""
    import numpy as np

    found = []
    for objective in _unique(points, "objective"):
        own = {(point["seed"], point["epoch"]): point["value"] for point in points if point["objective"] == objective}
        seeds, epochs = sorted({seed for seed, _ in own}), sorted({epoch for _, epoch in own})
        rows = [[own.get((seed, epoch)) for epoch in epochs] for seed in seeds]
        found.append(Curve(objective, np.array(epochs), np.array(rows, dtype=float)))
    return found


def _draw_plane(values: Values, path: Path) -> None:
    """A row a data set: source inputs by class, and inputs of all domains by domain; the first seed that finished."""
    import numpy as np

    panels = []
    for data in _unique(values["points"], "data"):
        own = [point for point in values["points"] if point["data"] == data]
        seed = min(point["seed"] for point in own)
        own = [point for point in own if point["seed"] == seed]
        sources = [point for point in own if point["kind"] == "source"]
        # Angles are in an order, and have colours that are.
        by_domain = "viridis" if all(name.isdigit() for name in _unique(own, "domain")) else "tab10"
        for title, shown, key, palette in (
            (f"{data}: source domains, by class", sources, "class", "tab10"),
            (f"{data}: all domains, by domain (targets: triangles)", own, "domain", by_domain),
        ):
            place = np.array([[point["x"], point["y"]] for point in shown])
            targets = _unique([point for point in own if point["kind"] == "target"], "domain")
            names = [point[key] for point in shown]
            order = sorted(_unique(shown, key), key=_natural) if key == "class" else _unique(shown, key)
            panels.append(ScatterPanel(title, place, names, order, palette, targets if key == "domain" else ()))
    plot_scatter(panels, 2, path)


def _unique(points: list[dict[str, Any]], key: str) -> list[Any]:
    return list(dict.fromkeys(point[key] for point in points))


def _natural(name: str) -> tuple[bool, float, str]:
    """Numbers by size before other names."""
    return (False, float(name), name) if name.isdigit() else (True, 0.0, name)


_PLANE: Final = "Where phase 1 of MatchDG puts images that it was not trained on"
_GOOD: Final = (
    "It is good at its task where classes lie apart (left) and the domains of one class lie together (right)."
)

DRAWINGS: Final[dict[str, tuple[str, Callable[[Values, Path], None]]]] = {
    "penalty_curves": (
        "What the paper's figure 3 asks: while training drives the loss towards zero, does a penalty become small "
        "without being trained on? Each panel has the method that trains on the penalty, and ERM, which does not; "
        "the training loss of the same two runs stands beside it.",
        _draw_curves,
    ),
    "tsne": (f"{_PLANE}, after the paper's figure 6. {_GOOD}", _draw_plane),
    "tsne_pacs": (
        f"{_PLANE}: the paper's figure 6. {_GOOD} The paper finds that of the two targets Photo overlaps with its "
        "sources more than Sketch does.",
        _draw_plane,
    ),
}
