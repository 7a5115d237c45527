"""Decoded images, kept in the user's cache folder as one array of bytes a collection and size."""

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from matchdg.core.errors import InputError, OutputError
from matchdg.core.files import alone, digest, write_json
from matchdg.data.contents import content_digests
from matchdg.data.decoders import DECODERS, Decoder, decoder_of
from matchdg.data.images import VERSION, read_pixels
from matchdg.data.progress import progress_of_files
from matchdg.data.sources import CACHE, cache_root
from matchdg.data.threads import single_threads

PIXELS, INDEX = "pixels.bin", "index.json"
ADVICE: Final = f"make room there, or name another folder for caches in {CACHE}"
_TOGETHER = 16
_STALE_SECONDS = 3600.0


@dataclass(frozen=True)
class CachedImages:
    """Where the pixels of files are: `rows[i]` of the array at `path` [`count`, C, S, S], -1 for one not readable.

    `problems` says why, by the place in the list of files.
    """

    path: Path
    count: int
    rows: list[int]
    problems: dict[int, str] = field(default_factory=dict)


def cached_images(
    files: Sequence[Path], size: int, channels: int = 3, decoders: dict[str, Decoder] = DECODERS, title: str = "images"
) -> CachedImages:
    """The pixels of `files`, from the cache or decoded into it.

    What is cached is known by the files' content, so that a file may move, and one that changes is decoded anew.
    """
    digests, problems = content_digests(files, title)
    keys = [_key(file, content, decoders) for file, content in zip(files, digests, strict=True)]
    unique = list(dict.fromkeys(key for key in keys if key))
    places = {key: row for row, key in enumerate(unique)}
    folder = cache_root() / "images" / f"{_kind(size, channels)}-{digest(unique)}"
    corrupt = _read_corrupt(folder, len(unique) * channels * size * size)
    if corrupt is None:
        with alone(folder, ADVICE):
            # Another process may have been faster.
            corrupt = _read_corrupt(folder, len(unique) * channels * size * size)
            if corrupt is None:
                sample = {key: file for file, key in zip(files, keys, strict=True) if key}
                corrupt = _Build(folder, unique, sample, size, channels, decoders).run(title)
    for index, key in enumerate(keys):
        if key in corrupt:
            problems[index] = f"{files[index]} {corrupt[key]}"
    rows = [-1 if key is None or key in corrupt else places[key] for key in keys]
    return CachedImages(folder / PIXELS, len(unique), rows, problems)


def _kind(size: int, channels: int) -> str:
    """What arrays begin their names with whose rows mean the same."""
    return f"v{VERSION}-{size}x{channels}"


def _key(file: Path, content: str | None, decoders: dict[str, Decoder]) -> str | None:
    """What a row is known by: the content, and the decoder where it is not the common one."""
    if content is None or file.suffix.lower() not in decoders:
        return content
    decoder = decoder_of(file, decoders)
    return f"{content}-{decoder.__module__}.{decoder.__qualname__}"


def _read_corrupt(folder: Path, size: int) -> dict[str, str] | None:
    """Of a finished array the keys of what could not be decoded, and why; None where there is no such array."""
    index = _read_index(folder)
    try:
        whole = index is not None and (folder / PIXELS).stat().st_size == size
    except OSError:
        return None
    return index["corrupt"] if whole and index is not None else None


def _read_index(folder: Path) -> dict[str, Any] | None:
    try:
        index = json.loads((folder / INDEX).read_text())
        return index if isinstance(index["keys"], list) and isinstance(index["corrupt"], dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class _Build:
    """Decodes what no other array of the same size has; the array appears under its name when it is whole."""

    def __init__(
        self,
        folder: Path,
        keys: list[str],
        files: dict[str, Path],
        size: int,
        channels: int,
        decoders: dict[str, Decoder],
    ) -> None:
        self.folder, self.keys, self.files = folder, keys, files
        self.size, self.channels, self.decoders = size, channels, decoders
        self.bytes = channels * size * size
        self.corrupt: dict[str, str] = {}

    def run(self, title: str) -> dict[str, str]:
        """Decode, write, and say what could not be decoded."""
        temporary = None
        try:
            for left in self.folder.glob(f".{PIXELS}.*"):
                if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                    left.unlink(missing_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{PIXELS}.")
            with os.fdopen(descriptor, "wb") as stream:
                stream.truncate(len(self.keys) * self.bytes)
                self._fill(stream.fileno(), title)
                os.fsync(stream.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(self.folder / PIXELS)
        except OSError as error:
            raise OutputError(f"{self.folder} cannot be written ({error.strerror or error}); {ADVICE}") from None
        finally:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)
        write_json(self.folder / INDEX, {"keys": self.keys, "corrupt": self.corrupt})
        return self.corrupt

    def _fill(self, descriptor: int, title: str) -> None:
        places = self._copy_known(descriptor)
        pool = single_threads(workers())
        total = sum(self.files[self.keys[row]].stat().st_size for row in places)
        try:
            with progress_of_files(f"decoding {len(places):,} {title}", total) as advance:
                parts = [places[start : start + _TOGETHER] for start in range(0, len(places), _TOGETHER)]
                for done in pool.map(lambda part: self._decode(descriptor, part), parts):
                    advance(done)
        finally:
            pool.shutdown(cancel_futures=True)

    def _decode(self, descriptor: int, places: list[int]) -> int:
        done = 0
        for row in places:
            key = self.keys[row]
            file = self.files[key]
            try:
                pixels = read_pixels(file, self.size, self.channels, self.decoders)
            except InputError as error:
                self.corrupt[key] = str(error).removeprefix(f"{file} ")
            else:
                os.pwrite(descriptor, pixels.numpy().data, row * self.bytes)
            done += file.stat().st_size
        return done

    def _copy_known(self, descriptor: int) -> list[int]:
        """Copy the rows that another array of this size has; the places of all others."""
        wanted = {key: row for row, key in enumerate(self.keys)}
        for folder in sorted(self.folder.parent.glob(f"{_kind(self.size, self.channels)}-*")):
            index = _read_index(folder)
            if index is None or not wanted or not (folder / PIXELS).is_file():
                continue
            with (folder / PIXELS).open("rb") as stream:
                for place, key in enumerate(index["keys"]):
                    if key in wanted and key not in index["corrupt"]:
                        content = os.pread(stream.fileno(), self.bytes, place * self.bytes)
                        if len(content) == self.bytes:
                            os.pwrite(descriptor, content, wanted.pop(key) * self.bytes)
        return sorted(wanted.values())


def workers() -> int:
    """Threads that decode: one a processor that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(usable or 1, 16))
