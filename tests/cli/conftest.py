from collections.abc import Callable
from dataclasses import dataclass

import pytest

from matchdg.cli import main


@dataclass
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def matchdg(monkeypatch, capsys, tmp_path) -> Callable[..., Ran]:
    """Run the command line in a folder of its own, and say what it printed and how it ended."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["matchdg", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return run
