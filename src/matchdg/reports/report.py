"""Everything that a study leaves for people: `table.md`, the figures, and `report.html` that holds it all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from matchdg.core.files import write_text
from matchdg.experiments import Outcome
from matchdg.reports.markdown import to_markdown
from matchdg.reports.page import write_page
from matchdg.reports.regions import Panel, plot_regions

Figure = tuple[str, Path, str]

DISTRIBUTION_MATCHING = ("unconditional matching", "class-conditional matching")


def write_report(outcome: Outcome) -> Path:
    """Write `table.md`, the table's figures and `report.html` into the study's folder; return the page's path."""
    figures = FIGURES[outcome.study.table](outcome) if outcome.study.table in FIGURES else []
    write_text(outcome.out / "table.md", to_markdown(outcome.table))
    page = outcome.out / "report.html"
    write_page(outcome.table, figures, page)
    return page


def slab_regions(outcome: Outcome) -> list[Figure]:
    """Decision regions of ERM, the best distribution-matching method and PerfMatch, on the two features."""
    best = best_method(outcome.table, DISTRIBUTION_MATCHING)
    labels = ["ERM", *([best] if best else []), "PerfMatch"]
    seed = outcome.study.seeds[0]
    panels = [_panel(outcome, label, seed) for label in labels if _is_finished(outcome, label, seed)]
    if not panels:
        return []
    path = outcome.out / "regions.png"
    plot_regions(panels, path)
    caption = (
        f"What each method answers over the two features, seed {seed}, with points of the target domain. The stable "
        "feature is the slab (vertical); a method that holds up on the target has horizontal bands."
    )
    return [("Decision regions", path, caption)]


def best_method(table: dict[str, Any], groups: tuple[str, ...]) -> str | None:
    """The method of `groups` with the best mean on the last column, the target."""
    column = table["columns"][-1]
    rows = [row for row in table["rows"] if row["group"] in groups and column in row["values"]]
    return max(rows, key=lambda row: row["values"][column]["mean"])["method"] if rows else None


def _is_finished(outcome: Outcome, label: str, seed: int) -> bool:
    from matchdg.training import read_result

    return read_result(outcome.out, outcome.run(label, seed)) is not None


def _panel(outcome: Outcome, label: str, seed: int) -> Panel:
    import numpy as np
    import torch

    from matchdg.training import load_network, read_result

    run = outcome.run(label, seed)
    result = read_result(outcome.out, run)
    assert result is not None
    split = run.dataset.build(seed)
    network = load_network(outcome.out, run, split)

    def probability(points: Any) -> Any:
        with torch.no_grad():
            logits = network(torch.from_numpy(np.asarray(points, dtype=np.float32))).logits
        return logits.softmax(1)[:, 1].numpy()

    is_target = split.test.domains == split.test.domain_names.index(split.targets[0])
    positions = is_target.nonzero().flatten()[:300]
    sources = [result.test[name]["accuracy"] for name in split.sources]
    caption = f"sources {100 * sum(sources) / len(sources):.1f} %, target {100 * result.target_accuracy():.1f} %"
    points, labels = split.test.inputs[positions].numpy(), split.test.labels[positions].numpy()
    return Panel(label, probability, points, labels, caption)


FIGURES: Final[dict[str, Callable[[Outcome], list[Figure]]]] = {"slab": slab_regions}
