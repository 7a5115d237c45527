"""What an epoch shows of the training data: views drawn anew, the same ones for a seed and an epoch."""

from dataclasses import replace

import pytest
import torch

from matchdg.data import DomainDataset, DomainSplit
from matchdg.methods import Batch
from matchdg.training import execute
from matchdg.training.shown import shown

EVERY = torch.arange(12)


class Shifted:
    """Views that say what they were drawn for: the input plus 100 x seed, 10 x epoch and the draw."""

    def shown(self, inputs, seed, epoch, draw):
        return inputs + 100 * seed + 10 * epoch + draw


@pytest.fixture
def split():
    data = DomainDataset.from_arrays(torch.rand(12, 3), [0, 1] * 6, ["a"] * 6 + ["b"] * 6)
    test = replace(data, domain_names=("c", "d"))
    return DomainSplit(data, data, test, ("c", "d"))


def test_without_views_the_data_are_shown_as_they_are(split):
    data, pairs = shown(split, split.train, 1, 2, paired=False)
    assert data is split.train
    assert pairs is None


def test_views_are_drawn_for_seed_and_epoch_and_pairs_by_a_draw_of_their_own(split):
    split = replace(split, views=Shifted())
    data, pairs = shown(split, split.train, 1, 2, paired=True)
    torch.testing.assert_close(data.inputs - split.train.inputs, torch.full((12, 3), 120.0))
    torch.testing.assert_close(pairs - split.train.inputs, torch.full((12, 3), 121.0))
    assert shown(split, split.train, 1, 2, paired=False)[1] is None


def test_without_views_pairs_are_self_augmentations_new_in_each_epoch(split):
    data, first = shown(split, split.train, 0, 0, paired=True)
    again, other = (shown(split, split.train, 0, epoch, paired=True)[1] for epoch in (0, 1))
    assert data is split.train
    assert torch.equal(first[EVERY], again[EVERY])
    assert not torch.equal(first[EVERY], other[EVERY])
    assert not torch.equal(first[EVERY], split.train.inputs)


def test_a_batch_pairs_each_input_with_its_own_view(split):
    rows = torch.tensor([[0, 6], [1, -1], [-1, 7]])
    batch = Batch.gather(split.train, rows, False, views=split.train.inputs + 1)
    torch.testing.assert_close(batch.paired, batch.inputs + 1)
    part = Batch.gather_part(split.train, rows, False, slice(1, 3), 2, None, split.train.inputs + 1)
    torch.testing.assert_close(part.paired, part.inputs + 1)
    assert len(part.paired) < len(batch.paired)
    assert batch.to(torch.device("cpu")).paired is not None


def test_mdghybrid_trains_and_says_its_terms(tmp_path, small_run):
    from matchdg.training import run_folder
    from matchdg.training.records import read_records

    run = small_run(method={"name": "mdghybrid", "penalty": 0.1}, phase1={"training": {"epochs": 2, "batch_rows": 16}})
    result = execute(run, tmp_path)
    assert result.target_accuracy() > 0
    for record in read_records(run_folder(tmp_path, run) / "records.jsonl"):
        assert record["terms"]["view"] > 0
        assert record["terms"]["match"] >= 0
