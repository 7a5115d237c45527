"""Regenerate a table: search, choose, run the seeds, and set ours beside the printed numbers."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matchdg.core.errors import InputError
from matchdg.core.files import write_json
from matchdg.experiments.paper import printed_row, printed_table
from matchdg.experiments.runner import Failure, Results, StudyDisplay, run_all
from matchdg.experiments.selection import choose_point
from matchdg.experiments.study import Arm, Study
from matchdg.training import RunResult, RunSettings
from matchdg.training.run import versions


@dataclass(frozen=True)
class Outcome:
    """A finished study: its table, and where the runs behind each row lie."""

    study: Study
    out: Path
    table: dict[str, Any]
    chosen: dict[str, dict[str, Any]]

    def run(self, label: str, seed: int) -> RunSettings:
        """The run behind the row `label` for one seed."""
        arm = next(arm for arm in self.study.arms if arm.label == label)
        return arm.run(self.chosen[label], seed)


def claim_folder(study: Study, out: Path) -> None:
    """Make `out` this study's folder; raise `InputError` where it is another's."""
    path = out / "study.json"
    if path.exists():
        try:
            owner = json.loads(path.read_text())
        except ValueError:
            owner = {}
        if owner.get("study") != study.hash:
            raise InputError(
                f"{out} belongs to another study ({owner.get('table', 'unknown')}, budget "
                f"{owner.get('budget', 'unknown')}, {len(owner.get('seeds', []))} seeds, or other settings); "
                "choose another --out, or delete that folder"
            )
        return
    write_json(
        path,
        {"study": study.hash, "table": study.table, "budget": study.budget, "seeds": list(study.seeds)},
    )


def reproduce(study: Study, out: Path, jobs: int, display: StudyDisplay, command: str, threads: int = 1) -> Outcome:
    """Run `study` in `out` and write `table.json` and `search.json` there."""
    began = time.monotonic()
    claim_folder(study, out)
    searched = run_all("search", study.search_runs(), out, jobs, display, threads)
    chosen: dict[str, dict[str, Any]] = {}
    search: dict[str, Any] = {}
    for arm in study.arms:
        chosen[arm.label], seen = choose_point(arm, study.search_seeds, searched, study.rule)
        search[arm.label] = {"chosen": chosen[arm.label], "seen": seen}
    finals = [arm.run(chosen[arm.label], seed) for arm in study.arms for seed in study.seeds]
    results = run_all("seeds", finals, out, jobs, display, threads)
    table = build_table(study, chosen, results)
    out_of_search = failures(searched)
    if out_of_search:
        note = f"{len(out_of_search)} runs of the search failed, so their points were out; search.json names them."
        table["notes"].append(note)
    table |= {
        "command": command,
        "versions": versions(),
        "seconds": round(time.monotonic() - began, 1),
        "failed": failures(results),
    }
    write_json(out / "search.json", {"methods": search, "failed": out_of_search})
    write_json(out / "table.json", table)
    return Outcome(study, out, table, chosen)


def failures(results: Results) -> list[dict[str, str]]:
    """The runs that raised, as plain values."""
    return [vars(result) for result in results.values() if isinstance(result, Failure)]


def build_table(study: Study, chosen: dict[str, dict[str, Any]], results: Results) -> dict[str, Any]:
    """The table as plain values: ours and the printed ones, by column, in percent."""
    printed = printed_table(study.table)
    columns = printed["columns"]
    units = printed["metric"]["by_column"]
    return {
        "table": study.table,
        "title": study.title,
        "columns": columns,
        "budget": study.budget,
        "unit": "percent",
        "higher_is_better": {column: units[column]["higher_is_better"] for column in columns},
        "rows": [_row(study, arm, chosen[arm.label], results, columns) for arm in study.arms],
        "settings": {
            "seeds": list(study.seeds),
            "search_seeds": list(study.search_seeds),
            "rule": study.selection,
            "study": study.hash,
            "runs": {arm.label: arm.run(chosen[arm.label], study.seeds[0]).dump() for arm in study.arms},
            "grids": {arm.label: {key: list(values) for key, values in arm.grid.items()} for arm in study.arms},
        },
        "notes": list(study.notes),
    }


def _row(study: Study, arm: Arm, point: dict[str, Any], results: Results, columns: Sequence[str]) -> dict[str, Any]:
    runs = [results.get(arm.run(point, seed).hash) for seed in study.seeds]
    finished = [run for run in runs if isinstance(run, RunResult)]
    values = {}
    for column in columns:
        accuracies = [100 * run.test[column]["accuracy"] for run in finished if column in run.test]
        if accuracies:
            std = statistics.stdev(accuracies) if len(accuracies) > 1 else None
            values[column] = {"mean": statistics.fmean(accuracies), "std": std, "n": len(accuracies)}
    printed = printed_row(study.table, arm.label, arm.group)
    return {
        "method": arm.label,
        "group": arm.group,
        "values": values,
        "paper": None if printed is None else printed["values"],
        "oracle": arm.oracle,
        "selection": study.selection,
        "hyperparameters": point,
    }


def with_seeds(study: Study, count: int | None) -> Study:
    """The same study over `count` seeds, 0 to count - 1."""
    if count is None:
        return study
    if count < 1:
        raise InputError(f"--seeds is {count}, expected at least 1")
    return replace(study, seeds=tuple(range(count)))
