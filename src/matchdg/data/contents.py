"""Digests of files' contents, remembered by size and time of change so that a file is read once."""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from matchdg.core.files import write_text
from matchdg.data.progress import progress_of_files
from matchdg.data.sources import cache_root

# A file changed less than so long before it was read may change again without its time telling.
_SETTLED = 2_000_000_000
_TOGETHER = 64
_THREADS = 4


def content_digests(files: Sequence[Path], title: str = "images") -> tuple[list[str | None], dict[int, str]]:
    """A digest of each file's content, None for one that cannot be read; and by its place in the list, why not.

    Digests are remembered in the user's cache: a file of the same name, size and time of change is not read again.
    """
    names = [str(file.absolute()) for file in files]
    index = _index_file(names)
    known = _read(index)
    stats = [_stat(name) for name in names]
    digests: list[str | None] = [None] * len(names)
    new = []
    for place, (name, stat) in enumerate(zip(names, stats, strict=True)):
        entry = known.get(name)
        if entry is not None and entry[:2] == stat:
            digests[place] = str(entry[2])
        else:
            new.append(place)
    now = time.time_ns()
    problems: dict[int, str] = {}
    for place, found in zip(new, _digest_all([names[place] for place in new], title), strict=True):
        if isinstance(found, OSError):
            problems[place] = f"{files[place]} cannot be read: {found.strerror or found}"
            continue
        digests[place] = found
        stat = stats[place]
        if stat is not None and stat[1] < now - _SETTLED:
            known[names[place]] = [*stat, found]
    if any(names[place] in known for place in new):
        _remember(index, known)
    return digests, problems


def _index_file(names: list[str]) -> Path:
    root = os.path.commonpath(names) if names else ""
    return cache_root() / "contents" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.json"


def _read(index: Path) -> dict[str, list[int | str]]:
    try:
        known = json.loads(index.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(index: Path, known: dict[str, list[int | str]]) -> None:
    """For the next time. Where the cache cannot be written, files are read again then."""
    try:
        write_text(index, json.dumps(known))
    except ValueError:
        return


def _stat(name: str) -> list[int] | None:
    try:
        stat = os.stat(name)  # noqa: PTH116 - ten thousands of files
    except OSError:
        return None
    return [stat.st_size, stat.st_mtime_ns]


def _digest_all(names: list[str], title: str) -> list[str | OSError]:
    if not names:
        return []
    sizes = [(_stat(name) or [0])[0] for name in names]
    parts = [range(start, min(start + _TOGETHER, len(names))) for start in range(0, len(names), _TOGETHER)]
    found: list[str | OSError] = []
    with (
        progress_of_files(f"reading {len(names):,} {title}", sum(sizes)) as advance,
        ThreadPoolExecutor(_THREADS) as pool,
    ):
        for part, digests in zip(parts, pool.map(lambda part: [_digest(names[i]) for i in part], parts), strict=True):
            found += digests
            advance(sum(sizes[place] for place in part))
    return found


def _digest(name: str) -> str | OSError:
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()[:32]
    except OSError as error:
        return error
