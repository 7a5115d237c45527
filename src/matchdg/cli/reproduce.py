"""`matchdg reproduce`: tables of the paper, ours beside the printed ones, and its figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from matchdg.cli import names
from matchdg.cli.data_dir import DataDir, use_data_dir

if TYPE_CHECKING:
    from matchdg.experiments import Study
    from matchdg.experiments.figures import FigureStudy
    from matchdg.experiments.reproduce import Compute
    from matchdg.reports.html import Report


def reproduce(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...",
            help=f"Which tables: {', '.join(names.TABLES)}; or figures: {', '.join(names.FIGURES)}. "
            "`matchdg list tables` says what they are.",
            autocompletion=names.completion((*names.TABLES, *names.FIGURES)),
            show_default=False,
        ),
    ],
    budget: Annotated[
        Literal["quick", "cpu", "paper"],
        typer.Option(
            help="quick: minutes, smaller. cpu: the paper's sizes and seeds with smaller images, as far as a CPU "
            "allows. paper: as printed. The table's head says what that means for it."
        ),
    ] = "quick",
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds; default: the budget's.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes side by side, one thread each; default: all cores.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder; of several tables, each has its own in it. Default: matchdg-out/TABLE-BUDGET.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of the runs, for tables that share some; default: OUT.", show_default=False),
    ] = None,
    selection: Annotated[
        Literal["source", "target"],
        typer.Option(help="Data that select hyper-parameters and epoch. 'target' leaks, and the table says so."),
    ] = "source",
    hparams: Annotated[
        Literal["search", "paper"],
        typer.Option(
            help="search: the budget's, searched where it has a grid. paper: as printed for each row and target, in "
            "tables that are searched otherwise."
        ),
    ] = "search",
    finished: Annotated[
        bool, typer.Option("--finished", help="Run nothing; show a table as far as its runs are finished.")
    ] = False,
    data_dir: DataDir = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Regenerate tables of the paper beside the printed numbers, or figures of it.

    Writes a table's table.json, table.md, report.html and figures into the folder; a figure's numbers as CSV and
    JSON, PNG and SVG, report.html. Of several, one report.html leads to all. Finished runs are found there and not
    repeated, so an interrupted command goes on where it stopped.

    [bold]Examples[/bold]

    matchdg reproduce slab

    matchdg reproduce slab rotated_digits --out demo

    matchdg reproduce slab --budget paper --jobs 2 --out results/slab
    """
    import json
    import os

    from matchdg.core.errors import InputError
    from matchdg.experiments.catalogue import find_study
    from matchdg.reports import write_index

    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs is {jobs}, expected at least 1")
    use_data_dir(data_dir)
    studies = {table: find_study(table, budget, selection, seeds, hparams) for table in tables}
    folder = out or Path("matchdg-out") / f"{'+'.join(studies)}-{budget}"
    options = f" --budget {budget}" + (f" --seeds {seeds}" if seeds else "")
    options += " --selection target" if selection == "target" else ""
    options += " --hparams paper" if hparams == "paper" else ""
    found: dict[str, dict[str, Any]] = {}
    reports = []
    for table, study in studies.items():
        own = folder if len(studies) == 1 else folder / table
        command = f"matchdg reproduce {table}{options}"
        found[table], report = run(study, own, jobs or os.cpu_count() or 1, command, store, finished)
        reports.append(report)
        if not json_:
            show(found[table])
    page = reports[0].page
    if len(reports) > 1:
        page = folder / "report.html"
        write_index(" and ".join(report.title for report in reports), reports, page)
    if json_:
        typer.echo(json.dumps(found if len(found) > 1 else found[tables[0]], indent=2))
    else:
        typer.echo(f"report: {page.resolve()}")
    if any(values["failed"] for values in found.values()):
        raise typer.Exit(1)


def run(
    study: "Study | FigureStudy", folder: Path, jobs: int, command: str, store: Path | None, finished: bool
) -> "tuple[dict[str, Any], Report]":
    """The content of the table's or figure's JSON file, and its report."""
    from matchdg.core.errors import InputError
    from matchdg.experiments import Study
    from matchdg.experiments import reproduce as reproduce_table
    from matchdg.experiments.figures import reproduce_figure
    from matchdg.reports import write_figure_report, write_report
    from matchdg.reports.progress import automatic

    if finished and not isinstance(study, Study):
        raise InputError("--finished shows tables; a figure is drawn when its runs are finished, leave the option out")
    if isinstance(study, Study):
        compute: Compute = "nothing" if finished else "missing"
        outcome = reproduce_table(study, folder, jobs, automatic(), command, store=store, compute=compute)
        return outcome.table, write_report(outcome)
    drawn = reproduce_figure(study, folder, jobs, automatic(), command, store=store)
    return drawn.values, write_figure_report(drawn.values, folder)


def show(values: dict[str, Any]) -> None:
    """Print the table, or what the figure comes to."""
    from matchdg.reports import cells, print_table, summary_lines

    if "figure" not in values:
        print_table(values)
        return
    typer.echo(values["title"])
    for line in summary_lines(values):
        typer.echo(line)
    for failure in cells.failures(values):
        typer.echo(f"failed: {failure}")
