"""torchvision's networks: published files fit them, and where these cannot be had the error says what to do."""

import pytest
import torch
from torch import hub, nn
from torchvision import models

from matchdg.core.errors import InputError
from matchdg.networks import NETWORKS
from matchdg.networks.densenet import DenseNet121Settings
from matchdg.networks.resnet import ResNet18Settings

CASES = {
    "resnet18": (32, "fc"),
    "resnet50": (32, "fc"),
    "alexnet": (64, "classifier.6"),
    "densenet121": (32, "classifier"),
}


@pytest.mark.parametrize("name", CASES)
def test_weights_in_torchvisions_own_format_give_torchvisions_features(tmp_path, name):
    side, last = CASES[name]
    torch.manual_seed(0)
    theirs = models.get_model(name).eval()
    for layer in theirs.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean)
    torch.save(theirs.state_dict(), tmp_path / "weights.pth")
    theirs.set_submodule(last, nn.Identity())
    ours = NETWORKS[name](weights=str(tmp_path / "weights.pth")).build((3, side, side), 4).eval()
    inputs = torch.rand(2, 3, side, side)
    shown = (inputs - torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).view(
        3, 1, 1
    )
    with torch.no_grad():
        torch.testing.assert_close(ours(inputs).representation, theirs(shown), rtol=1e-4, atol=1e-4)


def test_the_names_of_the_published_densenet_are_understood(tmp_path):
    state = models.densenet121().state_dict()
    old = {name.replace("norm1.", "norm.1.").replace("norm2.", "norm.2.").replace("conv1.", "conv.1."): value
           for name, value in state.items()}  # fmt: skip
    old = {name.replace("conv2.", "conv.2."): value for name, value in old.items()}
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    torch.save(old, tmp_path / "weights.pth")
    network = DenseNet121Settings(weights=str(tmp_path / "weights.pth")).build((3, 32, 32), 2)
    loaded = network.featurizer.body.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in loaded.items())


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("resnet18", models.ResNet18_Weights.IMAGENET1K_V1),
        ("resnet50", models.ResNet50_Weights.IMAGENET1K_V1),
        ("alexnet", models.AlexNet_Weights.IMAGENET1K_V1),
        ("densenet121", models.DenseNet121_Weights.IMAGENET1K_V1),
    ],
)
def test_what_is_downloaded_is_the_file_that_torchvision_names(name, entry, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr(hub, "download_url_to_file", lambda url, path, hash_prefix, progress: asked.append((url, path)))
    path = NETWORKS[name].published.fetch()
    assert asked == [(entry.url, str(path))]
    assert path == tmp_path / "checkpoints" / entry.url.rpartition("/")[2]
    assert NETWORKS[name].published.digest in path.name


def test_a_file_in_torchs_cache_is_not_downloaded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr(hub, "download_url_to_file", lambda *_, **__: pytest.fail("downloaded"))
    (tmp_path / "checkpoints").mkdir()
    torch.save(models.resnet18().state_dict(), tmp_path / "checkpoints" / "resnet18-f37072fd.pth")
    ResNet18Settings(weights="imagenet").build((3, 16, 16), 2)


@pytest.mark.parametrize("error", [OSError("no route to host"), RuntimeError("invalid hash value")])
def test_a_failed_download_says_what_to_do(tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr(hub, "download_url_to_file", fail)
    with pytest.raises(
        InputError,
        match=rf"resnet18 could not be downloaded from https://\S+f37072fd\.pth \({error}\).*network\.weights",
    ):
        ResNet18Settings(weights="imagenet").build((3, 16, 16), 2)


def test_smaller_images_leave_nothing_of_alexnet_and_densenet():
    for name, side in (("alexnet", 62), ("densenet121", 28)):
        with pytest.raises(InputError, match=rf"{name} needs images of at least .* {side + 1}x{side + 1} pixels"):
            NETWORKS[name]().build((3, side, side), 2)


def test_alexnets_own_dropout_is_a_setting():
    inputs = torch.rand(2, 3, 64, 64)
    for share, same in ((0.0, True), (0.5, False)):
        network = NETWORKS["alexnet"](hidden_dropout=share).build((3, 64, 64), 2)
        assert torch.equal(network(inputs).logits, network(inputs).logits) == same
