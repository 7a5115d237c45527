"""One page that leads to the reports of several studies."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from matchdg.reports import cells
from matchdg.reports.html import Report, embedded, write_html


def write_index(title: str, reports: Sequence[Report], path: Path) -> None:
    """Write what each report comes to, its figures and a link to it to `path`; the reports lie below its folder."""
    entries = [
        {
            "title": report.title,
            "summary": [cells.one_line(paragraph) for paragraph in report.summary],
            "figures": embedded(report.figures),
            "link": quote(report.page.relative_to(path.parent).as_posix()),
        }
        for report in reports
    ]
    write_html("index.html.j2", {"title": title, "summary": [], "head": [], "entries": entries}, path)
