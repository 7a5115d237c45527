"""The command line: one file a command. Heavy imports wait until a command runs."""

import sys

import typer

from matchdg.cli import data, listing, quality, reproduce, theory, train
from matchdg.core.errors import InputError

INTERRUPTED = 130

app = typer.Typer(
    name="matchdg",
    help="Domain generalization by causal matching: train on several domains, hold up on one never seen.",
    epilog="Start with: matchdg reproduce slab    Then: matchdg list methods, matchdg train --help",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command(name="train")(train.train)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="quality")(quality.quality)
app.command(name="list")(listing.list_family)
app.command(name="theory")(theory.theory)
app.add_typer(data.app, name="data")


def _version(value: bool) -> None:
    if value:
        from matchdg import __version__

        typer.echo(f"matchdg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Domain generalization by causal matching: train on several domains, hold up on one never seen."""


def main() -> None:
    """Run the command line. Bad input: exit code 2 and one message, no traceback. Interrupted: 130."""
    try:
        app()
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as ending:
        # Some versions of typer make an exit of an interrupt.
        if isinstance(ending, SystemExit) and ending.code != INTERRUPTED:
            raise
        typer.echo("interrupted: what was finished is kept; the same command goes on from there", err=True)
        sys.exit(INTERRUPTED)
