"""The HTML page of a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matchdg.reports import cells
from matchdg.reports.cells import Row, Table
from matchdg.reports.gaps import gaps_of
from matchdg.reports.html import Figure, embedded, write_html

TARGETS = ("Target", "Average")


def write_page(table: Table, figures: Sequence[Figure], path: Path) -> None:
    """Write the page of `table` with `figures` (title, image file, caption) to `path`.

    Raises `InputError` for a figure that cannot be read or is of no known kind.
    """
    values = {
        "title": cells.one_line(table["title"]),
        "summary": summarise(table).split("\n"),
        "head": cells.head(table),
        "columns": [cells.one_line(column) for column in table["columns"]],
        "groups": [(group, [_row(row, group, table) for row in rows]) for group, rows in cells.groups(table)],
        "printed": cells.has_printed(table),
        "comparison": cells.comparison(table),
        "gaps": gaps_of(table),
        "notes": [cells.one_line(note) for note in table.get("notes") or []],
        "failed": cells.failures(table),
        "figures": embedded(figures),
        "mark": cells.WORSE_MARK,
        **how_made(table),
    }
    write_html("page.html.j2", values, path)


def how_made(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings, versions, command and time, of a table or of a figure."""
    return {
        "settings": list(flat_settings(values.get("settings") or {})),
        "versions": list(cells.flatten(values.get("versions") or {})),
        "command": cells.one_line(values.get("command") or ""),
        "duration": cells.time_text(values),
    }


def summarise(table: Table) -> str:
    """Plain words on which method holds up best on the target, and by how much over the other groups' best.

    The target is the column of that name, or the average; where there is neither, each column is a task of its own.
    Where groups repeat a method they are tasks (sets of sources, rules of selection), not kinds of method, and each
    is summarised on a line of its own.
    """
    columns = [column for column in TARGETS if column in table["columns"]][:1] or list(table["columns"])
    ran = [(group, [row for row in rows if not cells.printed_only(row)]) for group, rows in cells.groups(table)]
    names = Counter(name for _, rows in ran for name in {row["method"] for row in rows})
    if max(names.values(), default=1) == 1:
        rows = [row for _, rows in ran for row in rows]
        return "\n".join(_sentences(rows, column, table) for column in columns)
    parts = [(group, [_sentences(rows, column, table) for column in columns]) for group, rows in ran if rows]
    return "\n".join(f"{group}: {' '.join(sentences)}" for group, sentences in parts)


def _sentences(rows: list[Row], column: str, table: Table) -> str:
    """The summary of rows that may be compared with one another."""
    ranked = _ranked(rows, column, table)
    if not ranked:
        return f"No method has a result on {column} yet."
    best, verb = ranked[0], _verb(table)
    others = [row for row in ranked if row.get("group") != best.get("group")]
    rival, role = (others, "the best of the other groups") if others else (ranked[1:], "the runner-up")
    text = f"{_name(best)} {verb} on {column}, at {_value(best, column, table)}"
    if rival:
        text += f", {_margin(best, rival[0], column, table)} {_name(rival[0])} "
        text += f"({_value(rival[0], column, table)}), {role}"
    text += "."
    if rival and _within_spread(best, rival[0], column):
        text += " That difference is within the spread over seeds."
    if cells.tags(best):
        honest = [row for row in ranked if not cells.tags(row)]
        text += f" {_caution(best)}"
        if honest:
            text += f" Without such knowledge, {_name(honest[0])} {verb}"
            told = bool(rival) and honest[0] is rival[0]
            text += "." if told else f" ({_value(honest[0], column, table)})."
    return text


def _verb(table: Table) -> str:
    """Accuracies hold up; measures of another kind are better or worse."""
    return "holds up best" if isinstance(table["unit"], str) else "is best"


def _ranked(rows: list[Row], column: str, table: Table) -> list[Row]:
    """The rows with a mean in `column`, best first, equal ones in the table's order."""
    sign = -1 if cells.higher_is_better(table, column) else 1
    means = [(cells.mean_of(cells.our_cell(row, column)), row) for row in rows]
    known = [(sign * mean, row) for mean, row in means if mean is not None]
    return [row for _, row in sorted(known, key=lambda pair: pair[0])]


def _name(row: Row) -> str:
    labels = cells.tags(row)
    return cells.one_line(row["method"]) + (f" ({', '.join(labels)})" if labels else "")


def _caution(row: Row) -> str:
    reasons = []
    if row.get("oracle"):
        reasons.append("It is an oracle: it is told the true objects, which are rarely known.")
    if cells.selected_on_target(row):
        reasons.append("It was selected on the target, so this is no estimate for an unseen domain.")
    return " ".join(reasons)


def _value(row: Row, column: str, table: Table) -> str:
    text = cells.value_text(cells.our_cell(row, column))
    return f"{text} %" if cells.unit_of(table, column) == "percent" else text


def _margin(best: Row, other: Row, column: str, table: Table) -> str:
    means = [cells.mean_of(cells.our_cell(row, column)) or 0.0 for row in (best, other)]
    gap = f"{abs(means[0] - means[1]):.1f}"
    if gap == "0.0":
        return "level with"
    words = f"{gap} points" if cells.unit_of(table, column) == "percent" else gap
    return f"{words} {'above' if cells.higher_is_better(table, column) else 'below'}"


def _within_spread(best: Row, other: Row, column: str) -> bool:
    """Whether the means differ by no more than the larger of the two standard deviations."""
    pair = [cells.our_cell(row, column) or {} for row in (best, other)]
    gap = abs((cells.mean_of(pair[0]) or 0.0) - (cells.mean_of(pair[1]) or 0.0))
    return gap <= max((cell.get("std") or 0.0 for cell in pair), default=0.0)


def _row(row: Row, group: str, table: Table) -> dict[str, Any]:
    return {
        "method": cells.one_line(row["method"]),
        "group": group,
        "tags": cells.tags(row),
        "ran": not cells.printed_only(row),
        "selection": cells.one_line(row.get("selection") or cells.MISSING),
        "chosen": cells.chosen_text(row),
        "cells": [
            {
                "ours": cells.our_text(row, column, table),
                "paper": cells.value_text(cells.paper_cell(row, column)),
                "difference": cells.difference_text(row, column),
                "worse": cells.is_worse(row, column, table),
            }
            for column in table["columns"]
        ],
    }


def flat_settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Flat settings; of a dict of dicts with the same keys (the rows' runs), what is equal in all is told once."""
    for key, value in settings.items():
        members = list(value.values()) if isinstance(value, Mapping) else []
        alike = all(isinstance(member, Mapping) and member.keys() == members[0].keys() for member in members)
        if len(members) < 2 or not alike:
            yield from cells.flatten({key: value})
            continue
        flat = {name: dict(cells.flatten(member)) for name, member in value.items()}
        first = next(iter(flat.values()))
        shared = {path: text for path, text in first.items() if all(m.get(path) == text for m in flat.values())}
        yield from ((f"{key}, all: {path}", text) for path, text in shared.items())
        for name, member in flat.items():
            own = ((path, text) for path, text in member.items() if path not in shared)
            yield from ((f"{key}, {cells.one_line(name)}: {path}", text) for path, text in own)
