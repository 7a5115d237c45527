"""What `matchdg data list` and `check` say, as plain values."""

from pathlib import Path
from typing import Any

from matchdg.core.errors import InputError
from matchdg.data.catalogue import COLLECTIONS, Collection
from matchdg.data.idx import read_idx
from matchdg.data.sources import look, places


def located(data_dir: Path | None = None) -> list[dict[str, Any]]:
    """For every collection, the first place that has all its files, or None. Content is not verified."""
    rows = []
    for collection in COLLECTIONS.values():
        seen = (look(collection, place) for place in places(collection, data_dir))
        found = next((here.place for here in seen if here.problem is None), None)
        rows.append(
            {
                "name": collection.name,
                "title": collection.title,
                "folder": str(found.path) if found else None,
                "where": found.why if found else None,
            }
        )
    return rows


def checked(collection: Collection, data_dir: Path | None = None) -> list[dict[str, Any]]:
    """For every place that has files of `collection`: which of them are wrong, and what is missing."""
    rows = []
    for place in places(collection, data_dir):
        here = look(collection, place)
        if here.files:
            problems = [problem for file in here.files if (problem := _problem(collection, file, here.files[file]))]
            if here.problem:
                problems.append(f"{here}; run `matchdg data get {collection.name}`")
            rows.append({"name": collection.name, "folder": str(place.path), "where": place.why, "problems": problems})
    return rows


def _problem(collection: Collection, file: str, path: Path) -> str | None:
    try:
        read_idx(path, collection.checksums[file])
    except InputError as error:
        return str(error)
    return None
