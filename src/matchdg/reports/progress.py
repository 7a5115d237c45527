"""What a study shows while it runs: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from typing import Any, TextIO

from matchdg.experiments import Failure, StudyDisplay


class StudyLines:
    """Plain lines, at most one every `seconds`."""

    def __init__(self, stream: TextIO | None = None, seconds: float = 10.0) -> None:
        self.stream = stream or sys.stderr
        self.seconds = seconds
        self.stage, self.total, self.done, self.failed, self.here = "", 0, 0, 0, 0
        self.began = self.last = 0.0

    def start(self, stage: str, total: int, done: int) -> None:
        """Say how much there is to do."""
        self.stage, self.total, self.done, self.failed, self.here = stage, total, done, 0, 0
        self.began = self.last = time.monotonic()
        if total:
            self._say(f"{stage}: {total} runs, {done} of them finished before")

    def advance(self, result: Any) -> None:
        """Say how far it is, if it has not been said just now."""
        self.done += 1
        self.here += 1
        self.failed += isinstance(result, Failure)
        now = time.monotonic()
        if now - self.last < self.seconds and self.done < self.total:
            return
        self.last = now
        left = (now - self.began) / self.here * (self.total - self.done)
        failed = f", {self.failed} failed" if self.failed else ""
        self._say(f"{self.stage}: {self.done}/{self.total} runs{failed}, {left:.0f} s left")

    def stop(self) -> None:
        """Nothing: the last line has been said."""

    def _say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class StudyBar:
    """A progress bar with runs done, failed and time left."""

    def __init__(self, console: Any = None) -> None:
        self.console = console
        self.progress: Any = None
        self.task: Any = None
        self.failed = 0

    def start(self, stage: str, total: int, done: int) -> None:
        """Show the bar, if there is anything to do."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.failed = 0
        if total == 0:
            return
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]}"),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=self.console or Console(stderr=True))
        self.progress.start()
        self.task = self.progress.add_task(stage, total=total, completed=done, failed="")

    def advance(self, result: Any) -> None:
        """Advance the bar."""
        self.failed += isinstance(result, Failure)
        failed = f"{self.failed} failed" if self.failed else ""
        self.progress.update(self.task, advance=1, failed=failed)

    def stop(self) -> None:
        """Leave the bar where it is."""
        if self.progress is not None:
            self.progress.stop()
            self.progress = None


def automatic() -> StudyDisplay:
    """A bar if the error stream is a terminal, else plain lines."""
    return StudyBar() if sys.stderr.isatty() else StudyLines()
