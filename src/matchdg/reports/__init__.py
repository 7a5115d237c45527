"""What people look at: the terminal's table, Markdown, plots and HTML pages."""

from typing import TYPE_CHECKING, Any

from matchdg.reports.figure_report import summary_lines, write_figure_report
from matchdg.reports.index import write_index
from matchdg.reports.markdown import to_markdown
from matchdg.reports.page import summarise, write_page
from matchdg.reports.regions import Panel, plot_regions
from matchdg.reports.terminal import print_table

if TYPE_CHECKING:
    from matchdg.reports.report import write_report

__all__ = [
    "Panel",
    "plot_regions",
    "print_table",
    "summarise",
    "summary_lines",
    "to_markdown",
    "write_figure_report",
    "write_index",
    "write_page",
    "write_report",
]


def __getattr__(name: str) -> Any:
    # A study's report needs PyTorch, which takes seconds to import; a table needs none of it.
    if name == "write_report":
        from matchdg.reports.report import write_report

        return write_report
    raise AttributeError(f"module 'matchdg.reports' has no attribute {name!r}")
