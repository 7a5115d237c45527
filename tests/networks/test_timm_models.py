"""Networks of timm: found by name, loaded from a file, refused in words."""

import sys

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.networks import FrozenSettings, expanded
from matchdg.networks.normalised import Normalised
from matchdg.networks.timm_models import TimmSettings
from matchdg.training import RunSettings

timm = pytest.importorskip("timm")


@pytest.fixture
def file(tmp_path):
    torch.manual_seed(1)
    torch.save(timm.create_model("test_resnet").state_dict(), tmp_path / "weights.pth")
    return tmp_path / "weights.pth"


@pytest.mark.parametrize(
    ("model", "shape"),
    [("test_resnet", (3, 40, 56)), ("test_vit", (3, 96, 64)), ("mobilenetv3_small_050", (1, 32, 32))],
)
def test_a_convolutional_network_and_a_transformer_of_the_images_size(model, shape):
    network = TimmSettings(model=model).build(shape, 4)
    outputs = network(torch.rand(2, *shape))
    assert outputs.representation.shape == (2, network.features)
    assert outputs.logits.shape == (2, 4)
    assert network.training


def test_the_weights_of_a_file_are_loaded_with_timms_mean_and_deviation(file):
    network = TimmSettings(model="test_resnet", weights=str(file)).build((3, 64, 64), 4).eval()
    theirs = timm.create_model("test_resnet", num_classes=0).eval()
    theirs.load_state_dict({name: value for name, value in torch.load(file).items() if not name.startswith("fc.")})
    inputs = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(network(inputs).representation, theirs((inputs - 0.5) / 0.5), rtol=1e-4, atol=1e-4)


def test_timms_own_weights_are_loaded_by_timm(monkeypatch):
    create, asked = timm.create_model, []

    def given(name, pretrained=False, **options):
        asked.append(pretrained)
        torch.manual_seed(int(pretrained))
        return create(name, **options)

    monkeypatch.setattr(timm, "create_model", given)
    network = TimmSettings(model="test_resnet", weights="imagenet").build((3, 32, 32), 2)
    assert asked == [False, True]
    torch.manual_seed(1)
    expected = create("test_resnet", num_classes=0).state_dict()
    assert isinstance(network.featurizer, Normalised)
    assert all(torch.equal(value, expected[name]) for name, value in network.featurizer.body.state_dict().items())


def test_weights_that_timm_cannot_fetch_are_told(monkeypatch):
    create = timm.create_model

    def fail(name, pretrained=False, **options):
        if pretrained:
            raise OSError("no network")
        return create(name, **options)

    monkeypatch.setattr(timm, "create_model", fail)
    with pytest.raises(InputError, match=r"weights of test_resnet \(no network\).*network\.weights"):
        TimmSettings(model="test_resnet", weights="imagenet").build((3, 32, 32), 2)


@pytest.mark.parametrize("weights", ["imagenet", "file"])
def test_weights_for_another_number_of_channels(weights, file):
    settings = TimmSettings(model="test_resnet", weights=str(file) if weights == "file" else weights)
    with pytest.raises(InputError, match=r"images of 3 channel.*inputs have 1"):
        settings.build((1, 32, 32), 2)


def test_an_unknown_model_is_told_with_the_nearest():
    with pytest.raises(InputError, match=r"timm \S+ has no model 'resnt18'; did you mean 'resnet18'"):
        TimmSettings(model="resnt18").build((3, 32, 32), 2)


def test_images_that_a_model_does_not_take_are_told():
    with pytest.raises(InputError, match=r"timm/test_vit cannot be used for inputs of shape \(3, 50, 50\)"):
        TimmSettings(model="test_vit").build((3, 50, 50), 2)


def test_without_timm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(InputError, match=r"library timm, which is not installed.*\[timm\]"):
        TimmSettings().build((3, 32, 32), 2)


@pytest.mark.parametrize(
    "network", ["timm/test_resnet", {"name": "timm/test_resnet"}, {"name": "timm", "model": "test_resnet"}]
)
def test_a_run_takes_the_short_spelling(network):
    run = RunSettings.parse({"dataset": "rotated-digits", "network": network, "method": "erm"})
    assert run.network == TimmSettings(model="test_resnet")
    assert run.dump()["network"] == {"name": "timm", "model": "test_resnet"}
    assert RunSettings.parse(run.dump()).hash == run.hash


def test_so_does_a_backbone():
    assert FrozenSettings(backbone="timm/test_resnet").backbone == {"name": "timm", "model": "test_resnet"}


def test_other_names_are_left_alone():
    assert expanded("resnet18", {"stem": "small"}) == ("resnet18", {"stem": "small"})
