"""The gap closed: how much of PerfMatch's lead over a method without matches the learnt matches give, by table."""

from dataclasses import dataclass
from typing import Any

from matchdg.reports.cells import MISSING, Table, one_line

ORACLE = "PerfMatch"
CAPTION = f"Percent of {ORACLE}'s lead over the control that a method has too"


@dataclass(frozen=True)
class Gaps:
    """A line for each task, a column for each pair of method and control."""

    columns: list[str]
    rows: list[list[str]]
    caption: str = CAPTION


def gaps_of(table: Table) -> Gaps | None:
    """The gaps closed, or None for a table that has none.

    >>> entry = {"group": "30,45", "column": "rotMNIST", "method": "MatchDG", "control": "ERM", "percent": 70.4}
    >>> gaps_of({"gap_closed": [entry]}).rows
    [['30,45', 'rotMNIST', '70 %']]
    """
    entries = table.get("gap_closed") or []
    if not entries:
        return None
    pairs = list(dict.fromkeys(_pair(entry) for entry in entries))
    tasks: dict[tuple[str, str], dict[str, float | None]] = {}
    for entry in entries:
        task = tasks.setdefault((one_line(entry["group"] or ""), one_line(entry["column"])), {})
        task[_pair(entry)] = entry["percent"]
    columns = ["Group", "Column", *pairs]
    return Gaps(columns, [[*task, *(_text(found.get(pair)) for pair in pairs)] for task, found in tasks.items()])


def _pair(entry: dict[str, Any]) -> str:
    """Which method against which control, and with which oracle where it is not the usual one."""
    oracle = one_line(entry.get("oracle", ORACLE))
    with_oracle = "" if oracle == ORACLE else f" (lead of {oracle})"
    return f"{one_line(entry['method'])} against {one_line(entry['control'])}{with_oracle}"


def _text(percent: float | None) -> str:
    """Nothing where PerfMatch has no lead.

    >>> _text(-3.6), _text(None)
    ('-4 %', '–')
    """
    return MISSING if percent is None else f"{percent:z.0f} %"
