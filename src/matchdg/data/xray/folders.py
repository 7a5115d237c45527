"""Where the folders of the chest X-rays are, and which files they have."""

import hashlib
import os
from pathlib import Path
from typing import NoReturn

from matchdg.core.errors import InputError
from matchdg.data.sources import VARIABLE, cache_root
from matchdg.data.xray.collections import XrayCollection

FOLDER = "chest-xray"


def find_folder(collection: XrayCollection, data_dir: Path | None = None) -> Path:
    """The folder of `collection`; raises `InputError` that says where it was looked for and how it should look.

    Looked in are `data_dir`, the folder that the variable MATCHDG_DATA names, and the user's cache, in this order: for
    a folder with one of the collection's names, there or in `chest-xray` there; or the place itself, if it has the
    collection's table of labels.
    """
    places = _places(data_dir)
    for place in places:
        for folder in (place, place / FOLDER):
            if table_of(collection, folder) is not None:
                return folder
            for name in collection.folders:
                if (folder / name).is_dir():
                    return folder / name
    looked = ", ".join(str(place) for place in places)
    raise InputError(
        f"the X-rays of {collection.name} were not found in {looked}; expected {collection.example}. They cannot be "
        f"fetched without an agreement with those who keep them: get them, and name the folder that holds the three "
        f"collections with --data-dir, dataset.data_dir or {VARIABLE}"
    )


def table_of(collection: XrayCollection, folder: Path) -> Path | None:
    """The collection's own table of labels, if the folder has it."""
    return next((folder / name for name in collection.tables if (folder / name).is_file()), None)


def fingerprint_of(collection: XrayCollection, folder: Path) -> str:
    """A digest of the collection's tables and of its files' names; their content would be tens of gigabytes.

    Of CheXpert's files, whose names are those of views, the names of the patients' folders are taken.
    """
    sha, patients = hashlib.sha256(), folder / "train"
    try:
        for table in sorted(folder.glob("*.csv")):
            sha.update(table.read_bytes())
        nested = collection.name == "CheXpert" and patients.is_dir()
        names = [path.name for path in patients.iterdir()] if nested else list(files_by_stem(collection, folder))
    except OSError as error:
        _refuse(error)
    sha.update("\n".join(sorted(names)).encode(errors="surrogateescape"))
    return sha.hexdigest()


def files_by_stem(collection: XrayCollection, folder: Path) -> dict[str, Path]:
    """Every image below `folder`, by its name without suffix; of several with one name, the first in sorted order.

    DICOM counts before PNG, and PNG before JPEG, where an X-ray is there as more than one of them.
    """
    ranks = {suffix: rank for rank, suffix in enumerate(collection.suffixes)}
    found: dict[str, Path] = {}
    for base, folders, names in os.walk(folder, onerror=_refuse):
        folders.sort()
        for name in sorted(names):
            stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a Path for each of 100,000 files takes seconds
            rank = ranks.get(suffix.lower())
            if rank is not None and (stem not in found or rank < ranks[found[stem].suffix.lower()]):
                found[stem] = Path(base, name)
    return found


def _places(data_dir: Path | None) -> list[Path]:
    variable = os.environ.get(VARIABLE)
    named = [data_dir] if data_dir else []
    named += [Path(variable)] if variable else []
    return [path.expanduser() for path in (*named, cache_root())]


def _refuse(error: OSError) -> NoReturn:
    raise InputError(f"{error.filename} could not be read: {error.strerror}; change its permissions, or move it away")
