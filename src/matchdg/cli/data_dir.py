"""`--data-dir` of the commands that build data sets."""

import os
from pathlib import Path
from typing import Annotated

import typer

from matchdg.core.errors import InputError

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Folder of the data's files; default: the variable MATCHDG_DATA.", show_default=False
    ),
]


def use_data_dir(folder: Path | None) -> None:
    """Look for files in `folder` first, in this process and in those that it starts."""
    if folder is None:
        return
    path = folder.expanduser().absolute()
    if not path.is_dir():
        raise InputError(f"--data-dir is {folder}, and there is no such folder; `matchdg data get` can make one")
    os.environ["MATCHDG_DATA"] = str(path)
