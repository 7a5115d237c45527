"""The command line as a whole: help, names, speed-critical imports, errors."""

import subprocess
import sys

import pytest

from matchdg.cli import names
from matchdg.data import DATASETS
from matchdg.experiments import STUDIES
from matchdg.experiments.figures import FIGURES
from matchdg.matching import MATCHERS
from matchdg.methods import METHODS
from matchdg.networks import NETWORKS


def test_help_names_every_command(matchdg):
    ran = matchdg("--help")
    assert ran.code == 0
    for command in ("train", "reproduce", "quality", "list", "theory"):
        assert command in ran.out


@pytest.mark.parametrize("command", ["train", "reproduce", "quality", "list", "theory"])
def test_each_command_has_help(matchdg, command):
    ran = matchdg(command, "--help")
    assert ran.code == 0
    assert "--json" in ran.out


def test_version(matchdg):
    import matchdg as package

    assert matchdg("--version").out.strip() == f"matchdg {package.__version__}"


@pytest.mark.parametrize(
    ("listed", "family"),
    [
        (names.DATASETS, DATASETS),
        (names.MATCHERS, MATCHERS),
        (names.METHODS, METHODS),
        (names.NETWORKS, NETWORKS),
        (names.TABLES, STUDIES),
        (names.FIGURES, FIGURES),
    ],
)
def test_help_and_completion_know_every_member(listed, family):
    assert listed == tuple(family)


def test_completion_offers_what_begins_alike():
    assert names.completion(names.METHODS)("c-") == ["c-mmd", "c-coral"]


@pytest.mark.parametrize("code", ["import matchdg", "from matchdg.cli import main"])
def test_heavy_imports_are_lazy(code):
    """What `import matchdg` and `matchdg --help` load; their time is measured in benchmarks/."""
    check = f"import sys; {code}; print([m for m in ('torch', 'numpy', 'pandas', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_module_runs_too():
    done = subprocess.run([sys.executable, "-m", "matchdg", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("matchdg ")


def test_an_interrupt_is_told(matchdg, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("matchdg.cli.app", interrupted)
    ran = matchdg("theory")
    assert ran.code == 130
    assert "what was finished is kept" in ran.err


def test_the_package_offers_its_names_lazily():
    import matchdg as package

    for name in package.__all__:
        assert getattr(package, name) is not None
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense
