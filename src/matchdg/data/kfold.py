"""The official lists of PACS: which images train and which validate, `DOMAIN_train_kfold.txt` and so on."""

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

from matchdg.core.errors import InputError

LISTS: Final = ("train", "crossval")


def find_lists(root: Path, domains: Sequence[str]) -> dict[tuple[str, str], Path]:
    """The lists of `domains` that there are by (domain, part): beside the domains' folders, or in a folder there.

    In the official archive `root` is called kfold, and the lists are in a folder beside that one.
    """
    folders = _with_inner(root) + (_with_inner(root.parent) if root.name == "kfold" else [])
    found: dict[tuple[str, str], Path] = {}
    for domain, part in product(domains, LISTS):
        places = [folder / name_of(domain, part) for folder in folders]
        path = next((place for place in places if place.is_file()), None)
        if path is not None:
            found[domain, part] = path
    return found


def name_of(domain: str, part: str) -> str:
    """A list's name, such as photo_train_kfold.txt."""
    return f"{domain}_{part}_kfold.txt"


def complete_lists(root: Path, domains: Sequence[str]) -> dict[tuple[str, str], Path]:
    """All lists of `domains`, or none where there is none; raises `InputError` where some are missing."""
    found = find_lists(root, domains)
    missing = [name_of(*key) for key in product(domains, LISTS) if key not in found]
    if found and missing:
        first = next(iter(found.values()))
        raise InputError(f"{first} has no {missing[0]} beside it; add all lists of the source domains, or remove them")
    return found


def read_lists(root: Path, lists: dict[tuple[str, str], Path], class_names: Sequence[str]) -> dict[str, set[str]]:
    """The images of each part, named as DOMAIN/CLASS/FILE. A line is such a name and its class's number from 1 on.

    Raises `InputError` naming the line for a file that is not there, a number that is not its class's, and an image
    that both trains and validates.
    """
    parts: dict[str, set[str]] = {part: set() for part in LISTS}
    for (domain, part), path in lists.items():
        for number, line in enumerate(_lines(path), 1):
            if not line.strip():
                continue
            name, label = _read_line(line, f"{path}, line {number}", class_names)
            if not (root / name).is_file():
                raise InputError(
                    f"{path}, line {number}: there is no {root / name}; bring that image, or remove the line"
                )
            if not name.startswith(f"{domain}/") or name.split("/")[1] != class_names[label]:
                raise InputError(
                    f"{path}, line {number}: {name} with label {label + 1} ({class_names[label]}) does not belong "
                    f"there; expected an image of {domain} whose folder is its class"
                )
            parts[part].add(name)
    both = sorted(set.intersection(*parts.values()))
    if both:
        raise InputError(f"{both[0]} is in a list to train on and in one to validate; remove it from one of them")
    return parts


def _read_line(line: str, where: str, class_names: Sequence[str]) -> tuple[str, int]:
    words = line.strip().rsplit(None, 1)
    if len(words) < 2 or not words[1].isdecimal() or not 1 <= int(words[1]) <= len(class_names):
        raise InputError(
            f"{where}: {line.strip()!r}, expected DOMAIN/CLASS/FILE and a number from 1 to {len(class_names)}"
        )
    # Some copies have folders in front.
    name = "/".join(words[0].replace("\\", "/").split("/")[-3:])
    return name, int(words[1]) - 1


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def _with_inner(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [folder, *sorted(folder / entry.name for entry in entries if entry.is_dir())]
    except OSError:
        return [folder]
