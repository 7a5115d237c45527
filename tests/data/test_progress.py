import io
import sys

import pytest

from matchdg.data import progress as module
from matchdg.data.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with progress("file", 1_000_000, 4_000_000) as advance:
        for clock[0] in (1.0, 6.0, 7.0):
            advance(1_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "file  4.0 MB, going on after 1.0 MB",
        "file  3.0 MB of 4.0 MB",
        "file  4.0 MB fetched",
    ]


@pytest.mark.parametrize("total", [4_000_000, None])
def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("file", 1_000_000, total) as advance:
        advance(3_000_000)
    assert "file" in terminal.getvalue()
    assert "4.0" in terminal.getvalue()
