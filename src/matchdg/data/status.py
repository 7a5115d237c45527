"""What `matchdg data list` and `check` say, as plain values."""

from pathlib import Path
from typing import Any

from matchdg.core.errors import InputError
from matchdg.data.cache import cached_images
from matchdg.data.catalogue import COLLECTIONS, Collection
from matchdg.data.idx import read_idx
from matchdg.data.kfold import complete_lists, read_lists
from matchdg.data.pacs import DOMAINS, PacsSettings, look_for_pacs
from matchdg.data.sources import look, places
from matchdg.data.tree import read_tree

PACS = "pacs"


def located(data_dir: Path | None = None) -> list[dict[str, Any]]:
    """For every collection, and PACS, the first place that has all its files, or None. Content is not verified."""
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
                "advice": f"matchdg data get {collection.name}",
            }
        )
    pacs = look_for_pacs(data_dir)
    folder, where = (None, None) if pacs is None else (str(pacs[0]), pacs[1])
    advice = "name a folder that has it with --data-dir"
    return [*rows, {"name": PACS, "title": "PACS", "folder": folder, "where": where, "advice": advice}]


def checked_pacs(data_dir: Path | None = None) -> list[dict[str, Any]]:
    """Of PACS the files that cannot be read, and what is wrong with its folders or lists; nothing where it is nowhere.

    All files are decoded, into the cache, where those of the default size are wanted anyway.
    """
    found = look_for_pacs(data_dir)
    if found is None:
        return []
    root, where = found
    try:
        table = read_tree(root, DOMAINS)
        read_lists(root, complete_lists(root, DOMAINS), table.class_names)
        problems = list(cached_images(table.files, PacsSettings().size, title="images of PACS").problems.values())
    except InputError as error:
        problems = [str(error)]
    return [{"name": PACS, "folder": str(root), "where": where, "problems": problems}]


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
