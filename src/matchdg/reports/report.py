"""Everything that a study leaves for people: `table.md`, the figures, and `report.html` that holds it all."""

from collections.abc import Callable
from typing import Any, Final

from matchdg.core.files import write_text
from matchdg.data import DomainDataset
from matchdg.experiments import Outcome
from matchdg.matching import MatchTable
from matchdg.matching.quality import table_overlap
from matchdg.reports.gallery import Matches, plot_gallery
from matchdg.reports.html import Figure, Report
from matchdg.reports.markdown import to_markdown
from matchdg.reports.page import summarise, write_page
from matchdg.reports.regions import Panel, plot_regions
from matchdg.training.run import load_matches

DISTRIBUTION_MATCHING = ("unconditional matching", "class-conditional matching")


def write_report(outcome: Outcome) -> Report:
    """Write `table.md`, the table's figures and `report.html` into the study's folder."""
    figures = FIGURES[outcome.study.table](outcome) if outcome.study.table in FIGURES else []
    write_text(outcome.out / "table.md", to_markdown(outcome.table))
    page = outcome.out / "report.html"
    write_page(outcome.table, figures, page)
    return Report(page, outcome.table["title"], summarise(outcome.table).split("\n"), figures)


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

    return read_result(outcome.store, outcome.run(label, seed)) is not None


def _panel(outcome: Outcome, label: str, seed: int) -> Panel:
    import numpy as np
    import torch

    from matchdg.training import load_network, read_result

    run = outcome.run(label, seed)
    result = read_result(outcome.store, run)
    assert result is not None
    split = run.dataset.build(seed)
    network = load_network(outcome.store, run, split)

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


def match_gallery(outcome: Outcome) -> list[Figure]:
    """The matches that MatchDG learnt beside random ones, for the first anchor of each class."""
    seed = outcome.study.seeds[0]
    labels = [label for label in GALLERY if _is_finished(outcome, label, seed)]
    if not labels:
        return []
    split = outcome.run(labels[0], seed).dataset.build(seed)
    tables = {label: load_matches(outcome.store, outcome.run(label, seed)) for label in labels}
    panels = [_matches(label, tables[label], split.train) for label in labels]
    path = outcome.out / "matches.png"
    classes = [name for label, name in enumerate(split.train.class_names) if bool((split.train.labels == label).any())]
    plot_gallery(panels, classes, [f"{name}°" for name in split.sources], path)
    caption = (
        f"For the first anchor of each class (blue), what each method takes for the same digit at the other angles, "
        f"seed {seed}. True objects are known here and shown for judging alone: a match that is another digit of the "
        "class has a thick frame and a cross. MatchDG was not told which are true."
    )
    return [("Matched digits", path, caption)]


def _matches(label: str, table: MatchTable, dataset: DomainDataset) -> Matches:
    """The rows of the first anchor of each class."""
    import torch

    assert dataset.objects is not None
    starts = table.rows.gather(1, table.anchors[:, None])[:, 0]
    classes = dataset.labels[starts]
    first = torch.tensor([int((classes == one).nonzero()[0]) for one in classes.unique()])
    rows, anchors = table.rows[first], table.anchors[first]
    images = dataset.inputs[rows.flatten()][:, 0].view(*rows.shape, *dataset.input_shape[1:])
    wrong = dataset.objects[rows] != dataset.objects[starts[first]][:, None]
    share = table_overlap(table.rows, dataset)
    title = f"{label}: {GALLERY[label]}\n{share:.0f} % of all pairs are the same digit"
    return Matches(title, images.numpy(), wrong.numpy(), anchors.numpy())


GALLERY: Final = {"MatchDG": "learnt matches", "RandMatch": "random within the class"}
FIGURES: Final[dict[str, Callable[[Outcome], list[Figure]]]] = {"slab": slab_regions, "rotated_digits": match_gallery}
