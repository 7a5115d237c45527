"""One file by HTTP: goes on where it was interrupted, and says why where it cannot."""

from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from matchdg.core.errors import OutputError
from matchdg.data.progress import progress

TIMEOUT = 20.0
_BLOCK = 2**16
_NO_SUCH_RANGE = 416


class DownloadError(Exception):
    """A file could not be fetched; the message says why. What has come so far is kept for the next time."""


def download(url: str, part: Path) -> bool:
    """Fetch `url` into `part`, going on after what that holds; whether anything in it is from an earlier call.

    A server that knows no ranges sends everything again. A connection that breaks off is taken up again for as
    long as each attempt brings more. Raises `DownloadError`, or `OutputError` where `part` cannot be written. The
    caller has to verify the content before it goes by another name.
    """
    old = _size(part) > 0
    while True:
        before = _size(part)
        try:
            return _rest(url, part) and old
        except HTTPError as error:
            if error.code == _NO_SUCH_RANGE:
                return old  # everything had come already
            raise DownloadError(f"{url}: HTTP status {error.code} {error.reason}") from None
        except (OSError, HTTPException) as error:
            if _size(part) <= before:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
                raise DownloadError(f"{url}: {reason}") from None


def _rest(url: str, part: Path) -> bool:
    """One attempt: the bytes that `part` lacks, or, where the server only sends all, all of them."""
    there = _size(part)
    headers = {"User-Agent": "matchdg"} | ({"Range": f"bytes={there}-"} if there else {})
    with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as response:
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {there}-")
        start = there if resumed else 0
        length = response.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        _receive(response, part, start, total)
    if total is not None and _size(part) < total:
        raise ConnectionError(f"the connection broke off after {_size(part)} of {total} bytes")
    return resumed


def _receive(response: HTTPResponse, part: Path, start: int, total: int | None) -> None:
    try:
        stream = part.open("ab" if start else "wb")
    except OSError as error:
        raise _unwritable(part, error) from error
    with stream, progress(part.name.strip(".").removesuffix(".part"), start, total) as advance:
        while block := response.read(_BLOCK):
            try:
                stream.write(block)
                stream.flush()
            except OSError as error:
                raise _unwritable(part, error) from error
            advance(len(block))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _unwritable(part: Path, error: OSError) -> OutputError:
    return OutputError(f"could not write {part}: {error.strerror}; make room, or choose another folder with --data-dir")
