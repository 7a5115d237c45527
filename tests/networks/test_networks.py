"""The family `NETWORKS`: shapes, layers, gradients, and the two architectures as the paper has them."""

import pytest
import torch
from torch import nn

from matchdg.core.errors import InputError
from matchdg.networks import NETWORKS, Network, Outputs
from matchdg.networks.resnet import ResNet18Settings
from matchdg.networks.slab import SlabNetworkSettings

SHAPES = {"slab": [(2,), (3, 4), (1, 8, 8)], "resnet18": [(1, 28, 28), (1, 32, 48), (3, 40, 40)]}
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


@pytest.mark.parametrize("shape", [(2,), (28, 28), (2, 1, 28, 28)])
def test_resnet18_wants_images(shape):
    with pytest.raises(InputError, match=r"images of shape \(channels, height, width\).*use the network 'slab'"):
        ResNet18Settings().build(shape, 2)


def test_any_three_parts_make_a_network():
    network = Network(nn.Identity(), nn.Linear(2, 4), nn.Linear(4, 5), features=2)
    outputs = network(torch.ones(1, 2))
    assert isinstance(outputs, Outputs)
    assert (network.size("representation"), network.size("logits")) == (2, 5)
    assert outputs.representation.tolist() == [[1.0, 1.0]]
