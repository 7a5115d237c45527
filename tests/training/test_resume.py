"""A run that is killed goes on to the same bits."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.training import MachineSettings, RunSettings, execute, run_folder
from matchdg.training.loop import Trainer
from matchdg.training.records import read_records

SCRIPT = """
import json, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from matchdg.training import MachineSettings, RunSettings, execute
run = RunSettings.parse(json.loads(sys.argv[1]))
print("ready", flush=True)
execute(run, Path(sys.argv[2]), MachineSettings(checkpoint_seconds=0.0))
"""
EVERY_EPOCH = MachineSettings(checkpoint_seconds=0.0)


def final_bytes(out, run):
    return (run_folder(out, run) / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("seed", [0, 1])
def test_killed_at_random_points_and_resumed_gives_the_same_bits(tmp_path, small_run, seed):
    """SIGKILL while it trains, at points that differ from test run to test run; the seed of the test is printed."""
    run = small_run(
        seed=seed,
        method={"name": ["perfmatch", "dann"][seed]},
        training={"epochs": 150, "keep": "accuracy", "optimizer": ["sgd", "adam"][seed], "learning_rate": 0.01},
    )
    execute(run, tmp_path / "whole")
    arguments = [sys.executable, "-c", SCRIPT, json.dumps(run.dump()), str(tmp_path / "killed")]
    dice = random.Random(os.urandom(8).hex())
    kills = 0
    for _ in range(2):
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        records = run_folder(tmp_path / "killed", run) / "records.jsonl"
        before = len(records.read_text().splitlines()) if records.exists() else 0
        while process.poll() is None and (not records.exists() or len(records.read_text().splitlines()) <= before):
            time.sleep(0.002)
        wait = dice.uniform(0, 0.15)
        print(f"killing after another {wait:.4f} s")
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills > 0
    result = execute(run, tmp_path / "killed", EVERY_EPOCH)
    assert final_bytes(tmp_path / "killed", run) == final_bytes(tmp_path / "whole", run)
    kept = [
        {key: value for key, value in record.items() if key != "seconds"}
        for record in read_records(run_folder(tmp_path / "killed", run) / "records.jsonl")
    ]
    whole = [
        {key: value for key, value in record.items() if key != "seconds"}
        for record in read_records(run_folder(tmp_path / "whole", run) / "records.jsonl")
    ]
    assert kept == whole
    assert result.epochs == 150
    assert not list(run_folder(tmp_path / "killed", run).glob("checkpoint*"))


def interrupt_at(monkeypatch, epoch):
    """Raise KeyboardInterrupt when `epoch` begins."""
    whole = Trainer._run_epoch

    def run(self):
        if self.epoch == epoch:
            raise KeyboardInterrupt
        whole(self)

    monkeypatch.setattr(Trainer, "_run_epoch", run)


@pytest.mark.parametrize("damage", ["none", "newest", "both"])
def test_interrupted_then_damaged_still_ends_at_the_same_bits(tmp_path, small_run, monkeypatch, damage):
    run = small_run(training={"epochs": 6})
    execute(run, tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_at(patch, 4)
        with pytest.raises(KeyboardInterrupt):
            execute(run, tmp_path / "broken", EVERY_EPOCH)
    folder = run_folder(tmp_path / "broken", run)
    for name in {"none": [], "newest": ["checkpoint.bin"], "both": ["checkpoint.bin", "checkpoint.previous.bin"]}[
        damage
    ]:
        (folder / name).write_bytes(b"garbage")
    started, said = [], []

    class Listener:
        def start(self, title, epochs, done):
            started.append(done)

        def notice(self, text):
            said.append(text)

        def epoch(self, record): ...
        def stop(self): ...

    execute(run, tmp_path / "broken", EVERY_EPOCH, Listener())
    assert started == [{"none": 4, "newest": 3, "both": 0}[damage]]
    assert bool(said) == (damage != "none")
    assert final_bytes(tmp_path / "broken", run) == final_bytes(tmp_path / "whole", run)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path, small_run, monkeypatch):
    run, other = small_run(), small_run(seed=5)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        for each in (run, other):
            with pytest.raises(KeyboardInterrupt):
                execute(each, tmp_path, EVERY_EPOCH)
    (run_folder(tmp_path, other) / "checkpoint.bin").replace(run_folder(tmp_path, run) / "checkpoint.bin")
    with pytest.raises(InputError, match="written with other settings"):
        execute(run, tmp_path, EVERY_EPOCH)


def test_dropout_resumes_to_the_same_bits(tmp_path, small_run, monkeypatch):
    """Networks that draw random numbers of their own go on from where the stream was."""
    from matchdg.networks import NETWORKS, Network

    settings = NETWORKS["slab"]
    plain = settings.build

    def with_dropout(self, input_shape, classes) -> Network:
        network = plain(self, input_shape, classes)
        network.neck = torch.nn.Sequential(torch.nn.Dropout(0.5), network.neck)
        return network

    monkeypatch.setattr(settings, "build", with_dropout)
    run = small_run(training={"epochs": 6, "keep": "last"})
    execute(run, tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            execute(run, tmp_path / "broken", EVERY_EPOCH)
    execute(run, tmp_path / "broken", EVERY_EPOCH)
    assert final_bytes(tmp_path / "broken", run) == final_bytes(tmp_path / "whole", run)


def test_disk_full_leaves_nothing_that_reads_as_a_result(tmp_path, small_run, monkeypatch):
    """The disk fills while the result is written: no result; with room again, the same command finishes it."""
    import errno

    from matchdg.core import files
    from matchdg.core.errors import OutputError
    from matchdg.training import read_result

    run = small_run()
    real = os.fsync
    with monkeypatch.context() as patch:

        def full(descriptor):
            if (run_folder(tmp_path, run) / "weights.safetensors").exists():
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        patch.setattr(files.os, "fsync", full)
        with pytest.raises(OutputError, match="No space left on device"):
            execute(run, tmp_path)
    assert read_result(tmp_path, run) is None
    assert [path.name for path in run_folder(tmp_path, run).glob(".*")] == [".lock"]
    assert execute(run, tmp_path).run == run.hash


def test_settings_round_trip(small_run):
    run = small_run(seed=3)
    assert RunSettings.parse(run.dump()) == run
    assert RunSettings.parse(json.loads(json.dumps(run.dump()))).hash == run.hash
