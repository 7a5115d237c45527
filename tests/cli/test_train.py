import json

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


def test_target_selection_is_shouted(matchdg):
    ran = matchdg("train", *SMALL, "-s", "training.selection=target", "-q")
    assert "SELECTED ON THE TARGET" in ran.out


def test_divergence_is_told(matchdg):
    ran = matchdg("train", *SMALL, "-s", "training.epochs=60", "-s", "training.learning_rate=3.0", "-q")
    assert ran.code == 0
    assert "diverged" in ran.err


def with_nan():
    inputs = np.zeros((90, 3))
    inputs[17, 1] = np.nan
    return inputs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "perfmach"], "unknown method 'perfmach'; did you mean 'perfmatch'?"),
        (["--dataset", "slap"], "unknown dataset 'slap'; did you mean 'slab'?"),
        (["--network", "resnet"], "did you mean 'resnet18'?"),
        (["--matcher", "perfct"], "did you mean 'perfect'?"),
        (["-s", "training.epoch=3"], "unknown key in training 'epoch'; did you mean 'epochs'?"),
        (["-s", "method.penalti=3"], "did you mean 'penalty'?"),
        (["-s", "trainin.epochs=3"], "unknown key in run 'trainin'; did you mean 'training'?"),
        (["-s", "epochs"], "not of the form section.key=value"),
        (["-s", "training.epochs=["], "is not a YAML value"),
        (["-s", "matcher.fraction=0.5"], "needs --matcher NAME too"),
        (["-s", "training.epochs=0"], "training.epochs"),
        (["-s", "dataset.train_per_domain=-5"], "dataset.train_per_domain"),
        (["-s", "dataset.source_noise=[0.1]"], "at least two source domains, got 1"),
        (["--seed", "-1"], "seed is -1"),
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


@pytest.mark.parametrize("text", ["a: [", "- 1\n- 2\n"])
def test_a_config_that_is_no_mapping(matchdg, tmp_path, text):
    (tmp_path / "bad.yaml").write_text(text)
    ran = matchdg("train", "--config", "bad.yaml")
    assert ran.code == 2
    assert "bad.yaml" in ran.err
