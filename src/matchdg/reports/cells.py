"""What one cell, one row's name and one table's head say: the same words on the terminal, in Markdown, on the page.

A table is the content of `table.json`: plain dicts and lists.
"""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_DOWN, Decimal
from typing import Any

Table = Mapping[str, Any]
Row = Mapping[str, Any]

MISSING = "–"
WORSE_MARK = "▼"


def one_line(text: object) -> str:
    """`text` on one line, without control characters, so that a name cannot break a layout.

    >>> one_line(" a\\n b\\x1b[2J ")
    'a b[2J'
    """
    words = " ".join(str(text).split())
    return "".join(letter for letter in words if unicodedata.category(letter) not in ("Cc", "Cs"))


def mean_of(cell: Mapping[str, Any] | None) -> float | None:
    """The mean of a cell, or None where there is none or it is not a finite number."""
    mean = None if cell is None else cell.get("mean")
    return mean if isinstance(mean, int | float) and math.isfinite(mean) else None


def value_text(cell: Mapping[str, Any] | None) -> str:
    """Mean and standard deviation, one decimal place; no deviation where it is unknown (one seed).

    >>> value_text({"mean": 57.62, "std": 6.58}), value_text({"mean": 57.62, "std": None}), value_text(None)
    ('57.6 ± 6.6', '57.6', '–')
    """
    mean = mean_of(cell)
    if cell is None or mean is None:
        return MISSING
    std = cell.get("std")
    return f"{mean:z.1f}" if std is None else f"{mean:z.1f} ± {std:z.1f}"


def our_cell(row: Row, column: str) -> Mapping[str, Any] | None:
    """What we measured."""
    return (row.get("values") or {}).get(column)


def paper_cell(row: Row, column: str) -> Mapping[str, Any] | None:
    """What the paper prints; None where it has no such row or cell."""
    return (row.get("paper") or {}).get(column)


def our_text(row: Row, column: str, table: Table) -> str:
    """`value_text` of what we measured, with its number of seeds where others have more."""
    cell = our_cell(row, column)
    text, counts = value_text(cell), seed_counts(table)
    if cell is None or text == MISSING or cell.get("n") is None or cell["n"] == max(counts):
        return text
    return f"{text} (n = {cell['n']})"


def difference(row: Row, column: str) -> Decimal | None:
    """Our mean less the printed one, to one decimal place; exactly 0.05 counts as rounding and gives 0.

    >>> difference({"values": {"T": {"mean": 57.55}}, "paper": {"T": {"mean": 57.6}}}, "T")
    Decimal('0.0')
    """
    ours, printed = mean_of(our_cell(row, column)), mean_of(paper_cell(row, column))
    if ours is None or printed is None:
        return None
    exact = Decimal(str(round(ours - printed, 6)))
    return exact.quantize(Decimal("0.1"), ROUND_HALF_DOWN) + 0  # + 0: no minus sign before zero


def difference_text(row: Row, column: str) -> str:
    """The difference to the paper with its sign.

    >>> difference_text({"values": {"T": {"mean": 58.8}}, "paper": {"T": {"mean": 57.6}}}, "T")
    '+1.2'
    """
    gap = difference(row, column)
    if gap is None:
        return MISSING
    return f"{gap:+}" if gap else "0.0"


def is_worse(row: Row, column: str, table: Table) -> bool:
    """Whether our mean is on the wrong side of the printed one by more than 0.05, which rounding explains.

    Nothing more is claimed: the spread over seeds is shown beside it and is the reader's to weigh.
    """
    gap = difference(row, column)
    return gap is not None and (gap < 0 if higher_is_better(table, column) else gap > 0)


def marked_difference(row: Row, column: str, table: Table) -> str:
    """The difference, followed by `WORSE_MARK` where our mean is worse."""
    text = difference_text(row, column)
    return f"{text} {WORSE_MARK}" if is_worse(row, column, table) else text


def higher_is_better(table: Table, column: str) -> bool:
    """Whether a larger number in `column` is a better one."""
    return bool((table.get("higher_is_better") or {}).get(column, True))


def selected_on_target(row: Row) -> bool:
    """Whether the row's hyper-parameters or epoch were chosen on the target, which leaks."""
    return str(row.get("selection") or "").partition(":")[0].strip() == "target"


def printed_only(row: Row) -> bool:
    """Whether the row is the paper's alone: not run here, and mostly quoted there from others."""
    return row.get("origin") is not None


def has_printed(table: Table) -> bool:
    """Whether the paper prints any number of this table."""
    return any(mean_of(paper_cell(row, column)) is not None for row in table["rows"] for column in table["columns"])


def tags(row: Row) -> list[str]:
    """What must be said wherever the row is shown."""
    found = ["oracle"] * bool(row.get("oracle")) + ["selected on target"] * selected_on_target(row)
    if printed_only(row):
        found.append("quoted in the paper" if row["origin"] == "quoted" else "not run here")
    return found


def groups(table: Table) -> list[tuple[str, list[Row]]]:
    """The rows by group, both in the order of first appearance."""
    found: dict[str, list[Row]] = {}
    for row in table["rows"]:
        found.setdefault(one_line(row.get("group") or ""), []).append(row)
    return list(found.items())


def seed_counts(table: Table) -> list[int]:
    """The numbers of seeds behind the table's cells, ascending, each once."""
    cells = [cell for row in table["rows"] for cell in (row.get("values") or {}).values() if cell]
    return sorted({cell["n"] for cell in cells if cell.get("n") is not None})


def unit_of(table: Table, column: str) -> str:
    """The unit of `column`: the table's, or its own where `unit` is a dict by column."""
    unit = table["unit"]
    return one_line(unit.get(column, "") if isinstance(unit, Mapping) else unit)


def head(table: Table) -> list[tuple[str, str]]:
    """Budget, unit, direction, selection rule and seeds, for the head of every form of the table."""
    counts = seed_counts(table)
    ran = [row for row in table["rows"] if not printed_only(row)]
    rules = list(dict.fromkeys(one_line(row.get("selection") or "not said") for row in ran))
    lower = [one_line(column) for column in table["columns"] if not higher_is_better(table, column)]
    lines = [("Budget", _budget_text(table)), ("Unit", _unit_text(table))]
    lines += [("Lower is better", ", ".join(lower))] * bool(lower)
    lines += [("Selection rule", "; ".join(rules) or MISSING), ("Seeds per row", _seeds_text(counts))]
    return lines


def _budget_text(table: Table) -> str:
    budget = one_line(table["budget"])
    if table.get("about_budget"):
        return f"{budget}: {one_line(table['about_budget'])}"
    return f"{budget} (smaller than the paper's)" if budget == "quick" else budget


def _unit_text(table: Table) -> str:
    if not isinstance(table["unit"], Mapping):
        return f"{one_line(table['unit'])}, mean ± standard deviation over seeds"
    return "; ".join(f"{one_line(column)}: {unit_of(table, column)}" for column in table["columns"])


def _seeds_text(counts: list[int]) -> str:
    if counts == [1]:
        return "1, so the spread is not known"
    return "–".join(str(count) for count in dict.fromkeys([*counts[:1], *counts[-1:]])) or MISSING


def comparison(table: Table) -> str:
    """How many means are worse than the printed ones, in a sentence that also explains the mark."""
    pairs = [(row, column) for row in table["rows"] for column in table["columns"]]
    compared = [pair for pair in pairs if difference(*pair) is not None]
    if not compared:
        return "The paper prints no number for these rows."
    worse = sum(is_worse(row, column, table) for row, column in compared)
    return (
        f"{worse} of {len(compared)} means are worse than the printed ones by more than rounding (0.05); "
        f"{WORSE_MARK} marks them."
    )


def failures(table: Table) -> list[str]:
    """What failed, a line each.

    >>> failures({"failed": ["out of memory", {"run": "3f2a", "message": "the loss is NaN"}]})
    ['out of memory', 'run = 3f2a; message = the loss is NaN']
    """
    return [one_line(item) if isinstance(item, str) else _pairs(item) for item in table.get("failed") or []]


def flatten(values: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as dotted names and short texts.

    >>> list(flatten({"data": {"noise": [0.0, 0.1]}, "epochs": 100}))
    [('data.noise', '0.0, 0.1'), ('epochs', '100')]
    """
    if isinstance(values, Mapping) and values:
        for key, value in values.items():
            yield from flatten(value, f"{prefix}.{key}" if prefix else str(key))
    elif prefix:
        yield one_line(prefix), one_line(compact(values))


def compact(value: Any) -> str:
    """A plain value as short text: lists of plain values by commas, other things as JSON."""
    if isinstance(value, str) or value is None:
        return value or "none"
    if isinstance(value, list | tuple) and value and not any(isinstance(item, Mapping | list) for item in value):
        return ", ".join(compact(item) for item in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def chosen_text(row: Row) -> str:
    """The row's hyper-parameters; those of each task where they differ between the tasks that make up the row.

    >>> chosen_text({"hyperparameters": {"penalty": 1.0}}), chosen_text({})
    ('penalty = 1.0', 'none to choose')
    >>> chosen_text({"hyperparameters": {"15, 30": {"penalty": 1.0}, "45": {}}})
    '15, 30: penalty = 1.0 / 45: none to choose'
    """
    chosen = row.get("hyperparameters") or {}
    if chosen and all(isinstance(point, Mapping) for point in chosen.values()):
        return " / ".join(f"{one_line(task)}: {_pairs(point) or 'none to choose'}" for task, point in chosen.items())
    return _pairs(chosen) or "none to choose"


def _pairs(values: Any) -> str:
    return "; ".join(f"{key} = {value}" for key, value in flatten(values))


def time_text(values: Mapping[str, Any]) -> str:
    """How long the command took, and the runs behind what it shows, which may have been finished before.

    >>> time_text({"seconds": 75.0, "run_seconds": 3600.0})
    '1 min 15 s; the runs of the seeds, added up, 1 h 0 min'
    """
    own = duration_text(values.get("seconds"))
    runs = values.get("run_seconds")
    return own if runs is None else f"{own}; the runs of the seeds, added up, {duration_text(runs)}"


def duration_text(seconds: float | None) -> str:
    """Seconds as people say them.

    >>> duration_text(41.2), duration_text(754), duration_text(11100)
    ('41 s', '12 min 34 s', '3 h 5 min')
    """
    if seconds is None:
        return MISSING
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole else "under 1 s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
