"""`training.backbone_rate`: the featurizer learns at a rate of its own, or stays as it is."""

import pytest
import torch
from safetensors.torch import load_file

from matchdg.core.errors import InputError
from matchdg.training import RunSettings, execute, run_folder
from matchdg.training.run import build_objective


def digits(method, rate, **training):
    return RunSettings.parse(
        {
            "dataset": {
                "name": "rotated-digits",
                "train_per_domain": 60,
                "validation_per_domain": 20,
                "test_per_domain": 20,
                "size": 16,
            },
            "network": "small-cnn",
            "method": method,
            "training": {
                "epochs": 2, "batch_rows": 16, "learning_rate": 0.05, "keep": "last", "backbone_rate": rate, **training
            },
        }
    )  # fmt: skip


def before_and_after(run, out):
    execute(run, out)
    start = build_objective(run, run.dataset.build(run.seed)).network.state_dict()
    return start, load_file(run_folder(out, run) / "weights.safetensors")


@pytest.mark.parametrize(
    "method", ["erm", {"name": "perfmatch", "layer": "representation"}, "masf", "coral", "dann", "csd", "irm"]
)
def test_at_zero_the_featurizer_and_its_statistics_stay_and_the_rest_learns(tmp_path, method):
    start, end = before_and_after(digits(method, 0.0), tmp_path)
    for key, value in end.items():
        assert torch.equal(value, start[key]) == key.startswith("featurizer."), key


def test_a_small_rate_moves_the_featurizer_less(tmp_path):
    moved = {}
    for rate in (0.01, 1.0):
        start, end = before_and_after(digits("erm", rate, optimizer="adam"), tmp_path)
        moved[rate] = sum(
            float((end[key] - start[key]).norm())
            for key in end
            if key.startswith("featurizer.") and end[key].dim() == 4
        )
    assert 0 < moved[0.01] < 0.05 * moved[1.0]


def test_equal_rates_have_the_name_of_runs_before_there_was_a_choice():
    assert digits("erm", 1.0).hash != digits("erm", 0.5).hash
    assert "backbone_rate" not in digits("erm", 1.0).dump()["training"]


def test_a_phase_1_has_nothing_else_to_train():
    with pytest.raises(InputError, match=r"training\.backbone_rate is 0.*nothing to train"):
        digits("contrastive", 0.0, keep="last")


def test_a_rate_is_not_negative():
    with pytest.raises(InputError, match=r"training\.backbone_rate"):
        digits("erm", -0.1)
