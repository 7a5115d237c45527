"""What the README says is so: its example runs, its tables are those of the code and of results/."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from matchdg.experiments.tables.slab import selected

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    assert float(capsys.readouterr().out) > 0.8


def test_the_tables_are_up_to_date():
    script = ROOT / "benchmarks" / "readme_tables.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", re.findall(r"^make (\w+)", README, re.MULTILINE))
def test_every_make_target_exists(target):
    assert f"\n{target}:" in (ROOT / "Makefile").read_text()


def test_every_link_into_the_repo_leads_somewhere():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("line", re.findall(r"^(?:\.venv/bin/)?matchdg (.+?)(?:  +#.*)?$", README, re.MULTILINE))
def test_every_command_is_one_that_there_is(line):
    from typer.main import get_command

    from matchdg.cli import app

    name = line.split()[0]
    assert name in get_command(app).commands or name == "--install-completion"


def test_the_quick_budget_uses_what_the_committed_search_chose():
    search = json.loads((ROOT / "results" / "slab" / "search.json").read_text())
    assert selected() == {label: entry["chosen"] for label, entry in search["methods"].items()}


def test_the_committed_slab_table_meets_its_bounds():
    """PerfMatch at least 10 points above every other method, sources at 92 or more, ERM between 50 and 65."""
    table = json.loads((ROOT / "results" / "slab" / "table.json").read_text())
    target = {row["method"]: row["values"]["Target"]["mean"] for row in table["rows"]}
    perfmatch = next(row for row in table["rows"] if row["method"] == "PerfMatch")
    others = [value for method, value in target.items() if method != "PerfMatch"]
    assert table["budget"] == "paper"
    assert len(table["rows"]) == 11
    assert all(row["values"]["Target"]["n"] == 10 for row in table["rows"])
    assert {row["selection"] for row in table["rows"]} == {"source: accuracy"}
    assert target["PerfMatch"] >= max(others) + 10
    assert min(perfmatch["values"][source]["mean"] for source in ("Source 1", "Source 2")) >= 92
    assert 50 <= target["ERM"] <= 65
