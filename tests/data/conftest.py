"""A tiny stand-in for MNIST in a world without network, a web server that can misbehave, and image files."""

import gzip
import hashlib
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torchvision import datasets

from matchdg.data.catalogue import COLLECTIONS, FILES, MNIST, Collection


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@dataclass
class Stand:
    """The stand-in: its collection, and each file's content."""

    collection: Collection
    contents: dict[str, bytes]

    def write(self, folder: Path, suffix: str = "", **changes: bytes) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in self.contents.items():
            packed = gzip.compress(content, mtime=0) if suffix == ".gz" else content
            (folder / (file + suffix)).write_bytes(packed)
        return folder


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """MNIST with 40 training and 20 test images of 8x8, known by its own checksums; nothing is anywhere yet."""
    random = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 40), ("t10k", 20)):
        arrays[f"{part}-images-idx3-ubyte"] = random.integers(0, 256, (count, 8, 8), np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = (np.arange(count) % 2).astype(np.uint8)
    contents = {file: idx(arrays[file]) for file in FILES}
    sums = {file: hashlib.md5(content).hexdigest() for file, content in contents.items()}
    collection = replace(MNIST, checksums=sums)
    monkeypatch.setitem(COLLECTIONS, "mnist", collection)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MATCHDG_DATA", raising=False)
    monkeypatch.delenv("MATCHDG_CACHE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(datasets.MNIST, "mirrors", [])
    monkeypatch.setattr(datasets.FashionMNIST, "mirrors", [])
    return Stand(collection, contents)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, and no data folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MATCHDG_CACHE", str(folder))
    monkeypatch.delenv("MATCHDG_DATA", raising=False)
    return folder


Paint = Callable[..., Path]


@pytest.fixture
def paint() -> Paint:
    """Write an image file of 12x10 pixels of its own colours, settled long ago; and the folders that it is in."""

    def write(path: Path, seed: int = 0, age: float = 100.0) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(seed).integers(0, 256, (10, 12, 3), np.uint8)
        Image.fromarray(pixels).save(path, **({"lossless": True} if path.suffix == ".webp" else {}))
        os.utime(path, (time.time() - age,) * 2)
        return path

    return write


@dataclass
class Web:
    """What the server has, by path; how it behaves; and what it was asked, as (path, Range header)."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    lengths: bool = True
    # For each request, the bytes after which the connection breaks off; None, or nothing left: never.
    breaks: list[int | None] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def web() -> Iterator[Web]:
    """A web server on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            web.asked.append((self.path, wanted))
            content = web.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and web.ranges else 0
            if wanted and web.ranges:
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            if web.lengths:
                self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            limit = web.breaks.pop(0) if web.breaks else None
            self.wfile.write(content[start:] if limit is None else content[start : start + limit])

        def log_message(self, *arguments: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web = Web(f"http://127.0.0.1:{server.server_port}/")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield web
    server.shutdown()
    server.server_close()
    thread.join()
