import json
import math

import pytest
import torch
from safetensors.torch import load_file

from matchdg.core.errors import DivergedError, InputError
from matchdg.methods import METHODS
from matchdg.training import MachineSettings, execute, read_result, run_folder
from matchdg.training.checkpoint import Checkpoint
from matchdg.training.loop import Trainer
from matchdg.training.records import read_records
from matchdg.training.seeds import stream


def weights(out, run):
    return load_file(run_folder(out, run) / "weights.safetensors")


def same(a, b):
    return all(torch.equal(a[key], b[key]) for key in a) and a.keys() == b.keys()


def test_equal_runs_give_equal_weights_and_other_seeds_others(tmp_path, small_run):
    for out in ("one", "two"):
        execute(small_run(), tmp_path / out)
    execute(small_run(seed=1), tmp_path / "one")
    first = weights(tmp_path / "one", small_run())
    assert same(first, weights(tmp_path / "two", small_run()))
    assert not same(first, weights(tmp_path / "one", small_run(seed=1)))


def test_a_penalty_of_zero_is_erm(tmp_path, small_run):
    erm = small_run(method="erm", training={"keep": "last"})
    random = small_run(method={"name": "randmatch", "penalty": 0.0}, training={"keep": "last"})
    execute(erm, tmp_path)
    execute(random, tmp_path)
    for key, value in weights(tmp_path, erm).items():
        assert torch.allclose(value, weights(tmp_path, random)[key], atol=1e-6)


def test_training_learns(tmp_path, small_run):
    run = small_run(method="erm", training={"epochs": 40})
    result = execute(run, tmp_path)
    assert result.validation["Source 1"]["accuracy"] > 0.9
    losses = [record["loss"] for record in read_records(run_folder(tmp_path, run) / "records.jsonl")]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_trains_records_its_terms_and_saves(tmp_path, small_run, method):
    # Phase 1 gives no matches of the validation data, which an objective on them would need.
    keep = "objective" if METHODS[method].phase1 is None else "accuracy"
    run = small_run(method=method, training={"keep": keep, "epochs": 3})
    result = execute(run, tmp_path)
    folder = run_folder(tmp_path, run)
    records = read_records(folder / "records.jsonl")
    assert [record["epoch"] for record in records] == [0, 1, 2]
    assert set(records[-1]["terms"]["classification"]) == {"Source 1", "Source 2"}
    assert records[-1]["validation"]["Source 1"].keys() == {"accuracy", "loss"}
    assert sorted(result.test) == ["Source 1", "Source 2", "Target"]
    assert {path.name for path in folder.iterdir()} == {
        "settings.json",
        "records.jsonl",
        "result.json",
        "weights.safetensors",
        "matches.safetensors",
    }
    assert read_result(tmp_path, run) == result


def test_a_finished_run_is_not_repeated(tmp_path, small_run):
    first = execute(small_run(), tmp_path)
    marker = run_folder(tmp_path, small_run()) / "records.jsonl"
    marker.write_text("untouched")
    assert execute(small_run(), tmp_path) == first
    assert marker.read_text() == "untouched"


def test_a_result_that_is_cut_off_or_foreign_is_not_read(tmp_path, small_run):
    execute(small_run(), tmp_path)
    path = run_folder(tmp_path, small_run()) / "result.json"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    assert read_result(tmp_path, small_run()) is None
    path.write_text(json.dumps({**json.loads(whole), "run": "other"}))
    assert read_result(tmp_path, small_run()) is None


@pytest.mark.parametrize("keep", ["loss", "accuracy", "objective", "last"])
def test_the_kept_epoch_is_the_best_by_its_criterion(tmp_path, small_run, keep):
    run = small_run(training={"keep": keep, "epochs": 8})
    result = execute(run, tmp_path)
    values = [record["criterion"] for record in read_records(run_folder(tmp_path, run) / "records.jsonl")]
    assert result.best_epoch == values.index(min(values))
    assert result.selection == f"source: {keep}"


def test_patience_stops_early(tmp_path, small_run):
    run = small_run(training={"epochs": 300, "patience": 2, "keep": "accuracy"})
    result = execute(run, tmp_path)
    assert result.epochs < 300
    assert result.epochs == result.best_epoch + 3


def test_target_selection_uses_the_target_and_says_so(tmp_path, small_run):
    run = small_run(training={"selection": "target", "keep": "accuracy", "epochs": 6})
    result = execute(run, tmp_path)
    records = read_records(run_folder(tmp_path, run) / "records.jsonl")
    assert result.selection == "target: accuracy"
    assert min(record["criterion"] for record in records) == pytest.approx(-result.target_accuracy())


def test_source_selection_never_looks_at_the_target(tmp_path, small_run, monkeypatch):
    """Two targets, same sources: nothing of the run but the target's score may differ."""
    seen = []
    for noise in (1.0, 0.3):
        dataset = {**small_run().dump()["dataset"], "target_noise": [noise]}
        run = small_run(dataset=dataset)
        execute(run, tmp_path)
        seen.append((weights(tmp_path, run), read_records(run_folder(tmp_path, run) / "records.jsonl")))
    assert same(seen[0][0], seen[1][0])
    assert [record["criterion"] for record in seen[0][1]] == [record["criterion"] for record in seen[1][1]]


def test_divergence_keeps_the_best_epoch_before_it(tmp_path, small_run):
    run = small_run(
        method={"name": "perfmatch", "penalty": 1.0}, training={"epochs": 60, "learning_rate": 3.0, "keep": "loss"}
    )
    result = execute(run, tmp_path)
    assert result.diverged
    assert result.epochs < 60
    assert all(torch.isfinite(value).all() for value in weights(tmp_path, run).values())


def test_divergence_in_the_first_epoch_is_told(tmp_path, small_run):
    with pytest.raises(InputError, match="diverged in its first epoch"):
        execute(small_run(training={"learning_rate": 1e30, "keep": "loss"}), tmp_path)


@pytest.mark.parametrize(
    "training",
    [
        {"optimizer": "adam", "learning_rate": 0.01},
        {"schedule": "cosine"},
        {"schedule": "step", "milestones": [2]},
        {"precision": "bf16-mixed"},
        {"redraw": "never"},
    ],
)
def test_settings_change_what_is_learnt(tmp_path, small_run, training):
    changed = small_run(training={**training, "keep": "last"})
    plain = small_run(training={"keep": "last"})
    execute(changed, tmp_path)
    execute(plain, tmp_path)
    assert not same(weights(tmp_path, changed), weights(tmp_path, plain))


def test_a_class_that_one_source_lacks_works_and_is_said_once(tmp_path, small_run, npz):
    import numpy as np

    labels = np.arange(90) % 2
    labels[:30] = 0
    path = npz(labels=labels)
    said = []

    class Listener:
        def start(self, *args): ...
        def epoch(self, record): ...
        def stop(self): ...
        def notice(self, text):
            said.append(text)

    run = small_run(dataset={"name": "arrays", "path": str(path), "targets": ["c"]}, method="randmatch")
    result = execute(run, tmp_path, display=Listener())
    assert len(said) == 1
    assert "'a' has no input of class '1'" in said[0]
    assert list(result.test) == ["c"]


def test_too_few_rows_for_the_processes(tmp_path, small_run):
    from lightning_fabric import Fabric

    from matchdg.training.criteria import ClassCriterion
    from matchdg.training.display import Silent
    from matchdg.training.loop import Trainer
    from matchdg.training.records import Records
    from matchdg.training.run import build_objective

    run = small_run(training={"batch_rows": 1})
    split = run.dataset.build(0)

    class TwoProcesses(Fabric):
        world_size = 2

    fabric = TwoProcesses(accelerator="cpu", devices=1)
    with pytest.raises(InputError, match="a batch has 1 rows, expected at least 2"):
        Trainer(
            split=split,
            objective=build_objective(run, split),
            matcher=run.matcher.build(split.train),
            criterion=ClassCriterion(split, run.training, fabric),
            settings=run.training,
            seed=0,
            fabric=fabric,
            display=Silent(),
            records=Records(),
        )


def test_streams_differ_by_purpose_and_epoch():
    draws = {
        torch.rand(1, generator=stream(seed, purpose, epoch)).item()
        for seed in (0, 1)
        for purpose in ("a", "b")
        for epoch in (0, 1)
    }
    assert len(draws) == 8


@pytest.mark.parametrize("keep", ["accuracy", "objective"])
def test_epochs_that_are_all_the_adversary_s_are_no_divergence(tmp_path, small_run, keep):
    """Three batches an epoch, five turns of the adversary for one of the network's."""
    method = {"name": "dann", "discriminator_steps": 5}
    run = small_run(method=method, training={"epochs": 9, "batch_rows": 30, "keep": keep})
    result = execute(run, tmp_path)
    losses = [record["loss"] for record in read_records(run_folder(tmp_path, run) / "records.jsonl")]
    assert [loss is not None for loss in losses] == [False, True] * 4 + [False]
    assert (result.epochs, result.diverged) == (9, False)


def test_one_process_at_a_time_trains_a_run_and_the_other_finds_its_result(tmp_path, small_run, monkeypatch):
    pytest.importorskip("fcntl", reason="this system has no file locks")
    from concurrent.futures import ThreadPoolExecutor

    from matchdg.training import run as module

    trained, plain = [], module._execute_here
    monkeypatch.setattr(module, "_execute_here", lambda *given: (trained.append(1), plain(*given))[1])
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: execute(small_run(), tmp_path), range(2))
    assert first == second
    assert trained == [1]


def phase_1(small_run, **training):
    """Phase 1 with an update of the matches before each epoch."""
    return small_run(
        method="contrastive", matcher={"name": "nearest", "every": 1}, training={"keep": "mutual", **training}
    )


def test_features_that_are_no_numbers_are_told_with_phase_and_epoch_and_the_checkpoint_stays(
    tmp_path, small_run, monkeypatch
):
    from matchdg.training import loop

    calls, plain = [], loop.embed

    def failing(*given):
        calls.append(1)
        return plain(*given) * (math.nan if len(calls) == 3 else 1.0)

    monkeypatch.setattr(loop, "embed", failing)
    run = phase_1(small_run, epochs=6)
    with pytest.raises(DivergedError, match=r"MatchDG phase 1, epoch 4 of 6: features .* NaN .*last good checkpoint"):
        execute(run, tmp_path, MachineSettings(checkpoint_seconds=0.0))
    assert Checkpoint(run_folder(tmp_path, run), run.hash).load()[0]["epoch"] == 3


def test_a_phase_1_that_diverges_ends_with_the_epoch_kept_before(tmp_path, small_run, monkeypatch):
    plain = Trainer._train_epoch

    def diverging(self):
        terms = plain(self)
        return {**terms, "loss": math.inf} if self.epoch == 2 else terms

    monkeypatch.setattr(Trainer, "_train_epoch", diverging)
    result = execute(phase_1(small_run, epochs=6), tmp_path)
    assert (result.diverged, result.epochs) == (True, 3)
    assert result.best_epoch < 2


def test_approximate_matches_have_their_recall_in_the_records(tmp_path, small_run):
    pytest.importorskip("faiss", reason="FAISS is an extra: pip install 'matchdg[faiss]'")
    matcher = {"name": "nearest", "every": 1, "assignment": "nearest-approximate"}
    run = small_run(method="contrastive", matcher=matcher, training={"epochs": 2, "keep": "mutual"})
    execute(run, tmp_path)
    first, second = read_records(run_folder(tmp_path, run) / "records.jsonl")
    assert first["matches"] is None
    assert 50 < second["matches"]["recall"] <= 100
