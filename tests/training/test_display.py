import io

from matchdg.training import display
from matchdg.training.display import Bar, Lines, Silent

RECORD = {"epoch": 0, "loss": 0.5, "validation": {"a": {"accuracy": 0.9}, "b": {"accuracy": 0.8}}}


def test_lines_say_loss_accuracy_and_time_left():
    stream = io.StringIO()
    lines = Lines(stream, seconds=0)
    lines.start("ERM", 2, 0)
    lines.epoch(RECORD)
    lines.notice("mind this")
    lines.stop()
    text = stream.getvalue()
    assert "ERM  epoch 1/2  loss 0.500  source validation accuracy 85.0 %" in text
    assert "s left" in text
    assert "note: mind this" in text


def test_lines_are_rare_but_the_last_is_said():
    stream = io.StringIO()
    lines = Lines(stream, seconds=1000)
    lines.start("ERM", 5, 0)
    for epoch in range(5):
        lines.epoch({**RECORD, "epoch": epoch})
    said = stream.getvalue().splitlines()
    assert len(said) == 2
    assert "epoch 5/5" in said[-1]


def test_a_loss_that_is_no_number_is_told_and_so_is_none():
    assert "loss NaN" in display.summary({**RECORD, "loss": float("nan")})
    assert "loss –" in display.summary({**RECORD, "loss": None})


def test_an_epoch_that_was_not_judged_has_its_loss_alone():
    assert display.summary({**RECORD, "loss": float("nan"), "validation": {}}) == "loss NaN"


def test_bar_shows_loss_accuracy_and_time_left():
    from rich.console import Console

    stream = io.StringIO()
    bar = Bar(Console(file=stream, force_terminal=True, width=140))
    bar.start("ERM", 2, 1)
    bar.epoch({**RECORD, "epoch": 1})
    bar.notice("mind [this]")
    bar.stop()
    text = stream.getvalue()
    assert "2/2" in text
    assert "85.0 %" in text
    assert "mind [this]" in text


def test_automatic_is_plain_without_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(display.automatic(), Lines)


def test_automatic_is_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(display.automatic(), Bar)


def test_silent_says_nothing(capsys):
    silent = Silent()
    silent.start("ERM", 1, 0)
    silent.notice("x")
    silent.epoch(RECORD)
    silent.stop()
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
