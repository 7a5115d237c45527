"""A network that stays as it is: its features are computed once, and stand in for the images."""

from dataclasses import replace

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data.views import ViewSettings
from matchdg.networks import FrozenSettings
from matchdg.training import RunSettings, execute
from matchdg.training.frozen import Features, KeptViews, features_folder, freeze
from matchdg.training.run import build_split

DIGITS = {"name": "rotated-digits", "train_per_domain": 40, "size": 16, "sources": [30, 60], "targets": [0]}
FROZEN = {"name": "frozen", "backbone": "small-cnn", "hidden": [16]}
VIEWS = ViewSettings(crop_scale=(0.5, 1.0), flip=0.5)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "matchdg" / "features"


def run(**sections):
    values = {"dataset": DIGITS, "network": FROZEN, "method": "erm", "training": {"epochs": 2, "batch_rows": 16}}
    return RunSettings.parse({**values, **sections})


@pytest.fixture
def split():
    return run().dataset.build(0)


def frozen(**settings):
    return FrozenSettings.parse({"backbone": "small-cnn", **settings}, "network")


def test_features_are_those_of_the_backbone_in_evaluation(split):
    settings = frozen(standardise=False)
    found = freeze(split, settings)
    torch.manual_seed(0)
    backbone = settings.build_backbone(split.train.input_shape).eval()
    with torch.no_grad():
        expected = backbone(split.test.inputs[torch.arange(len(split.test))]).representation
    torch.testing.assert_close(found.test.inputs[:], expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(found.test.labels, split.test.labels)
    assert found.train.input_shape == (128,)


def test_they_are_standardised_by_the_training_data_alone(split):
    found = freeze(split, frozen())
    values = found.train.inputs[:]
    torch.testing.assert_close(values.mean(0), torch.zeros(128), atol=1e-5, rtol=0)
    spread = values.std(0, correction=0)
    torch.testing.assert_close(spread, (spread > 0).float(), atol=1e-4, rtol=0)
    assert found.test.inputs[:].mean(0).abs().max() > 0.05


def test_they_are_computed_once(split, cache, monkeypatch):
    first = freeze(split, frozen())
    assert features_folder() == cache
    assert len(list(cache.glob("*.npy"))) == 3
    monkeypatch.setattr(Features, "_compute", lambda *_: pytest.fail("computed anew"))
    assert torch.equal(freeze(split, frozen()).train.inputs[:], first.train.inputs[:])


def test_another_backbone_or_other_data_are_other_features(split, cache):
    # Three parts by one backbone, by another, and one part anew.
    freeze(split, frozen())
    freeze(split, frozen(backbone={"name": "small-cnn", "summary": "flatten"}))
    assert len(list(cache.glob("*.npy"))) == 6
    others = split.validation.select(torch.arange(len(split.validation)).flip(0))
    freeze(replace(split, validation=others), frozen())
    assert len(list(cache.glob("*.npy"))) == 7


def test_views_are_kept_as_features_and_one_is_drawn_for_each_epoch(split, cache):
    found = freeze(replace(split, views=VIEWS), frozen(views=3))
    assert isinstance(found.views, KeptViews)
    assert found.views.features.shape == (4, len(split.train), 128)
    assert torch.equal(found.views.features[0], found.train.inputs[:])
    assert len(list(cache.glob("*.npy"))) == 6
    every = torch.arange(len(split.train))
    first, second = (found.views.shown(found.train.inputs, 0, 1, draw)[every] for draw in (0, 1))
    again, later = (found.views.shown(found.train.inputs, 0, epoch, 0)[every] for epoch in (1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    # Two draws of an epoch are of different views of the same input.
    distance = (first[:, None] - found.views.features.transpose(0, 1)).abs().amax(-1)
    other = (second[:, None] - found.views.features.transpose(0, 1)).abs().amax(-1)
    assert (distance.min(1).values == 0).all()
    assert (other.min(1).values == 0).all()
    assert (distance.argmin(1) != other.argmin(1)).float().mean() > 0.9


def test_without_views_nothing_is_drawn(split):
    assert freeze(replace(split, views=VIEWS), frozen(views=0)).views is None
    assert freeze(split, frozen(views=3)).views is None


@pytest.mark.parametrize("method", ["erm", "randmatch", "irm", "csd", "coral", "dann", "mdghybrid"])
def test_methods_train_on_features(tmp_path, method):
    phase1 = {"phase1": {"training": {"epochs": 2, "batch_rows": 16}}} if method == "mdghybrid" else {}
    result = execute(run(method=method, **phase1), tmp_path / "out")
    assert result.target_accuracy() > 0


def test_a_run_says_its_backbone_whole():
    assert run().dump()["network"]["backbone"] == {"name": "small-cnn", "summary": "mean"}
    assert RunSettings.parse(run().dump()).hash == run().hash
    assert build_split(run()).train.input_shape == (128,)


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        ("slab", "expected a network on images"),
        ("frozen", "expected a network on images"),
        ("resnet19", "did you mean 'resnet18'"),
        ({"name": "small-cnn", "sumary": "mean"}, "sumary"),
        ({"summary": "mean"}, "expected a network on images"),
    ],
)
def test_a_backbone_that_makes_no_sense(backbone, message):
    with pytest.raises(InputError, match=message):
        run(network={"name": "frozen", "backbone": backbone})


def test_views_that_cannot_be_named_cannot_be_kept(split):
    class Nameless:
        def shown(self, inputs, seed, epoch, draw):
            return inputs

    with pytest.raises(InputError, match="Nameless cannot say what it is"):
        freeze(replace(split, views=Nameless()), frozen(views=1))
