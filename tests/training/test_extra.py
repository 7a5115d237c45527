"""The random extra part of each batch: how large it is, what it holds, and that it counts as cross-entropy."""

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.methods import Batch
from matchdg.training import TrainingSettings, execute, run_folder
from matchdg.training.records import read_records

DOMAINS = 2


@pytest.fixture
def balanced(npz):
    """24 inputs of each of two source domains, 12 of each class, so that there are 24 rows."""
    return {"name": "arrays", "path": str(npz()), "targets": ["c"]}


@pytest.fixture
def gathered(monkeypatch):
    """What each training batch was gathered from: its rows, and its extra positions."""
    seen, gather = [], Batch.gather

    def spy(dataset, rows, complete, extra=None, views=None):
        seen.append((rows, extra))
        return gather(dataset, rows, complete, extra, views)

    monkeypatch.setattr(Batch, "gather", spy)
    return seen


def by_epoch(run, seen):
    """The batches of each epoch."""
    each = len(seen) // run.training.epochs
    assert len(seen) == each * run.training.epochs
    return [seen[start : start + each] for start in range(0, len(seen), each)]


@pytest.mark.parametrize(("extra", "width"), [("rows", 1), ("inputs", DOMAINS)])
def test_a_batch_has_as_many_extra_inputs_as_rows_or_inputs(tmp_path, small_run, balanced, gathered, extra, width):
    execute(small_run(dataset=balanced, method="randmatch", training={"extra": extra, "batch_rows": 5}), tmp_path)
    assert {len(rows) for rows, _ in gathered} == {4, 5}
    assert all(positions.shape == (len(rows) * width,) for rows, positions in gathered)


def test_without_one_there_is_none(tmp_path, small_run, gathered):
    execute(small_run(method="randmatch"), tmp_path)
    assert all(extra is None for _, extra in gathered)


@pytest.mark.parametrize("extra", ["rows", "inputs"])
def test_an_input_comes_once_an_epoch_and_in_another_order_in_the_next(tmp_path, small_run, balanced, gathered, extra):
    run = small_run(dataset=balanced, method="randmatch", training={"extra": extra, "batch_rows": 5})
    execute(run, tmp_path)
    epochs = [torch.cat([positions for _, positions in batches]) for batches in by_epoch(run, gathered)]
    for positions in epochs:
        assert len(positions.unique()) == len(positions) == 24 * (1 if extra == "rows" else DOMAINS)
        assert positions.min() < 24 <= positions.max()  # of all source domains, not of one alone
    assert not torch.equal(epochs[0], epochs[1])


def test_where_there_are_fewer_inputs_than_are_needed_they_begin_anew(tmp_path, small_run, gathered, npz):
    """Most inputs of a class are in another domain than most of the other's: there are more rows than in a domain."""
    import numpy as np

    labels = np.concatenate([np.arange(30) >= 25, np.arange(30) >= 5, np.arange(30) % 2]).astype(int)
    dataset = {"name": "arrays", "path": str(npz(labels=labels)), "targets": ["c"]}
    run = small_run(dataset=dataset, method="randmatch", training={"extra": "inputs", "epochs": 2})
    split = run.dataset.build(0)
    execute(run, tmp_path)
    for batches in by_epoch(run, gathered):
        needed = sum(rows.numel() for rows, _ in batches)
        counts = torch.bincount(torch.cat([extra for _, extra in batches]), minlength=len(split.train))
        assert needed > len(split.train)
        assert int(counts.sum()) == needed
        assert int(counts.max()) - int(counts.min()) == 1


def test_the_loss_is_the_method_s_and_the_cross_entropy_of_the_extra_part(tmp_path, small_run):
    run = small_run(method="erm", training={"extra": "rows", "batch_rows": 64, "keep": "last"})
    execute(run, tmp_path)
    for record in read_records(run_folder(tmp_path, run) / "records.jsonl"):
        own = record["terms"]["classification"].values()
        assert record["loss"] == pytest.approx(sum(own) / len(own) + record["terms"]["extra"], rel=1e-5)


def test_the_rows_of_a_run_do_not_depend_on_the_extra_part(tmp_path, small_run, gathered):
    """A control differs from what it controls in the extra part alone."""
    for extra in ("none", "rows"):
        execute(small_run(method="randmatch", training={"extra": extra}), tmp_path)
    half = len(gathered) // 2
    pairs = zip(gathered[:half], gathered[half:], strict=True)
    assert all(torch.equal(first[0], second[0]) for first, second in pairs)


def test_an_adversary_s_turn_skips_it(tmp_path, small_run):
    run = small_run(method="dann", training={"extra": "rows"})
    execute(run, tmp_path)
    terms = read_records(run_folder(tmp_path, run) / "records.jsonl")[-1]["terms"]
    assert set(terms) == {"classification", "domain", "extra"}


def test_mixed_precision_has_it_too(tmp_path, small_run):
    run = small_run(method="erm", training={"extra": "rows", "precision": "bf16-mixed"})
    execute(run, tmp_path)
    plain = small_run(method="erm", training={"extra": "rows"})
    execute(plain, tmp_path)
    first, second = (read_records(run_folder(tmp_path, each) / "records.jsonl")[0] for each in (run, plain))
    assert first["terms"]["extra"] == pytest.approx(second["terms"]["extra"], rel=0.02)
    assert first["loss"] != second["loss"]


def test_another_word_is_an_error():
    with pytest.raises(InputError, match=r"training\.extra: .*'rows'"):
        TrainingSettings.parse({"extra": "images"}, "training")
