"""`matchdg quality` on runs of each kind, and what it says of folders that are none."""

import json
from pathlib import Path

import numpy as np
import pytest

from matchdg.matching import RepresentationSettings
from matchdg.training import RunSettings
from matchdg.training.quality import measure_quality

DIGITS = [
    *("-d", "rotated-digits", "-s", "dataset.size=8", "-s", "dataset.train_per_domain=40"),
    *("-s", "dataset.sources=[0, 30]", "-s", "dataset.targets=[60]", "-s", "training.epochs=1"),
]


@pytest.fixture
def trained(matchdg):
    """Train with the arguments; the folder of the run."""

    def train(*arguments: str) -> str:
        return json.loads(matchdg("train", *arguments, "--json").out)["folder"]

    return train


def settings_of(folder: Path) -> dict:
    return json.loads((folder / "settings.json").read_text())


@pytest.mark.parametrize("method", ["erm", "contrastive", "matchdg"])
def test_any_runs_quality_is_that_of_the_library(matchdg, trained, tmp_path, method):
    phase1 = ["-s", "phase1.training.epochs=1"] if method == "matchdg" else []
    folder = Path(trained("-m", method, *DIGITS, *phase1))
    shown = json.loads(matchdg("quality", folder, "--json").out)
    settings = RunSettings.parse(settings_of(folder))
    found = measure_quality(folder.parent.parent, settings, RepresentationSettings())
    assert found == {name: shown[name] for name in found}
    assert shown["run"] == folder.name
    text = matchdg("quality", folder).out
    for name in ("overlap", "top-10 overlap", "mean rank", "overlap of the run's match table", "mutual"):
        assert f"  {name}" in text


def test_every_phase_1_is_measured_as_it_matched_unless_told_otherwise(matchdg, trained, tmp_path):
    trained("-m", "matchdg", *DIGITS, "-s", "phase1.training.epochs=1")
    folders = (tmp_path / "matchdg-out" / "runs").iterdir()
    phase1 = next(folder for folder in folders if settings_of(folder)["method"]["name"] == "contrastive")
    own = json.loads(matchdg("quality", phase1, "--json").out)
    assert own["measured"] == {
        "layer": "representation", "statistics": "domain", "metric": "cosine", "normalise": "none",
    }  # fmt: skip
    told = json.loads(
        matchdg("quality", phase1, "--layer", "logits", "--metric", "l2", "--normalise", "centre", "--json").out
    )
    assert told["measured"] == {"layer": "logits", "statistics": "domain", "metric": "l2", "normalise": "centre"}
    assert told["table_overlap"] == own["table_overlap"]
    assert told["mean_rank"] != own["mean_rank"]


def test_a_folder_may_be_named_from_inside(matchdg, trained, monkeypatch):
    monkeypatch.chdir(trained("-m", "erm", *DIGITS))
    # `matchdg` runs where the test has gone to.
    assert matchdg("quality", ".").code == 0
    assert matchdg("quality", f"../{Path.cwd().name}/").code == 0


def test_without_known_objects_the_mutual_share_is_shown(matchdg, trained, npz):
    with np.load(npz()) as columns:
        np.savez("none.npz", **{name: column for name, column in columns.items() if name != "objects"})
    folder = trained("-m", "erm", "-d", "arrays", "-s", "dataset.path=none.npz", "-s", "dataset.targets=[c]")
    ran = matchdg("quality", folder)
    assert ran.code == 0, ran.err
    assert "mutual nearest neighbours" in ran.out
    assert "objects are not known" in ran.out
    assert "mean rank of the own augmentation" in ran.out
    assert "top-10 overlap" not in ran.out
    shown = json.loads(matchdg("quality", folder, "--json").out)
    assert 0 <= shown["mutual"] <= 100
    assert "overlap" not in shown


def damage(folder: Path, name: str, content: str | None) -> None:
    path = folder / name
    path.unlink() if content is None else path.write_text(content)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("settings.json", None, "settings.json could not be read: No such file or directory; give a run's folder"),
        ("settings.json", "{", "settings.json is not valid JSON"),
        ("settings.json", "[]", "holds list, expected the settings of a run"),
        ("settings.json", '{"metod": "erm"}', "settings.json: unknown key in run 'metod'; did you mean 'method'?"),
        ("settings.json", '{"method": "erm"}', "is not where its settings belong"),
        ("result.json", None, "is not finished"),
        ("weights.safetensors", None, "weights.safetensors could not be read"),
        ("weights.safetensors", "garbage", "weights.safetensors could not be read"),
        ("matches.safetensors", "garbage", "is not a readable match table"),
    ],
)
def test_a_folder_that_holds_no_whole_run_is_named(matchdg, trained, name, content, message):
    folder = Path(trained("-m", "erm", *DIGITS))
    damage(folder, name, content)
    ran = matchdg("quality", folder)
    assert ran.code == 2
    assert message in ran.err
