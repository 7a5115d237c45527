"""Learnt matches: a table that is handed over, and an error where nobody hands one over."""

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.matching import FixedMatcher, LearntSettings, MatchTable


def test_the_table_is_the_same_in_every_epoch():
    table = MatchTable(torch.tensor([[0, 3], [1, 4]]), torch.tensor([0, 0]))
    matcher = FixedMatcher(table)
    assert all(matcher.draw(torch.Generator().manual_seed(seed)) is table for seed in range(3))


def test_without_a_phase_1_there_is_none(tiny):
    with pytest.raises(
        InputError, match=r"'learnt' needs a phase 1; give the run a section phase1, or another matcher"
    ):
        LearntSettings().build(tiny)
