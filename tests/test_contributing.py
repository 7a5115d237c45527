"""The steps of CONTRIBUTING.md, followed to the letter."""

import importlib.util
import re
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from matchdg import data, methods, networks
from matchdg.training import RunSettings, execute

ROOT = Path(__file__).parents[1]


@pytest.fixture
def guide(tmp_path):
    """Load the code block that CONTRIBUTING.md gives for a file."""
    text = (ROOT / "CONTRIBUTING.md").read_text()

    def load(path: str) -> ModuleType:
        block = re.search(rf"^ *```python\n( *# {re.escape(path)}\n.*?)^ *```", text, re.MULTILINE | re.DOTALL)
        assert block, f"CONTRIBUTING.md has no code for {path}"
        file = tmp_path / Path(path).name
        file.write_text(textwrap.dedent(block.group(1)))
        spec = importlib.util.spec_from_file_location(f"guide_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_a_method_a_data_set_and_a_network_are_added(guide, monkeypatch, tmp_path):
    monkeypatch.setitem(methods.METHODS, "centre", guide("src/matchdg/methods/centre.py").SPEC)
    monkeypatch.setitem(data.DATASETS, "stripes", guide("src/matchdg/data/stripes.py").StripesSettings)
    monkeypatch.setitem(networks.NETWORKS, "linear", guide("src/matchdg/networks/linear.py").LinearSettings)
    run = RunSettings.parse(
        {
            "dataset": {"name": "stripes", "count": 80},
            "network": "linear",
            "method": {"name": "centre", "penalty": 0.01},
            "training": {"epochs": 30, "batch_rows": 8},
        }
    )
    result = execute(run, tmp_path)
    assert result.validation["left"]["accuracy"] > 0.8
    assert result.test["right"]["accuracy"] > 0.5


def test_every_file_and_command_that_the_guide_names_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile
    for room in re.findall(r"^\| `(\w+)/`", text, re.MULTILINE):
        assert (ROOT / "src" / "matchdg" / room / "__init__.py").exists()
