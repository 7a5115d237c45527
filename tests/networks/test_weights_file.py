"""Files of weights: all kinds are read, none is run, and a content has one digest wherever it lies."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from matchdg.core.errors import InputError
from matchdg.networks.weights_file import content_digest, read_weights

STATE = {"conv.weight": torch.arange(4.0), "conv.bias": torch.ones(2)}


def written(path, state):
    (save_file if path.suffix == ".safetensors" else torch.save)(state, path)
    return path


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".safetensors"])
def test_every_kind_of_file_is_read(tmp_path, suffix):
    found = read_weights(written(tmp_path / f"weights{suffix}", STATE))
    assert found.keys() == STATE.keys()
    assert all(torch.equal(found[name], STATE[name]) for name in STATE)


@pytest.mark.parametrize(
    "state",
    [
        {"epoch": 3, "state_dict": STATE},
        {f"module.{name}": value for name, value in STATE.items()},
        {f"featurizer.{name}": value for name, value in STATE.items()},
        {f"featurizer.body.{name}": value for name, value in STATE.items()},
    ],
)
def test_a_checkpoint_a_distributed_network_and_a_finished_run_are_understood(tmp_path, state):
    assert read_weights(written(tmp_path / "weights.pth", state)).keys() == STATE.keys()


class Command:
    def __reduce__(self):
        return os.system, ("echo run > ran",)


def test_code_in_a_file_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"conv.weight": Command()}, "weights.pth")
    with pytest.raises(InputError, match=r"weights\.pth are not a readable file of tensors alone.*refused"):
        read_weights(Path("weights.pth"))
    assert not Path("ran").exists()


@pytest.mark.filterwarnings("ignore:.*TorchScript")
def test_a_scripted_network_is_refused(tmp_path):
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), tmp_path / "weights.pt")
    with pytest.raises(InputError, match="not a readable file of tensors alone"):
        read_weights(tmp_path / "weights.pt")


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"no weights", b"\x80\x02K\x01."])
def test_other_files_are_told(tmp_path, suffix, content):
    path = tmp_path / f"weights{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not a readable file of tensors alone|holds no tensors"):
        read_weights(path)


@pytest.mark.parametrize("state", [{}, [torch.ones(1)], {"epoch": 3}, {"conv": {"weight": torch.ones(1)}}])
def test_what_is_not_tensors_by_name_is_told(tmp_path, state):
    with pytest.raises(InputError, match="holds no tensors by name"):
        read_weights(written(tmp_path / "weights.pth", state))


def test_a_digest_is_of_the_content(tmp_path):
    one, other, changed = (tmp_path / name for name in ("one.pth", "other.pth", "changed.pth"))
    for path in (one, other, changed):
        path.write_bytes(b"content")
    assert content_digest(one) == content_digest(other) == content_digest(changed)
    changed.write_bytes(b"changed content")
    assert content_digest(changed) != content_digest(one)


@pytest.mark.parametrize("name", ["missing.pth", "folder.pth"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    (tmp_path / "folder.pth").mkdir()
    with pytest.raises(InputError, match=rf"{name} could not be read: "):
        read_weights(tmp_path / name)
    with pytest.raises(InputError, match=rf"{name} could not be read: "):
        content_digest(tmp_path / name)


def test_a_kind_of_file_that_is_not_known_is_told():
    with pytest.raises(
        InputError, match=r"'imagenett', expected 'imagenet' or the path of a \.pth, \.pt, \.safetensors"
    ):
        content_digest(Path("imagenett"))
