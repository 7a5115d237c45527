"""The family `NETWORKS`: shapes, layers, gradients, and the architectures as their papers have them."""

import pytest
import torch
from torch import nn

from matchdg.core.errors import InputError
from matchdg.networks import FLAT_NETWORKS, NETWORKS, Network, Outputs
from matchdg.networks.domainbed import DomainBedCnnSettings
from matchdg.networks.lenet import LeNetSettings
from matchdg.networks.resnet import ResNet18Settings, ResNet50Settings
from matchdg.networks.slab import SlabNetworkSettings
from matchdg.networks.small_cnn import SmallCnnSettings

SHAPES = {
    "slab": [(2,), (3, 4), (1, 8, 8)],
    "resnet18": [(1, 28, 28), (1, 32, 48), (3, 40, 40), (2, 1, 1)],
    "resnet50": [(1, 28, 28), (3, 33, 20)],
    "lenet": [(1, 28, 28), (1, 12, 12), (3, 13, 31)],
    "domainbed-cnn": [(1, 28, 28), (3, 9, 14), (2, 1, 1)],
    "small-cnn": [(1, 32, 32), (3, 13, 20), (2, 1, 1)],
    "frozen": [(5,), (2, 3)],
    "efficientnet-lite0": [(3, 32, 32), (1, 33, 45)],
    "alexnet": [(3, 63, 63), (1, 64, 80)],
    "densenet121": [(3, 29, 29), (1, 32, 40)],
    "timm": [(3, 32, 32), (1, 28, 28)],
}
IMAGES = [name for name in NETWORKS if name not in FLAT_NETWORKS]
CASES = [(name, shape) for name in NETWORKS for shape in SHAPES[name]]


def build(name, shape, classes=3, seed=0):
    torch.manual_seed(seed)
    return NETWORKS[name]().build(shape, classes)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_shapes_and_gradients(name, shape):
    network = build(name, shape)
    outputs = network(torch.randn(4, *shape))
    assert network.classes == network.size("logits") == outputs.logits.shape[1] == 3
    assert network.size("representation") == network.features == outputs.representation.shape[1]
    assert outputs.hidden.shape == (4, network.classifier.in_features)
    outputs.logits.square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in network.parameters())


@pytest.mark.parametrize("name", NETWORKS)
class TestFamily:
    def test_at_gives_the_layer_that_is_asked_for(self, name):
        outputs = build(name, SHAPES[name][0])(torch.randn(2, *SHAPES[name][0]))
        assert outputs.at("representation") is outputs.representation
        assert outputs.at("logits") is outputs.logits

    def test_logits_are_the_classifier_on_hidden(self, name):
        network = build(name, SHAPES[name][0])
        outputs = network(torch.randn(2, *SHAPES[name][0]))
        torch.testing.assert_close(
            outputs.logits, outputs.hidden @ network.classifier.weight.T + network.classifier.bias
        )

    def test_a_seed_decides_the_weights(self, name):
        first, same, other = (build(name, SHAPES[name][0], seed=seed).state_dict() for seed in (0, 0, 1))
        assert all(torch.equal(first[key], same[key]) for key in first)
        assert any(not torch.equal(first[key], other[key]) for key in first)

    def test_in_eval_a_prediction_does_not_depend_on_the_others_in_the_batch(self, name):
        network = build(name, SHAPES[name][0]).eval()
        inputs = torch.randn(3, *SHAPES[name][0])
        with torch.no_grad():
            torch.testing.assert_close(network(inputs).logits[:1], network(inputs[:1]).logits)

    def test_no_two_names_share_memory(self, name):
        """A weights file holds each tensor once."""
        tensors = build(name, SHAPES[name][0]).state_dict().values()
        assert len({tensor.data_ptr() for tensor in tensors}) == len(tensors)

    def test_settings_read_back(self, name):
        settings = NETWORKS[name]()
        assert NETWORKS[name].parse(settings.dump(), "network") == settings


def test_the_slab_network_is_that_of_appendix_a1():
    network = SlabNetworkSettings().build((2,), 2)
    assert [tuple(p.shape) for p in network.parameters()] == [
        (100, 2), (100,), (100, 100), (100,), (2, 100), (2,),
    ]  # fmt: skip


def test_the_slab_network_by_hand():
    network = SlabNetworkSettings(width=2).build((2,), 1)
    state = {
        "featurizer.1.weight": torch.tensor([[1.0, 1.0], [1.0, -1.0]]),
        "featurizer.1.bias": torch.tensor([0.0, 1.0]),
        "neck.weight": torch.tensor([[-1.0, 0.0], [2.0, 1.0]]),
        "neck.bias": torch.tensor([0.0, 3.0]),
        "classifier.weight": torch.tensor([[1.0, 10.0]]),
        "classifier.bias": torch.tensor([0.5]),
    }
    network.load_state_dict(state)
    outputs = network(torch.tensor([[1.0, 4.0]]))
    # ReLU cuts 1 - 4 + 1 = -2 of the representation; nothing cuts the -5 between the classifier's two layers.
    assert outputs.representation.tolist() == [[5.0, 0.0]]
    assert outputs.hidden.tolist() == [[-5.0, 13.0]]
    assert outputs.logits.tolist() == [[125.5]]


def test_a_width_is_at_least_one():
    with pytest.raises(InputError, match=r"network\.width"):
        SlabNetworkSettings.parse({"width": 0}, "network")


@pytest.mark.parametrize("channels", [1, 3])
def test_resnet18_has_512_features_and_the_stem_of_its_channels(channels):
    network = ResNet18Settings().build((channels, 28, 28), 10)
    assert network.features == network.classifier.in_features == 512
    assert network.featurizer.conv1.weight.shape == (64, channels, 7, 7)
    # Kaiming for the outgoing side: the deviation does not depend on the number of channels.
    assert network.featurizer.conv1.weight.std().item() == pytest.approx((2 / (64 * 49)) ** 0.5, rel=0.05)


def test_resnet50_has_2048_features():
    network = ResNet50Settings().build((1, 28, 28), 10)
    assert network.features == network.classifier.in_features == 2048
    assert network.featurizer.conv1.weight.shape == (64, 1, 7, 7)


@pytest.mark.parametrize("settings", [ResNet18Settings, ResNet50Settings])
@pytest.mark.parametrize(("stem", "side"), [("imagenet", 8), ("small", 32)])
def test_the_stem_decides_the_positions_that_the_first_stage_sees(settings, stem, side):
    model = settings(stem=stem).build((1, 32, 32), 2).featurizer
    seen = []
    model.layer1.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape))
    with torch.no_grad():
        model(torch.randn(2, 1, 32, 32))
    assert seen == [(2, 64, side, side)]


@pytest.mark.parametrize("channels", [1, 3])
def test_the_small_stem_is_a_3x3_convolution(channels):
    network = ResNet18Settings(stem="small").build((channels, 16, 16), 2)
    assert network.featurizer.conv1.weight.shape == (64, channels, 3, 3)
    assert network.featurizer.conv1.stride == (1, 1)
    assert network.featurizer.conv1.weight.std().item() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.1)


def test_an_unknown_stem_is_named():
    with pytest.raises(InputError, match=r"network\.stem.*'imagenet' or 'small'"):
        ResNet18Settings.parse({"stem": "big"}, "network")


def sizes_of_weights(network):
    return [tuple(parameter.shape) for name, parameter in network.named_parameters() if parameter.dim() > 1]


def test_lenet_is_lenet_5_at_28_pixels():
    network = LeNetSettings().build((1, 28, 28), 10)
    assert sizes_of_weights(network) == [(6, 1, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (10, 84)]
    assert network.features == 84
    assert (network(torch.randn(9, 1, 28, 28)).representation >= 0).all()


def test_the_domainbed_network_is_that_of_its_appendix():
    network = DomainBedCnnSettings().build((1, 28, 28), 10)
    assert sizes_of_weights(network) == [
        (64, 1, 3, 3), (128, 64, 3, 3), (128, 128, 3, 3), (128, 128, 3, 3), (10, 128),
    ]  # fmt: skip
    layers = list(network.featurizer)
    assert [layer.stride for layer in layers if isinstance(layer, nn.Conv2d)] == [(1, 1), (2, 2), (1, 1), (1, 1)]
    assert [layer.num_groups for layer in layers if isinstance(layer, nn.GroupNorm)] == [8] * 4
    assert [type(layer) for layer in layers[:3]] == [nn.Conv2d, nn.ReLU, nn.GroupNorm]


def test_the_domainbed_network_is_the_same_in_training_and_in_use():
    """Group normalisation knows nothing of the batch."""
    network, inputs = build("domainbed-cnn", (1, 9, 9)), torch.randn(3, 1, 9, 9)
    torch.testing.assert_close(network(inputs).logits, network.eval()(inputs).logits)


@pytest.mark.parametrize("shape", [(1, 32, 32), (3, 9, 20)])
def test_the_small_cnn_summarises_positions_by_their_mean_or_by_a_linear_layer(shape):
    mean, flat = (SmallCnnSettings(summary=summary).build(shape, 10) for summary in ("mean", "flatten"))
    inputs = torch.randn(4, *shape)
    assert mean.features == flat.features == 128
    last = mean.featurizer[:9](inputs)
    torch.testing.assert_close(mean.featurizer(inputs), last.mean((2, 3)))
    assert flat.featurizer[10].in_features == last[0].numel()
    assert flat(inputs).logits.shape == (4, 10)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("shape", [(2,), (28, 28), (2, 1, 28, 28)])
def test_networks_on_images_want_images(name, shape):
    with pytest.raises(
        InputError, match=rf"{name} needs images of shape \(channels, height, width\).*use the network 'slab'"
    ):
        NETWORKS[name]().build(shape, 2)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("shape", [(0, 28, 28), (1, 0, 28), (1, 28, 0)])
def test_images_have_channels_and_pixels(name, shape):
    with pytest.raises(InputError, match=rf"{name} needs images of at least 1 channel and \d+x\d+ pixels"):
        NETWORKS[name]().build(shape, 2)


@pytest.mark.parametrize("shape", [(1, 11, 28), (1, 28, 11)])
def test_lenet_wants_12_pixels(shape):
    with pytest.raises(InputError, match=r"lenet needs images of at least .* 12x12 pixels.*use larger images"):
        LeNetSettings().build(shape, 2)


def test_any_three_parts_make_a_network():
    network = Network(nn.Identity(), nn.Linear(2, 4), nn.Linear(4, 5), features=2)
    outputs = network(torch.ones(1, 2))
    assert isinstance(outputs, Outputs)
    assert (network.size("representation"), network.size("logits")) == (2, 5)
    assert outputs.representation.tolist() == [[1.0, 1.0]]
