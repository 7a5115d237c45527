"""`matchdg reproduce`: a table of the paper, ours beside the printed one."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from matchdg.cli import names


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help=f"Which table: {', '.join(names.TABLES)}. `matchdg list tables` shows all.",
            autocompletion=names.completion(names.TABLES),
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
        Path | None, typer.Option(help="Folder; default: matchdg-out/TABLE-BUDGET.", show_default=False)
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of the runs, for tables that share some; default: OUT.", show_default=False),
    ] = None,
    selection: Annotated[
        Literal["source", "target"],
        typer.Option(help="Data that select hyper-parameters and epoch. 'target' leaks, and the table says so."),
    ] = "source",
    json_: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Regenerate a table of the paper and set it beside the printed numbers.

    Writes table.json, table.md, report.html and the figures into the folder. Finished runs are found there
    and not repeated, so an interrupted command goes on where it stopped.

    [bold]Examples[/bold]

    matchdg reproduce slab

    matchdg reproduce slab --budget paper --jobs 2 --out results/slab
    """
    import json
    import os

    from matchdg.core.errors import InputError
    from matchdg.experiments import reproduce as run_study
    from matchdg.experiments import study_of, with_seeds
    from matchdg.reports import print_table, write_report
    from matchdg.reports.progress import automatic

    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs is {jobs}, expected at least 1")
    study = with_seeds(study_of(table, budget, selection), seeds)
    folder = out or Path("matchdg-out") / f"{table}-{budget}"
    command = f"matchdg reproduce {table} --budget {budget}" + (f" --seeds {seeds}" if seeds else "")
    command += " --selection target" if selection == "target" else ""
    outcome = run_study(study, folder, jobs or os.cpu_count() or 1, automatic(), command, store=store)
    report = write_report(outcome)
    if json_:
        typer.echo(json.dumps(outcome.table, indent=2))
    else:
        print_table(outcome.table)
        typer.echo(f"report: {report.resolve()}")
    if outcome.table["failed"]:
        raise typer.Exit(1)
