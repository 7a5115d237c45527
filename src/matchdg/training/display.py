"""What training shows: a progress bar on a terminal, plain lines elsewhere, or nothing."""

import sys
import time
from typing import Any, Protocol, TextIO
from warnings import warn

from matchdg.core.errors import InputWarning
from matchdg.training.records import Record


class Display(Protocol):
    """Told what happens; never asked."""

    def start(self, title: str, epochs: int, done: int) -> None:
        """Training begins, or goes on after `done` epochs."""

    def notice(self, text: str) -> None:
        """Something that the user should know."""

    def epoch(self, record: Record) -> None:
        """An epoch ended."""

    def stop(self) -> None:
        """Training ended, in whatever way."""


class Silent:
    """Shows nothing."""

    def start(self, title: str, epochs: int, done: int) -> None:
        """Nothing."""

    def notice(self, text: str) -> None:
        """Nothing."""

    def epoch(self, record: Record) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class Warnings(Silent):
    """Shows nothing, and warns of what the user should know: what a call from Python does."""

    def notice(self, text: str) -> None:
        """An `InputWarning`."""
        warn(text, InputWarning, stacklevel=2)


class Lines:
    """Plain lines, at most one every `seconds`, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, seconds: float = 5.0) -> None:
        self.stream = stream or sys.stderr
        self.seconds = seconds
        self.title, self.epochs, self.done = "", 0, 0
        self.began = self.last = 0.0
        self.said: set[str] = set()

    def start(self, title: str, epochs: int, done: int) -> None:
        """Say what starts."""
        self.title, self.epochs, self.done = title, epochs, done
        self.began = time.monotonic()
        self.last = float("-inf")

    def notice(self, text: str) -> None:
        """Say it, once: both phases of a run notice the same of their data."""
        if text not in self.said:
            self.said.add(text)
            print(f"note: {text}", file=self.stream, flush=True)

    def epoch(self, record: Record) -> None:
        """Say how far training is, if it has not been said just now."""
        now, count = time.monotonic(), record["epoch"] + 1
        if now - self.last < self.seconds and count < self.epochs:
            return
        self.last = now
        left = (now - self.began) / max(1, count - self.done) * (self.epochs - count)
        print(
            f"{self.title}  epoch {count}/{self.epochs}  {summary(record)}  {left:.0f} s left",
            file=self.stream,
            flush=True,
        )

    def stop(self) -> None:
        """Nothing: the last epoch has been said."""


class Bar:
    """A progress bar with loss, source validation accuracy and time left; each phase of a run has its own.

    Between phases it holds nothing that could not be sent to another process, which shows the next phase.
    """

    def __init__(self, console: Any = None) -> None:
        self._console = console
        self.progress: Any = None
        self.task: Any = None
        self.said: set[str] = set()

    @property
    def console(self) -> Any:
        """Where it is shown."""
        from rich.console import Console

        return self._console or Console(stderr=True)

    def start(self, title: str, epochs: int, done: int) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self.progress = Progress(
            TextColumn("[bold]{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[numbers]}", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
            console=self.console,
            expand=True,
        )
        self.progress.start()
        self.task = self.progress.add_task(title, total=epochs, completed=done, numbers="")

    def notice(self, text: str) -> None:
        """Say it above the bar, once."""
        if text not in self.said:
            self.said.add(text)
            console = self.console if self.progress is None else self.progress.console
            console.print(f"note: {text}", style="yellow", markup=False, highlight=False)

    def epoch(self, record: Record) -> None:
        """Advance the bar."""
        self.progress.update(self.task, completed=record["epoch"] + 1, numbers=summary(record))

    def stop(self) -> None:
        """Leave the bar where it is."""
        self.progress.stop()
        self.progress = self.task = None


def automatic() -> Display:
    """A bar if the error stream is a terminal, else plain lines."""
    return Bar() if sys.stderr.isatty() else Lines()


def summary(record: Record) -> str:
    """Loss and source validation accuracy of an epoch, or, in phase 1, how inputs find their own augmentations.

    >>> summary({"loss": 0.51234, "validation": {"a": {"accuracy": 0.9}, "b": {"accuracy": 0.8}}})
    'loss 0.512  source validation accuracy 85.0 %'
    >>> summary({"loss": 0.5, "validation": {"augmentation": {"top10_overlap": 64.2, "mean_rank": 18.6}}})
    'loss 0.500  own augmentation in top 10 64.2 %'
    """
    loss = "–" if record["loss"] is None else f"{record['loss']:.3f}".replace("nan", "NaN")
    validation = record["validation"]
    if not validation:
        return f"loss {loss}"
    if "augmentation" in validation and "top10_overlap" in validation["augmentation"]:
        return f"loss {loss}  own augmentation in top 10 {validation['augmentation']['top10_overlap']:.1f} %"
    accuracies = [scores["accuracy"] for scores in validation.values()]
    return f"loss {loss}  source validation accuracy {100 * sum(accuracies) / len(accuracies):.1f} %"
