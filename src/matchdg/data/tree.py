"""A folder of images as `domain/class/file`."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from matchdg.core.errors import InputError
from matchdg.data.contents import content_digests
from matchdg.data.image_table import ImageTable

LAYOUT = "expected folders DOMAIN/CLASS with image files"
# What systems leave in folders unasked.
_LITTER = {"thumbs.db", "desktop.ini"}


def read_tree(root: Path, domains: Sequence[str] | None = None) -> ImageTable:
    """The images under `root`, in the order of domain, class and name; `domains` are those to read, in their order.

    Files beside the domains' and the classes' folders are no images and are passed over, and so are hidden ones.
    Raises `InputError` for a folder without images, a folder among images, and names that differ by case alone.
    """
    found = _folders(root)
    names = list(domains) if domains is not None else [path.name for path in found]
    missing = [name for name in names if name not in {path.name for path in found}]
    if missing:
        raise InputError(f"{root} has no folder {missing[0]!r}; it has {', '.join(p.name for p in found) or 'none'}")
    if not names:
        raise InputError(f"{root} has no folders; {LAYOUT}")
    _check_case("domains", root, names)
    classes: dict[str, list[Path]] = {}
    places: list[tuple[int, str]] = []
    files: list[Path] = []
    for index, name in enumerate(names):
        folders = _folders(root / name)
        if not folders:
            raise InputError(f"domain folder {root / name} has no class folders; {LAYOUT}, or remove it")
        for folder in folders:
            images = _images(folder)
            classes.setdefault(folder.name, []).append(folder)
            files += images
            places += [(index, folder.name)] * len(images)
    class_names = sorted(classes)
    _check_case("classes", root, class_names)
    labels = {name: label for label, name in enumerate(class_names)}
    return ImageTable(
        tuple(files),
        torch.tensor([labels[name] for _, name in places]),
        torch.tensor([index for index, _ in places]),
        tuple(class_names),
        tuple(names),
    )


def fingerprint_of(root: Path, files: Iterable[Path], more: Sequence[bytes] = ()) -> str:
    """A digest of the files' names under `root` and their contents, and of `more`; the same wherever `root` is."""
    paths = list(files)
    digests, _ = content_digests(paths)
    sha = hashlib.sha256()
    for path, content in zip(paths, digests, strict=True):
        name = os.fsencode(path.relative_to(root).as_posix())
        sha.update(b"%d %b %b\n" % (len(name), name, (content or "unreadable").encode()))
    for part in more:
        sha.update(b"%d %b\n" % (len(part), part))
    return sha.hexdigest()[:16]


def _images(folder: Path) -> list[Path]:
    entries = _entries(folder)
    inner = [entry.name for entry in entries if entry.is_dir()]
    if inner:
        raise InputError(f"{folder / inner[0]} is a folder, expected an image file; {LAYOUT}")
    # Links that lead nowhere count as files, so that they are named among those that cannot be read.
    if not entries:
        raise InputError(f"class folder {folder} has no images; add some or remove it")
    return [folder / entry.name for entry in entries]


def _folders(folder: Path) -> list[Path]:
    return [folder / entry.name for entry in _entries(folder) if entry.is_dir()]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, by name, without what is hidden."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry for entry in entries if entry.name[0] != "." and entry.name.lower() not in _LITTER),
                key=lambda entry: entry.name,
            )
    except FileNotFoundError:
        raise InputError(f"{folder} does not exist; {LAYOUT}") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}); {LAYOUT}") from None


def _check_case(kind: str, root: Path, names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(
                f"{kind} {other!r} and {name!r} in {root} differ by case alone; give one of them another name, or "
                "put both into one folder if they are the same"
            )
