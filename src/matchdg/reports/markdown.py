"""A table as Markdown, for a README, an issue or a notebook."""

import re

from matchdg.reports import cells
from matchdg.reports.cells import Row, Table
from matchdg.reports.gaps import gaps_of


def to_markdown(table: Table) -> str:
    """Head, results beside the printed numbers, notes, hyper-parameters chosen, and the command."""
    blocks = [
        f"# {escape(table['title'])}",
        _list([f"{label}: {text}" for label, text in [*cells.head(table), *_made(table)]]),
        _results(table),
        escape(cells.comparison(table)),
    ]
    if failed := cells.failures(table):
        blocks += ["## Failed", _list(failed)]
    if notes := table.get("notes"):
        blocks += ["## Notes", _list(notes)]
    if found := gaps_of(table):
        head = [":---", ":---"] + ["---:"] * (len(found.columns) - 2)
        lines = [[escape(text) for text in line] for line in (found.columns, *found.rows)]
        blocks += ["## Gap closed", escape(found.caption) + ".", _rows([lines[0], head, *lines[1:]])]
    blocks += ["## Hyper-parameters chosen", _chosen(table)]
    if table.get("command"):
        blocks += ["## Command", _code(cells.one_line(table["command"]))]
    return "\n\n".join(blocks) + "\n"


def escape(text: object) -> str:
    """`text` on one line, shown as it is by a Markdown reader.

    >>> escape("C-MMD | <b> *x*")
    'C-MMD \\\\| \\\\<b\\\\> \\\\*x\\\\*'
    """
    return re.sub(r"([\\`*_\[\]<>|&~#$])", r"\\\1", cells.one_line(text))


def _results(table: Table) -> str:
    columns, printed = table["columns"], cells.has_printed(table)
    header = ["Method"]
    for column in columns:
        header += [escape(column), *(["paper", "difference"] if printed else [])]
    lines = [header, [":---"] + ["---:"] * (len(header) - 1)]
    for group, rows in cells.groups(table):
        if group:
            lines.append([f"*{escape(group)}*"] + [""] * (len(header) - 1))
        for row in rows:
            line = [_name(row)]
            for column in columns:
                line.append(cells.our_text(row, column, table))
                if printed:
                    line += [
                        cells.value_text(cells.paper_cell(row, column)),
                        cells.marked_difference(row, column, table),
                    ]
            lines.append(line)
    return _rows(lines)


def _chosen(table: Table) -> str:
    lines = [["Method", "Group", "Selection rule", "Hyper-parameters"], [":---"] * 4]
    for group, rows in cells.groups(table):
        for row in rows:
            if not cells.printed_only(row):
                rule = row.get("selection") or cells.MISSING
                lines.append([_name(row), escape(group), escape(rule), escape(cells.chosen_text(row))])
    return _rows(lines)


def _name(row: Row) -> str:
    return " ".join([escape(row["method"]), *(f"({tag})" for tag in cells.tags(row))])


def _made(table: Table) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {version}" for name, version in (table.get("versions") or {}).items())
    return [("Versions", versions or cells.MISSING), ("Time", cells.time_text(table))]


def _rows(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(items: list[str]) -> str:
    return "\n".join(f"- {escape(item)}" for item in items)


def _code(text: str) -> str:
    """A fenced block; the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}shell\n{text}\n{fence}"
