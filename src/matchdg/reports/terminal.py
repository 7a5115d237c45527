"""A table on the terminal: one line a row where that fits, else three short ones, else fewer columns at a time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from matchdg.reports import cells
from matchdg.reports.cells import Row, Table
from matchdg.reports.gaps import gaps_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

_NAME_LEAST, _NAME_MOST = 8, 28
_ASCII = str.maketrans({"±": "+/-", "–": "-", cells.WORSE_MARK: "v", "·": "-"})


def print_table(table: Table, console: "Console | None" = None) -> None:
    """Print our means beside the printed ones, grouped, worse ones marked; `console` defaults to the output."""
    from rich.console import Console

    console = console or Console()
    writer = _Writer(console)
    writer.line(cells.one_line(table["title"]), "bold")
    for label, text in cells.head(table):
        writer.line(f"{label}: {text}")
    for rendered in writer.fitting(table):
        console.print(rendered)
    writer.line(cells.comparison(table))
    if found := gaps_of(table):
        writer.line(f"{found.caption}:", "bold")
        for group, column, *percents in found.rows:
            told = [f"{name} {text}" for name, text in zip(found.columns[2:], percents, strict=True)]
            writer.line(f"{' '.join([*filter(None, [group]), column])}: {', '.join(told)}")
    for note in table.get("notes") or []:
        writer.line(f"note: {cells.one_line(note)}", "dim")
    for failure in cells.failures(table):
        writer.line(f"failed: {failure}", "bold red")


class _Writer:
    """Texts that a console can show: no markup is read, and letters that its encoding lacks are replaced."""

    def __init__(self, console: "Console") -> None:
        self.console = console

    def text(self, content: str, style: str = "") -> "Text":
        from rich.text import Text

        encoding = self.console.encoding
        try:
            content.encode(encoding)
        except UnicodeEncodeError:
            content = content.translate(_ASCII).encode(encoding, "replace").decode(encoding)
        return Text(content, style=style)

    def line(self, content: str, style: str = "") -> None:
        self.console.print(self.text(content, style))

    def fitting(self, table: Table) -> "list[RichTable]":
        """The first layout as wide as the console or narrower; the narrowest where none is."""
        from rich.measure import Measurement

        rendered: list[RichTable] = []
        for rendered in self._layouts(table):
            widths = [Measurement.get(self.console, self.console.options, part).minimum for part in rendered]
            # `minimum` is cut at the console's width, so a table that is as wide may be wider.
            if max(widths, default=0) < self.console.width:
                break
        return rendered

    def _layouts(self, table: Table) -> "Iterator[list[RichTable]]":
        columns = list(table["columns"])
        yield [self._wide(table, columns)]
        for size in range(len(columns), 0, -1):
            starts = range(0, len(columns), size)
            yield [self._stacked(table, columns[start : start + size]) for start in starts]

    def _wide(self, table: Table, columns: list[str]) -> "RichTable":
        """Three columns for each of the table's; one where nothing is printed."""
        rendered = self._empty()
        names = [" ".join([name, *(f"({tag})" for tag in cells.tags(row))]) for name, row in _named(table)]
        self._column(rendered, "Method", names, "left")
        for column in columns:
            title, rows = cells.one_line(column), table["rows"]
            ours = [cells.our_text(row, column, table) for row in rows]
            if not cells.has_printed(table):
                self._column(rendered, title, ours)
                continue
            self._column(rendered, f"{title}\nours", ours)
            self._column(rendered, "\npaper", [_printed(row, column) for row in rows])
            self._column(rendered, "\ndiff", [cells.marked_difference(row, column, table) for row in rows])
        for group, rows in cells.groups(table):
            self._group(rendered, group)
            for row in rows:
                name = self._name(row, " ")
                texts = [part for column in columns for part in self._parts(row, column, table)]
                rendered.add_row(name, *texts)
        return rendered

    def _stacked(self, table: Table, columns: list[str]) -> "RichTable":
        """Ours, the paper's and the difference below one another."""
        from rich.text import Text

        rendered = self._empty()
        tags = [f" {tag}" for row in table["rows"] for tag in cells.tags(row)]
        self._column(rendered, "Method", [*(name for name, _ in _named(table)), *tags], "left")
        names = ["ours", "paper", "diff"] if cells.has_printed(table) else ["ours"]
        self._column(rendered, "", names, "left")
        labels = self.text("\n".join(names), "dim")
        for column in columns:
            widest = [part.plain for row in table["rows"] for part in self._parts(row, column, table)]
            self._column(rendered, cells.one_line(column), widest)
        for group, rows in cells.groups(table):
            self._group(rendered, group)
            for row in rows:
                stacks = [Text("\n").join(self._parts(row, column, table)) for column in columns]
                rendered.add_row(self._name(row, "\n "), labels, *stacks)
        return rendered

    def _empty(self) -> "RichTable":
        from rich import box
        from rich.table import Table as RichTable

        return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)

    def _column(self, rendered: "RichTable", title: str, contents: list[str], justify: str = "right") -> None:
        """A column never narrower than what it holds, but for long names; group names may wrap as well."""
        from rich.cells import cell_len

        lines = [line for content in (title, *contents) for line in content.split("\n")]
        width = max(cell_len(line) for line in lines)
        is_name = title == "Method"
        rendered.add_column(
            self.text(title),
            justify=justify,  # type: ignore[arg-type]
            min_width=_NAME_LEAST if is_name else width,
            max_width=_NAME_MOST if is_name else None,
            no_wrap=not is_name,
            overflow="fold",
        )

    def _group(self, rendered: "RichTable", group: str) -> None:
        if rendered.rows:
            rendered.add_section()
        if group:
            rendered.add_row(self.text(group, "italic"))

    def _name(self, row: Row, joint: str) -> "Text":
        name = self.text(cells.one_line(row["method"]), "bold")
        for tag in cells.tags(row):
            shown = f"({tag})" if joint == " " else tag
            name.append(joint).append_text(self.text(shown, "not bold yellow"))
        return name

    def _parts(self, row: Row, column: str, table: Table) -> "list[Text]":
        ours = self.text(cells.our_text(row, column, table))
        if not cells.has_printed(table):
            return [ours]
        worse = cells.is_worse(row, column, table)
        return [
            ours,
            self.text(_printed(row, column), "dim"),
            self.text(cells.marked_difference(row, column, table), "bold red" if worse else ""),
        ]


def _named(table: Table) -> list[tuple[str, Row]]:
    return [(cells.one_line(row["method"]), row) for row in table["rows"]]


def _printed(row: Row, column: str) -> str:
    return cells.value_text(cells.paper_cell(row, column))
