import json
import os

import numpy as np
import pytest

SMALL = ["-s", "training.epochs=2", "-s", "dataset.train_per_domain=40", "-s", "training.batch_rows=8"]


def test_train_prints_scores_and_the_folder(matchdg, tmp_path):
    ran = matchdg("train", "--method", "perfmatch", *SMALL, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "Target" in ran.out
    assert "(target)" in ran.out
    folder = ran.out.strip().splitlines()[-1].removeprefix("run: ")
    assert (tmp_path / "out" / "runs").exists()
    assert folder.startswith(str(tmp_path / "out"))
    assert "epoch 2/2" in ran.err


def test_json_is_for_programs(matchdg):
    ran = matchdg("train", *SMALL, "--json")
    result = json.loads(ran.out)
    assert result["targets"] == ["Target"]
    assert set(result["test"]["Target"]) == {"accuracy", "loss"}
    assert ran.err == ""


def test_a_config_file_is_read_and_overridden(matchdg, tmp_path):
    (tmp_path / "run.yaml").write_text("method:\n  name: irm\n  penalty: 1e-1\ntraining:\n  epochs: 3\n")
    ran = matchdg("train", "--config", "run.yaml", *SMALL, "--seed", 4, "--json")
    folder = json.loads(ran.out)["folder"]
    settings = json.loads((tmp_path / folder / "settings.json").read_text())
    assert settings["method"] == {"name": "irm", "penalty": 0.1, "start_epoch": 0}
    assert settings["training"]["epochs"] == 2
    assert settings["seed"] == 4


def test_your_own_arrays(matchdg, npz):
    ran = matchdg(
        "train", "-m", "randmatch", "-d", "arrays", "-s", f"dataset.path={npz()}", "-s", "dataset.targets=[c]", "-q"
    )
    assert ran.code == 0, ran.err
    assert "c " in ran.out


DIGITS = [
    *("-d", "rotated-digits", "-s", "dataset.size=8", "-s", "dataset.train_per_domain=40"),
    *("-s", "dataset.sources=[0, 30]", "-s", "dataset.targets=[60]", "-s", "training.epochs=1"),
]


def test_matchdg_runs_both_phases_with_settings_of_each(matchdg, tmp_path):
    both = ["-s", "phase1.training.epochs=2", "-s", "phase1.matcher.assignment=nearest"]
    ran = matchdg("train", "-m", "matchdg", *DIGITS, *both)
    assert ran.code == 0, ran.err
    assert "(target)" in ran.out
    assert "epoch 2/2" in ran.err
    runs = [json.loads(path.read_text()) for path in (tmp_path / "matchdg-out" / "runs").glob("*/settings.json")]
    whole = next(run for run in runs if run["phase1"])
    assert len(runs) == 2
    assert whole["phase1"]["training"]["epochs"] == 2
    assert whole["phase1"]["matcher"]["assignment"] == "nearest"
    assert whole["phase1"]["matcher"]["start"] == "inputs"
    assert whole["training"]["epochs"] == 1


def test_a_file_has_a_phase_1_too_and_options_override_it(matchdg, tmp_path):
    (tmp_path / "run.yaml").write_text(
        "method: matchdg\nphase1:\n  training:\n    epochs: 3\n  matcher:\n    every: 1\ntraining:\n"
    )
    ran = matchdg("train", "--config", "run.yaml", *DIGITS, "-s", "phase1.training.epochs=1", "--json")
    folder = json.loads(ran.out)["folder"]
    phase1 = json.loads((tmp_path / folder / "settings.json").read_text())["phase1"]
    assert phase1["training"]["epochs"] == 1
    assert phase1["matcher"]["every"] == 1


def test_the_settings_that_a_run_leaves_are_a_config(matchdg, tmp_path):
    first = json.loads(matchdg("train", *SMALL, "--json").out)
    again = json.loads(matchdg("train", "--config", f"{first['folder']}/settings.json", "--json").out)
    assert again == first
    ran = matchdg("train", "--config", f"{first['folder']}/settings.json", "-s", "phase1.training.epochs=1")
    assert "has no phase 1" in ran.err


def test_phase_1_alone_shows_match_quality_in_place_of_accuracy(matchdg):
    ran = matchdg("train", "-m", "contrastive", *DIGITS, "-q")
    assert ran.code == 0, ran.err
    assert "accuracy" not in ran.out
    own, between = ran.out.split("training inputs of different domains")
    for part in (own, between):
        assert "top-10 overlap" in part
        assert "mutual nearest neighbours" in part
    assert "overlap of the run's match table" in between
    result = json.loads(matchdg("train", "-m", "contrastive", *DIGITS, "--json").out)
    assert result["test"] == {}
    assert 0 <= result["quality"]["overlap"] <= 100
    assert result["validation"]["augmentation"]["mean_rank"] >= 1


def test_phase_1_on_data_without_objects_shows_what_can_be_known(matchdg, npz):
    with np.load(npz()) as columns:
        np.savez("none.npz", **{name: column for name, column in columns.items() if name != "objects"})
    data = ["-d", "arrays", "-s", "dataset.path=none.npz", "-s", "dataset.targets=[c]", "-s", "training.epochs=1"]
    ran = matchdg("train", "-m", "contrastive", *data, "-q")
    assert ran.code == 0, ran.err
    assert "objects are not known" in ran.out
    assert ran.out.count("mutual nearest neighbours") == 2


def test_data_dir_reaches_the_processes_that_are_started(matchdg, monkeypatch, tmp_path):
    monkeypatch.setenv("MATCHDG_DATA", "elsewhere")
    (tmp_path / "data").mkdir()
    matchdg("train", *SMALL, "--data-dir", "data", "-q")
    assert os.environ["MATCHDG_DATA"] == str(tmp_path / "data")


def test_a_frozen_network_is_that_of_the_features(matchdg, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = ["-d", "rotated-digits", "--network", "small-cnn", "-m", "erm", *SMALL, "--json"]
    ran = matchdg("train", "--freeze", *small, "-s", "network.summary=flatten")
    assert ran.code == 0, ran.err
    network = json.loads((tmp_path / json.loads(ran.out)["folder"] / "settings.json").read_text())["network"]
    assert (network["name"], network["backbone"]) == ("frozen", {"name": "small-cnn", "summary": "flatten"})
    assert list((tmp_path / "cache").rglob("*.npy"))


def test_strict_is_a_setting_of_the_data_sets_that_have_it(matchdg):
    ran = matchdg("train", "--strict", *SMALL)
    assert ran.code == 2
    assert "unknown key in dataset 'strict'" in ran.err


def test_freezing_needs_a_network(matchdg):
    ran = matchdg("train", "--freeze", "-d", "rotated-digits")
    assert ran.code == 2
    assert "--freeze needs --network NAME" in ran.err


def test_target_selection_is_shouted(matchdg):
    ran = matchdg("train", *SMALL, "-s", "training.selection=target", "-q")
    assert "SELECTED ON THE TARGET" in ran.out


def test_divergence_is_told(matchdg):
    # The weight of the penalty rises until training no longer bears it.
    late = ["method.penalty=3000", "method.warm_up=1.0", "training.epochs=1000", "seed=1"]
    ran = matchdg("train", *SMALL, *(part for setting in late for part in ("-s", setting)), "-q")
    assert ran.code == 0
    assert "training diverged; the best epoch before that was kept" in ran.err


def test_divergence_in_the_first_epoch_is_an_error(matchdg):
    ran = matchdg("train", *SMALL, "-s", "training.learning_rate=1000000", "-q")
    assert ran.code == 2
    assert "training diverged in its first epoch" in ran.err


def with_nan():
    inputs = np.zeros((90, 3))
    inputs[17, 1] = np.nan
    return inputs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "perfmach"], "unknown method 'perfmach'; did you mean 'perfmatch'?"),
        (["--dataset", "slap"], "unknown dataset 'slap'; did you mean 'slab'?"),
        (["--network", "resnet1"], "did you mean 'resnet18'?"),
        (["--matcher", "perfct"], "did you mean 'perfect'?"),
        (["-s", "training.epoch=3"], "unknown key in training 'epoch'; did you mean 'epochs'?"),
        (["-s", "method.penalti=3"], "did you mean 'penalty'?"),
        (["-s", "trainin.epochs=3"], "unknown key in run 'trainin'; did you mean 'training'?"),
        (
            ["-m", "matchdg", "-s", "phase1.trainin.epochs=3"],
            "unknown key in phase1 'trainin'; did you mean 'training'?",
        ),
        (["-m", "matchdg", "-s", "phase1.training.epoch=3"], "phase1: unknown key in training 'epoch'; did you mean"),
        (["-m", "matchdg", "-s", "phase1.matcher.asignment=a"], "did you mean 'assignment'?"),
        (["-m", "matchdg", "-s", "phase1.matcher.assignment=nearst"], "matcher.assignment"),
        (["-m", "matchdg", "-s", "phase1.training.epochs.first=1", "-s", "phase1.training=2"], "training"),
        (["-m", "matchdg", "-s", "phase1.training=2", "-s", "phase1.training.epochs=3"], "is a value, not a section"),
        (["-s", "phase1.training.epochs=3"], "PerfMatch has no phase 1"),
        (["-m", "contrastve"], "did you mean 'contrastive'?"),
        (["-m", "contrastive", "--matcher", "random"], "needs the matcher 'nearest'"),
        (["--data-dir", "absent"], "--data-dir is absent, and there is no such folder"),
        (["-s", "epochs"], "not of the form section.key=value"),
        (["-s", "training.epochs=["], "is not a YAML value"),
        (["-s", "matcher.fraction=0.5"], "needs --matcher NAME too"),
        (["-s", "training.epochs=0"], "training.epochs"),
        (["-s", "dataset.train_per_domain=-5"], "dataset.train_per_domain"),
        (["-s", "dataset.source_noise=[0.1]"], "at least two source domains, got 1"),
        (["-s", "dataset.source_noise=[]"], "at least two source domains, got noise for none"),
        (["--seed", "-1"], "seed is -1"),
        (["--seed", "9" * 20], f"seed is {'9' * 20}, expected a whole number from 0 to"),
        (["--devices", "0"], "machine.devices"),
        (["--accelerator", "mps"], "cannot be used on this machine"),
        (["--config", "absent.yaml"], "absent.yaml could not be read"),
        (["-d", "counter-example", "--network", "resnet18"], "resnet18 needs images"),
    ],
)
def test_bad_input_is_named_and_ends_with_2(matchdg, arguments, message):
    ran = matchdg("train", "-q", *arguments)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"inputs": with_nan()}, ["dataset.targets=[c]"], "row(s): 17"),
        ({"labels": np.linspace(0, 1, 90)}, ["dataset.targets=[c]"], "labels must be integers"),
        ({}, ["dataset.targets=[c]", "dataset.sources=[a, c]"], "must not be a source domain"),
        ({}, ["dataset.targets=[b, c]"], "at least two source domains"),
        ({}, ["dataset.targets=[d]"], "unknown"),
        (
            {"labels": np.repeat([0, 1, 2], 30) % 3 // 2 + np.arange(90) % 2 * (np.arange(90) < 60)},
            ["dataset.targets=[c]"],
            None,
        ),
        (
            {"labels": np.where(np.arange(90) < 60, np.arange(90) % 2, 2)},
            ["dataset.targets=[c]"],
            "in no source domain",
        ),
    ],
)
def test_bad_data_is_named_and_ends_with_2(matchdg, npz, columns, options, message):
    settings = [part for option in options for part in ("-s", option)]
    ran = matchdg("train", "-q", "-m", "erm", "-d", "arrays", "-s", f"dataset.path={npz(**columns)}", *settings)
    if message is None:
        assert ran.code == 0, ran.err
        return
    assert ran.code == 2, ran.out
    assert message in ran.err


@pytest.mark.parametrize("text", [b"a: [", b"- 1\n- 2\n", b"\xff\xfe"])
def test_a_config_that_is_no_mapping(matchdg, tmp_path, text):
    (tmp_path / "bad.yaml").write_bytes(text)
    ran = matchdg("train", "--config", "bad.yaml")
    assert ran.code == 2
    assert "bad.yaml" in ran.err
