"""What downloads and long reading show: a progress bar on a terminal, plain lines elsewhere; on the error stream."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS = 5.0
# Less than so many bytes of files are read without a word.
QUIET_BYTES = 20_000_000


def say(text: str) -> None:
    """One line for the user."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(title: str, done: int, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show bytes that arrive, `done` of `total` being there already; yields what is told each block's size."""
    with (_bar if sys.stderr.isatty() else _lines)(title, done, total) as advance:
        yield advance


@contextmanager
def progress_of_files(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """The same for files that are worked on, `total` bytes of them; nothing where they are few."""
    if total < QUIET_BYTES:
        yield lambda count: None
        return
    with _bar(title, 0, total) if sys.stderr.isatty() else _lines(title, 0, total, "done") as advance:
        yield advance


@contextmanager
def _bar(title: str, done: int, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.advance(task, count)


@contextmanager
def _lines(title: str, done: int, total: int | None, ended: str = "fetched") -> Iterator[Callable[[int], None]]:
    said = time.monotonic()

    def advance(count: int) -> None:
        nonlocal done, said
        done += count
        if time.monotonic() - said >= SECONDS:
            said = time.monotonic()
            say(f"{title}  {megabytes(done)} of {megabytes(total)}")

    say(f"{title}  {megabytes(total)}" + (f", going on after {megabytes(done)}" if done else ""))
    yield advance
    say(f"{title}  {megabytes(done)} {ended}")


def megabytes(count: int | None) -> str:
    """A number of bytes for people.

    >>> megabytes(26_421_880), megabytes(5_148), megabytes(None)
    ('26.4 MB', '0.0 MB', 'unknown size')
    """
    return "unknown size" if count is None else f"{count / 1e6:.1f} MB"
