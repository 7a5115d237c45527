"""Runs that start from a file of weights: named by its content, and of use without it once they are finished."""

import json
from pathlib import Path

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.networks.resnet import ResNet18Settings
from matchdg.training import RunSettings, execute, run_folder
from matchdg.training.run import build_objective, load_network

DATASET = {
    "name": "rotated-digits", "size": 8, "train_per_domain": 20, "validation_per_domain": 10, "test_per_domain": 10
}  # fmt: skip


def digits(weights, method="erm", **network):
    return RunSettings.parse(
        {
            "dataset": DATASET,
            "network": {"name": "resnet18", **({"weights": str(weights)} if weights else {}), **network},
            "method": method,
            "training": {"epochs": 1, "keep": "last", "learning_rate": 0.001},
        }
    )


@pytest.fixture
def file(tmp_path):
    torch.manual_seed(5)
    path = tmp_path / "weights of a café.pth"
    torch.save(ResNet18Settings().build((1, 8, 8), 2).state_dict(), path)
    return path


def test_a_run_starts_from_the_file_and_is_read_without_it(tmp_path, file):
    run = digits(file)
    start = build_objective(run, run.dataset.build(0)).network.featurizer.state_dict()
    state = torch.load(file)
    assert all(torch.equal(value, state[f"featurizer.{name}"]) for name, value in start.items())
    result = execute(run, tmp_path)
    moved = file.rename(tmp_path / "moved.pth")
    assert digits(moved).hash == run.hash != digits(None).hash

    folder = run_folder(tmp_path, run)
    assert str(tmp_path) not in (folder / "settings.json").read_text()
    again = RunSettings.parse(json.loads((folder / "settings.json").read_text()))
    assert again.hash == run.hash
    assert execute(again, tmp_path) == result
    split = again.dataset.build(0)
    network = load_network(tmp_path, again, split)
    assert network(split.test.inputs[torch.arange(3)]).logits.isfinite().all()
    with pytest.raises(InputError, match=r"network\.weights_file"):
        execute(again.with_seed(1), tmp_path)


def test_phase_1_starts_from_the_same_file(file):
    run = digits(file, method="matchdg")
    assert run.phase1.network.weights_file == file
    assert run.phase1.network.dump() == run.network.dump()


@pytest.mark.parametrize("frozen", ["statistics", "all"])
def test_frozen_batch_norm_ends_as_it_began(tmp_path, file, frozen):
    run = digits(file, freeze_batch_norm=frozen)
    execute(run, tmp_path)
    ended, began = load_network(tmp_path, run, run.dataset.build(0)).state_dict(), torch.load(file)
    norms = [name for name in ended if "bn" in name and not name.endswith("num_batches_tracked")]
    kept = (
        ("running_mean", "running_var") if frozen == "statistics" else ("running_mean", "running_var", "weight", "bias")
    )
    for name in norms:
        assert torch.equal(ended[name], began[name]) == name.endswith(kept), name


@pytest.mark.parametrize("method", ["erm", "matchdg", "masf"])
def test_dropout_and_a_slow_backbone_give_the_same_bits_again(tmp_path, method):
    values = {
        "dataset": DATASET,
        "network": {"name": "resnet18", "dropout": 0.3},
        "method": method,
        "training": {"epochs": 1, "keep": "last", "backbone_rate": 0.1},
    }
    if method == "matchdg":
        values["phase1"] = {"training": {"epochs": 1}}
    run = RunSettings.parse(values)
    for out in ("one", "two"):
        execute(run, tmp_path / out)
    one, two = (Path(run_folder(tmp_path / out, run) / "weights.safetensors").read_bytes() for out in ("one", "two"))
    assert one == two
