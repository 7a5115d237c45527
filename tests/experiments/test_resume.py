"""A table whose command is killed in phase 1, in a match update or in phase 2 ends as it would have, bit for bit."""

import json
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys, time
from functools import partial
from pathlib import Path
from matchdg.experiments import Arm, Study, reproduce, runner
from matchdg.experiments.study import Column
from matchdg.matching import NearestMatcher
from matchdg.reports.progress import StudyLines
from matchdg.training import MachineSettings, checkpoint
from matchdg.training.loop import Trainer

out, base, stop = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
runner.MachineSettings = partial(MachineSettings, checkpoint_seconds=0.0)


def here(moment):
    if moment == stop:
        print("here", flush=True)
        time.sleep(600)


def after(cls, name, moment):
    plain = getattr(cls, name)

    def method(self, *arguments):
        found = plain(self, *arguments)
        here(moment(self))
        return found

    setattr(cls, name, method)


updates, saves = iter(range(1000)), iter(range(1000))
after(Trainer, "step_on", lambda trainer: f"{trainer.title}, step {trainer.step}")
after(NearestMatcher, "update", lambda _: f"update {next(updates)}")
write = checkpoint.write_checked
checkpoint.write_checked = lambda *given: (here(f"save {next(saves)}"), write(*given))
arms = (Arm("MatchDG", None, base, columns={"Target": "target"}),)
study = Study("digits", "Digits", "quick", arms, (0,), columns={"Target": Column()})
reproduce(study, out, 1, StudyLines(), "test")
"""
BASE = {
    "dataset": {"name": "rotated-digits", "size": 8, "train_per_domain": 80, "test_per_domain": 40},
    "network": "small-cnn",
    "method": "matchdg",
    "training": {"epochs": 3, "batch_rows": 16, "learning_rate": 0.05},
    "phase1": {"training": {"epochs": 4, "batch_rows": 16}, "matcher": {"every": 1}},
}


def command(out, stop=""):
    return [sys.executable, "-c", SCRIPT, str(out), json.dumps(BASE), stop]


def outcome(out):
    """The rows of the table, and the weights and matches of every run."""
    table = json.loads((out / "table.json").read_text())
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.glob("runs/*/*.safetensors")}
    return table["rows"], files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    subprocess.run(command(out), check=True, capture_output=True)
    return outcome(out)


def test_killed_in_each_phase_and_in_a_match_update(tmp_path, whole):
    """In an epoch, after a table was computed and before it is used, and while a checkpoint is written."""
    stops = ("MatchDG phase 1, step 7", "update 1", "save 1", "MatchDG, step 9")
    for stop in stops:
        with subprocess.Popen(command(tmp_path, stop), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "here\n"
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert not (tmp_path / "table.json").exists()
    subprocess.run(command(tmp_path), check=True, capture_output=True)
    rows, files = outcome(tmp_path)
    assert rows == whole[0]
    assert files.keys() == whole[1].keys()
    assert len(files) == 4
    assert files == whole[1]
