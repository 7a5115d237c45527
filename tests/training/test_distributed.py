"""Two gloo processes compute what one does on the same global batches."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from matchdg.training import MachineSettings, RunSettings, execute, load_network, read_result, run_folder
from matchdg.training.evaluate import evaluate
from matchdg.training.records import read_records
from matchdg.training.run import build_objective

SCRIPT = """
import json, sys
from pathlib import Path
from matchdg.training import MachineSettings, RunSettings, execute

if __name__ == "__main__":
    run = RunSettings.parse(json.loads(sys.argv[1]))
    machine = MachineSettings(accelerator="cpu", devices=2, threads=1, checkpoint_seconds=0.0)
    print(execute(run, Path(sys.argv[2]), machine).test)
"""


@pytest.mark.parametrize("method", ["perfmatch", "dann"])
def test_two_processes_are_one(tmp_path, small_run, method):
    """Rows a batch: 13, so that the two processes have unequal parts."""
    dataset = {"name": "slab", "train_per_domain": 60, "validation_per_domain": 31, "test_per_domain": 41}
    training = {"epochs": 3, "batch_rows": 13, "keep": "loss", "momentum": 0.0}
    run = small_run(dataset=dataset, method=method, training=training)
    script = tmp_path / "two.py"
    script.write_text(SCRIPT)
    arguments = [sys.executable, str(script), json.dumps(run.dump()), str(tmp_path / "two")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    one = execute(run, tmp_path / "one", MachineSettings(accelerator="cpu", threads=1))
    records = [read_records(run_folder(tmp_path / out, run) / "records.jsonl") for out in ("one", "two")]
    assert len(records[1]) == 3
    for single, double in zip(*records, strict=True):
        assert double["loss"] == pytest.approx(single["loss"], rel=1e-4)
        for domain, loss in single["terms"]["classification"].items():
            assert double["terms"]["classification"][domain] == pytest.approx(loss, rel=1e-4)
        for domain, scores in single["validation"].items():
            assert double["validation"][domain] == pytest.approx(scores, rel=1e-4)
    weights = [load_file(run_folder(tmp_path / out, run) / "weights.safetensors") for out in ("one", "two")]
    for key, value in weights[0].items():
        assert torch.allclose(value, weights[1][key], atol=1e-5), key
    assert one.best_epoch == json.loads((run_folder(tmp_path / "two", run) / "result.json").read_text())["best_epoch"]


def test_two_processes_evaluate_the_network_that_is_saved(tmp_path):
    """BatchNorm has statistics of its own in each process: the scores must be those of the weights that are kept."""
    run = RunSettings.parse(
        {
            "dataset": {"name": "rotated-digits", "size": 8, "train_per_domain": 90, "test_per_domain": 60},
            "network": "small-cnn",
            "method": "c-coral",
            "training": {"epochs": 2, "batch_rows": 16, "learning_rate": 0.05, "precision": "bf16-mixed"},
        }
    )
    script = tmp_path / "two.py"
    script.write_text(SCRIPT)
    arguments = [sys.executable, str(script), json.dumps(run.dump()), str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    split, result = run.dataset.build(0), read_result(tmp_path, run)
    objective = build_objective(run, split)
    objective.network.load_state_dict(load_network(tmp_path, run, split).state_dict())
    for part, scores in ((split.validation, result.validation), (split.test, result.test)):
        found = evaluate(objective, part)
        for domain, values in scores.items():
            assert found[domain] == pytest.approx(values, rel=1e-4), domain


def test_bad_input_is_told_as_in_one_process(tmp_path, small_run):
    run = small_run(dataset={"name": "slab", "train_per_domain": 3, "validation_per_domain": 3, "test_per_domain": 3})
    run = small_run(dataset=run.dump()["dataset"], training={"batch_rows": 1})
    script = tmp_path / "two.py"
    script.write_text(SCRIPT)
    arguments = [sys.executable, str(script), json.dumps(run.dump()), str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("matchdg.core.errors.InputError: a batch has 1 rows, expected at least 2")
