"""idx files, as MNIST and Fashion-MNIST come in: plain or gzipped, verified before they are used."""

import gzip
import hashlib
import math
import struct
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from matchdg.core.errors import InputError

_BYTES = 0x08


class WrongFileError(InputError):
    """A data file whose content is not what it should be. `found` is the checksum of what it holds, if readable."""

    def __init__(self, path: Path, problem: str, found: str | None = None) -> None:
        super().__init__(f"{path} {problem}; delete it and run `matchdg data get`, or put the right file there")
        self.path, self.problem, self.found = path, problem, found


def read_idx(path: Path, checksum: str) -> np.ndarray:
    """The array in `path`, whose content (decompressed) must have the MD5 `checksum`; raises `WrongFileError`.

    The array is remembered for as long as the file's size and time of change stay, and cannot be written to.
    """
    status = path.stat()
    return _read_idx(path, status.st_size, status.st_mtime_ns, checksum)


@lru_cache(maxsize=8)
def _read_idx(path: Path, size: int, changed: int, checksum: str) -> np.ndarray:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror}; make it readable or use --data-dir") from None
    return parse_idx(verified(content, checksum, path), path)


def verified(content: bytes, checksum: str, path: Path) -> bytes:
    """`content`, decompressed where it is gzipped, if that has the MD5 `checksum`; raises `WrongFileError`."""
    size = len(content)
    try:
        plain = gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WrongFileError(path, f"({size} bytes) is truncated or damaged: {error}") from None
    found = hashlib.md5(plain, usedforsecurity=False).hexdigest()
    if found != checksum:
        raise WrongFileError(path, f"({size} bytes) has the checksum {found}, expected {checksum} (MD5)", found)
    return plain


def parse_idx(content: bytes, path: Path) -> np.ndarray:
    """The uint8 array of an idx file: 0, 0, type, number of axes; each axis as big-endian uint32; the values."""
    axes = content[3] if len(content) >= 4 and content[:3] == bytes([0, 0, _BYTES]) else 0
    start = 4 + 4 * axes
    if axes == 0 or len(content) < start:
        raise WrongFileError(path, f"is no idx file of bytes: it begins with {content[:4].hex(' ') or 'nothing'}")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise WrongFileError(
            path, f"holds {len(content) - start} values, expected {math.prod(shape)} for the shape {shape}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
