import io

from matchdg.experiments import Failure
from matchdg.reports import progress
from matchdg.reports.progress import StudyBar, StudyLines


def test_lines_say_done_failed_and_time_left():
    stream = io.StringIO()
    lines = StudyLines(stream, seconds=0)
    lines.start("search", 4, 1)
    lines.advance(object())
    lines.advance(Failure("run", "boom"))
    lines.stop()
    first, second, third = stream.getvalue().splitlines()
    assert first == "search: 4 runs, 1 of them finished before"
    assert second.startswith("search: 2/4 runs, ")
    assert "3/4 runs, 1 failed" in third


def test_lines_are_rare_but_the_last_is_said():
    stream = io.StringIO()
    lines = StudyLines(stream, seconds=1000)
    lines.start("seeds", 3, 0)
    for _ in range(3):
        lines.advance(object())
    assert stream.getvalue().splitlines()[1:] == ["seeds: 3/3 runs, 0 s left"]


def test_nothing_to_do_is_not_mentioned():
    stream = io.StringIO()
    StudyLines(stream).start("search", 0, 0)
    assert stream.getvalue() == ""


def test_bar_counts_and_shows_failures():
    from rich.console import Console

    stream = io.StringIO()
    bar = StudyBar(Console(file=stream, force_terminal=True, width=120))
    bar.start("seeds", 2, 0)
    bar.advance(object())
    bar.advance(Failure("run", "boom"))
    bar.stop()
    bar.stop()
    assert "2/2" in stream.getvalue()
    assert "1 failed" in stream.getvalue()


def test_an_empty_stage_shows_no_bar():
    from rich.console import Console

    stream = io.StringIO()
    bar = StudyBar(Console(file=stream, force_terminal=True))
    bar.start("search", 0, 0)
    bar.stop()
    assert stream.getvalue() == ""


def test_automatic(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(progress.automatic(), StudyBar)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(progress.automatic(), StudyLines)
