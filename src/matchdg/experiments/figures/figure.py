"""A figure of the paper: the runs that it needs, and the numbers that are read off them and drawn."""

import csv
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchdg.core.files import write_json, write_text
from matchdg.experiments.reproduce import claim_folder, failures
from matchdg.experiments.runner import StudyDisplay, run_all
from matchdg.experiments.study import Study
from matchdg.training.run import versions


@dataclass(frozen=True)
class Numbers:
    """What a figure shows: flat `points`, all with the same keys, and a small table that sums them up."""

    points: list[dict[str, Any]]
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True)
class FigureStudy:
    """A study whose runs nothing chooses between. `read` gets the numbers of the finished ones from a folder."""

    study: Study
    read: Callable[[Study, Path], Numbers]


@dataclass(frozen=True)
class FigureOutcome:
    """A finished figure: what is in its JSON file, and the folder where that lies."""

    figure: FigureStudy
    out: Path
    values: dict[str, Any]


def reproduce_figure(
    figure: FigureStudy,
    out: Path,
    jobs: int,
    display: StudyDisplay,
    command: str,
    threads: int = 1,
    store: Path | None = None,
) -> FigureOutcome:
    """Run what `figure` needs and write its numbers into `out`, as NAME.json and NAME.csv.

    The runs lie in `store`, by default in `out` too, under their hashes as those of tables do.
    """
    began = time.monotonic()
    study, store = figure.study, store or out
    claim_folder(study, out)
    runs = [arm.run({}, seed) for arm in study.arms for seed in study.seeds_of(arm)]
    results = run_all("seeds", runs, store, jobs, display, threads)
    numbers = figure.read(study, store)
    values = {
        "figure": study.table,
        "title": study.title,
        "budget": study.budget,
        "about_budget": study.about_budget,
        "points": numbers.points,
        "summary": {"columns": list(numbers.columns), "rows": [list(row) for row in numbers.rows]},
        "notes": list(study.notes),
        "settings": {
            "seeds": list(study.seeds),
            "study": study.hash,
            "runs": {arm.name: arm.run({}, study.seeds[0]).dump() for arm in study.arms},
        },
        "command": command,
        "versions": versions(),
        "seconds": round(time.monotonic() - began, 1),
        "failed": failures(results),
    }
    write_json(out / f"{study.table}.json", values)
    write_text(out / f"{study.table}.csv", to_csv(numbers.points))
    return FigureOutcome(figure, out, values)


def to_csv(points: list[dict[str, Any]]) -> str:
    r"""The points as CSV with a head.

    >>> to_csv([{"epoch": 0, "value": 0.5}])
    'epoch,value\n0,0.5\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(points[0]) if points else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(points)
    return text.getvalue()
