"""The printed numbers of the paper's results tables, as data."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from matchdg.core.families import choose

PrintedTable = dict[str, Any]


@cache
def printed_tables() -> dict[str, PrintedTable]:
    """All results tables by id, in the paper's order.

    >>> len(printed_tables())
    14
    """
    text = files(__name__).joinpath("results.json").read_text(encoding="utf-8")
    return {table["id"]: table for table in json.loads(text)}


def printed_table(table: str) -> PrintedTable:
    """One table; raises `InputError` that names the nearest id.

    >>> printed_table("slab")["columns"]
    ['Source 1', 'Source 2', 'Target']
    """
    return choose("table", table, printed_tables())


def printed_row(table: str, method: str, group: str | None) -> dict[str, Any] | None:
    """The row of `method` in `group`, or None where the paper has none."""
    for row in printed_table(table)["rows"]:
        if row["method"] == method and row.get("group") == group:
            return dict(row)
    return None
