import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.training.checkpoint import Checkpoint


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path, "run-a")


def test_what_is_saved_is_loaded(checkpoint):
    checkpoint.save({"epoch": 3, "weights": torch.arange(3.0)})
    state, said = checkpoint.load()
    assert state["epoch"] == 3
    assert state["weights"].tolist() == [0.0, 1.0, 2.0]
    assert said == []


def test_nothing_saved_is_none(checkpoint):
    assert checkpoint.load() == (None, [])


@pytest.mark.parametrize("size", [0, 1, 20, 200])
def test_truncated_falls_back_to_the_last_good_one_and_says_so(checkpoint, size):
    checkpoint.save({"epoch": 1})
    checkpoint.save({"epoch": 2})
    checkpoint.newest.write_bytes(checkpoint.newest.read_bytes()[:size])
    state, said = checkpoint.load()
    assert state["epoch"] == 1
    assert "damaged" in said[0]
    assert "last good checkpoint" in said[0]


def test_one_flipped_bit_is_noticed(checkpoint):
    checkpoint.save({"epoch": 1})
    content = bytearray(checkpoint.newest.read_bytes())
    content[-1] ^= 1
    checkpoint.newest.write_bytes(bytes(content))
    state, said = checkpoint.load()
    assert state is None
    assert "starts from the beginning" in said[-1]


def test_missing_newest_uses_the_previous(checkpoint):
    """A kill between the two moves of a save leaves the previous file alone."""
    checkpoint.save({"epoch": 1})
    checkpoint.newest.replace(checkpoint.previous)
    assert checkpoint.load()[0] == {"epoch": 1}


def test_other_settings_are_refused(checkpoint, tmp_path):
    checkpoint.save({"epoch": 1})
    with pytest.raises(InputError, match="belongs to run run-a, expected run-b"):
        Checkpoint(tmp_path, "run-b").load()


def test_remove_leaves_nothing(checkpoint, tmp_path):
    checkpoint.save({"epoch": 1})
    checkpoint.save({"epoch": 2})
    checkpoint.remove()
    assert list(tmp_path.iterdir()) == []
