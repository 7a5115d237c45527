"""Files that are whole or absent: written beside their place, flushed, then moved there in one step."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from matchdg.core.errors import OutputError

LOCK = ".lock"
_MAGIC = b"matchdg1"
_DIGEST_BYTES = hashlib.sha256().digest_size


class DamagedFileError(Exception):
    """A checked file whose content is not what was written."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` under `path`, atomically. A full disk raises `OutputError` and leaves no part behind."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise OutputError(
            f"could not write {path}: {error.strerror or error}. Nothing half-written was left there; "
            "make room or choose another folder, then run the same command again: finished runs are kept."
        ) from error
    finally:
        # Also after Ctrl-C. After the move there is nothing under this name any more.
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """`write_text` of indented JSON; NaN is refused because JSON has none."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_checked(path: Path, content: bytes) -> None:
    """`write_bytes` with a digest in front, so that `read_checked` knows a damaged file from a good one."""
    write_bytes(path, _MAGIC + hashlib.sha256(content).digest() + content)


def read_checked(path: Path) -> bytes:
    """The content that `write_checked` wrote; raises `DamagedFileError` when it is not that any more."""
    raw = path.read_bytes()
    header = len(_MAGIC) + _DIGEST_BYTES
    content = raw[header:]
    if raw[:header] != _MAGIC + hashlib.sha256(content).digest():
        raise DamagedFileError(f"{path} is damaged ({len(raw)} bytes)")
    return content


@contextmanager
def alone(folder: Path, advice: str = "choose another folder") -> Iterator[None]:
    """Let one process at a time work on `folder`, which is made if need be. A killed process lets go of it.

    Raises `OutputError`, with `advice`, where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / LOCK).open("ab")
    except OSError as error:
        raise OutputError(f"{folder} cannot be written ({error.strerror or error}); {advice}") from None
    with stream:
        # Not every system or file system has this lock. Without it, two processes may do the same work.
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def digest(value: Any) -> str:
    """A short name for plain values: the same for equal ones, whatever the order of their keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
