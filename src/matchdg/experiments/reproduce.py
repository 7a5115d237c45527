"""Regenerate a table: search, choose, run the seeds, and set ours beside the printed numbers."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from matchdg.core.errors import InputError
from matchdg.core.files import write_json
from matchdg.experiments.measures import measures
from matchdg.experiments.paper import printed_row, printed_table
from matchdg.experiments.runner import Failure, Results, StudyDisplay, finished, run_all
from matchdg.experiments.selection import choose_point
from matchdg.experiments.study import Arm, Column, Study
from matchdg.matching import RepresentationSettings
from matchdg.training import RunResult, RunSettings
from matchdg.training.run import versions

Compute = Literal["missing", "nothing"]
Measured = tuple[RunSettings, RepresentationSettings]


@dataclass(frozen=True)
class Outcome:
    """A finished study: its table, and in `store` the runs behind each row."""

    study: Study
    out: Path
    table: dict[str, Any]
    chosen: dict[str, dict[str, Any]]
    store: Path

    def run(self, name: str, seed: int) -> RunSettings:
        """The run of the arm called `name` for one seed."""
        arm = next(arm for arm in self.study.arms if arm.name == name)
        return arm.run(self.chosen[name], seed)


def claim_folder(study: Study, out: Path) -> None:
    """Make `out` this study's folder; raise `InputError` where it is another's."""
    path = out / "study.json"
    if path.exists():
        try:
            owner = json.loads(path.read_text())
        except ValueError:
            owner = None
        owner = owner if isinstance(owner, dict) else {}
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


def reproduce(
    study: Study,
    out: Path,
    jobs: int,
    display: StudyDisplay,
    command: str,
    threads: int = 1,
    store: Path | None = None,
    compute: Compute = "missing",
) -> Outcome:
    """Run `study` and write `table.json` and `search.json` into `out`.

    The runs lie in `store`, so that tables which share runs can share them; by default in `out` too. To compute
    "nothing" is to show the table as far as its runs are finished; the table says how far that is.
    """
    began = time.monotonic()
    store = store or out
    claim_folder(study, out)

    def results_of(stage: str, runs: Sequence[RunSettings], measured: Sequence[Measured] = ()) -> Results:
        if compute == "nothing":
            return finished(runs, store, measured)
        return run_all(stage, runs, store, jobs, display, threads, measured)

    searched = results_of("search", study.search_runs())
    chosen: dict[str, dict[str, Any]] = {}
    search: dict[str, Any] = {}
    for arm in study.arms:
        chosen[arm.name], seen = choose_point(arm, study.search_seeds, searched, study.rule_of(arm))
        search[arm.name] = {"chosen": chosen[arm.name], "seen": seen}
    finals = [(arm.run(chosen[arm.name], seed), arm.measured) for arm in study.arms for seed in study.seeds_of(arm)]
    measured = [(run, what) for run, what in finals if what is not None]
    wanted = {run.hash: run for run, _ in finals}
    results = results_of("seeds", list(wanted.values()), measured)
    table = build_table(study, chosen, results, store)
    if len(results) < len(wanted):
        table["notes"].append(f"Not complete: {len(results)} of {len(wanted)} runs are finished.")
    out_of_search = failures(searched)
    if out_of_search:
        note = f"{len(out_of_search)} runs of the search diverged, so their points were out; search.json names them."
        table["notes"].append(note)
    if study.show_printed:
        table["rows"] += printed_only(study.table, table["rows"])
    table |= {
        "command": command,
        "versions": versions(),
        "seconds": round(time.monotonic() - began, 1),
        "run_seconds": round(sum(run.seconds for run in results.values() if isinstance(run, RunResult)), 1),
        "failed": failures(results),
    }
    write_json(out / "search.json", {"methods": search, "failed": out_of_search})
    write_json(out / "table.json", table)
    return Outcome(study, out, table, chosen, store)


def printed_only(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the paper that are not ours to run, mostly quoted from others' papers, for the comparison."""
    ours = {(row["method"], row["group"]) for row in rows}
    return [
        {
            "method": row["method"],
            "group": row.get("group"),
            "values": {},
            "paper": row["values"],
            "oracle": bool(row.get("oracle")),
            "origin": row["origin"],
            "selection": None,
            "hyperparameters": {},
        }
        for row in printed_table(table)["rows"]
        if (row["method"], row.get("group")) not in ours
    ]


def failures(results: Results) -> list[dict[str, str]]:
    """The runs that raised, as plain values."""
    return [vars(result) for result in results.values() if isinstance(result, Failure)]


def build_table(study: Study, chosen: dict[str, dict[str, Any]], results: Results, out: Path) -> dict[str, Any]:
    """The table as plain values: ours and the printed ones, by column."""
    columns = columns_of(study)
    units = {name: column.unit for name, column in columns.items()}
    table = {
        "table": study.table,
        "title": study.title,
        "columns": list(columns),
        "budget": study.budget,
        "about_budget": "; ".join(filter(None, (study.about_budget, study.about_search))),
        "unit": units if len(set(units.values())) > 1 else next(iter(units.values())),
        "higher_is_better": {name: column.higher_is_better for name, column in columns.items()},
        "rows": [_row(study, arms, chosen, results, list(columns), out) for arms in _rows_of(study)],
        "settings": {
            "seeds": list(study.seeds),
            "search_seeds": list(study.search_seeds),
            "rule": study.selection,
            "study": study.hash,
            "runs": {arm.name: arm.run(chosen[arm.name], study.seeds[0]).dump() for arm in study.arms},
            "grids": {arm.name: {key: list(values) for key, values in arm.grid.items()} for arm in study.arms},
        },
        "notes": list(study.notes),
    }
    if study.extend is not None:
        study.extend(table)
    return table


def columns_of(study: Study) -> dict[str, Column]:
    """The columns of the study's table: its own, or the printed table's."""
    if study.columns is not None:
        return dict(study.columns)
    printed = printed_table(study.table)
    about = {name: printed["metric"]["by_column"][name] for name in printed["columns"]}
    return {name: Column(column["unit"], column["higher_is_better"]) for name, column in about.items()}


def _rows_of(study: Study) -> list[list[Arm]]:
    """The arms of each row, in the order in which the rows first appear."""
    rows: dict[tuple[str, str | None], list[Arm]] = {}
    for arm in study.arms:
        rows.setdefault((arm.label, arm.group), []).append(arm)
    return list(rows.values())


def _row(
    study: Study,
    arms: list[Arm],
    chosen: dict[str, dict[str, Any]],
    results: Results,
    columns: Sequence[str],
    out: Path,
) -> dict[str, Any]:
    by_seed: dict[str, dict[int, float]] = {column: {} for column in columns}
    for arm in arms:
        for seed in study.seeds_of(arm):
            run = arm.run(chosen[arm.name], seed)
            result = results.get(run.hash)
            if isinstance(result, RunResult):
                found = measures(arm, run, result, out, columns)
                for column, value in found.items():
                    by_seed[column][seed] = value
    for column, parts in study.averages.items():
        whole = [seed for seed in study.seeds if all(seed in by_seed[part] for part in parts)]
        by_seed[column] = {seed: statistics.fmean(by_seed[part][seed] for part in parts) for seed in whole}
    first = arms[0]
    printed = None
    if study.columns is None:
        printed = printed_row(study.table, first.label, first.printed_group or first.group)
    points = {arm.task: chosen[arm.name] for arm in arms}
    return {
        "method": first.label,
        "group": first.group,
        "values": {column: _cell(list(values.values())) for column, values in by_seed.items() if values},
        "by_seed": {
            column: {str(seed): value for seed, value in values.items()} for column, values in by_seed.items() if values
        },
        "paper": None if printed is None else _beside(printed["values"], by_seed, first),
        "oracle": first.oracle,
        "selection": study.selection_of(first),
        "hyperparameters": points[first.task] if len({str(point) for point in points.values()}) == 1 else points,
    }


def _beside(printed: dict[str, Any], by_seed: dict[str, dict[int, float]], arm: Arm) -> dict[str, Any]:
    """The printed cells; of a row that another group is printed for, those alone that ours has."""
    return {column: cell for column, cell in printed.items() if arm.printed_group is None or by_seed[column]}


def _cell(values: list[float]) -> dict[str, Any]:
    std = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "std": std, "n": len(values)}


def with_seeds(study: Study, count: int | None) -> Study:
    """The same study over `count` seeds, 0 to count - 1."""
    if count is None:
        return study
    if count < 1:
        raise InputError(f"--seeds is {count}, expected at least 1")
    return replace(study, seeds=tuple(range(count)))
