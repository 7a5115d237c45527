"""Optimisers: the update is PyTorch's own, whatever order the weights are stored in."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam

from matchdg.training.optimisers import build_optimizer, set_rate
from matchdg.training.settings import TrainingSettings


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))


def train(network: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> None:
    inputs = torch.randn(5, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    for _ in range(steps):
        for parameter in network.parameters():
            parameter.grad = None
        network(inputs).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_weights_in_channels_last_order_are_updated_as_by_the_plain_optimiser(name: str) -> None:
    settings = TrainingSettings(optimizer=name, learning_rate=0.05, momentum=0.9, weight_decay=0.01)
    ours, plain = small_network().to(memory_format=torch.channels_last), small_network()
    reference = {
        "sgd": lambda parameters: SGD(parameters, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
        "adam": lambda parameters: Adam(parameters, lr=0.05, betas=(0.9, 0.999), weight_decay=0.01),
    }[name]
    assert not ours[0].weight.is_contiguous()
    train(ours, build_optimizer(list(ours.parameters()), settings))
    train(plain, reference(plain.parameters()))
    for own, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


def test_what_is_updated_is_contiguous_memory_so_that_fused_kernels_copy_nothing() -> None:
    network = small_network().to(memory_format=torch.channels_last)
    optimizer = build_optimizer(list(network.parameters()), TrainingSettings())
    updated = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    assert all(parameter.is_contiguous() for parameter in updated)
    memory = {parameter.data_ptr() for parameter in updated}
    assert memory == {parameter.data_ptr() for parameter in network.parameters()}


def test_a_parameter_without_a_gradient_stays_and_none_is_kept_from_the_step_before() -> None:
    network = small_network().to(memory_format=torch.channels_last)
    optimizer = build_optimizer(list(network.parameters()), TrainingSettings())
    train(network, optimizer, steps=1)
    before = [parameter.detach().clone() for parameter in network.parameters()]
    for parameter in network.parameters():
        parameter.grad = None
    optimizer.step()
    for own, other in zip(network.parameters(), before, strict=True):
        assert torch.equal(own, other)


def test_the_rate_of_every_group_is_set() -> None:
    network = small_network()
    optimizer = build_optimizer(list(network.parameters()), TrainingSettings())
    set_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25]


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_a_backbone_learns_at_its_own_rate(name: str) -> None:
    settings = TrainingSettings(optimizer=name, learning_rate=0.05, weight_decay=0.01, backbone_rate=0.1)
    ours, plain = small_network().to(memory_format=torch.channels_last), small_network()
    optimizer = build_optimizer(list(ours.parameters()), settings, ours[:2].parameters())
    assert sorted(group["lr"] for group in optimizer.param_groups) == pytest.approx([0.005, 0.05])
    groups = [{"params": plain[:2].parameters(), "lr": 0.002}, {"params": plain[3].parameters(), "lr": 0.02}]
    reference = {
        "sgd": lambda: SGD(groups, momentum=0.9, nesterov=True, weight_decay=0.01),
        "adam": lambda: Adam(groups, betas=(0.9, 0.999), weight_decay=0.01),
    }[name]()
    set_rate(optimizer, 0.02)
    train(ours, optimizer)
    train(plain, reference)
    for own, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


def test_equal_rates_and_an_adversary_need_one_group() -> None:
    backbone, adversary = small_network(), nn.Linear(2, 2)
    together = build_optimizer(list(backbone.parameters()), TrainingSettings(), backbone.parameters())
    assert len(together.param_groups) == 1
    apart = TrainingSettings(learning_rate=0.1, backbone_rate=0.5)
    other = build_optimizer(list(adversary.parameters()), apart, backbone.parameters())
    set_rate(other, 0.2)
    assert [group["lr"] for group in other.param_groups] == [0.2]


def test_a_resumed_optimiser_keeps_the_factor() -> None:
    settings = TrainingSettings(learning_rate=0.1, backbone_rate=0.5)
    first, second = small_network(), small_network()
    started = build_optimizer(list(first.parameters()), settings, first[:2].parameters())
    train(first, started, steps=2)
    second.load_state_dict(first.state_dict())
    resumed = build_optimizer(list(second.parameters()), settings, second[:2].parameters())
    resumed.load_state_dict(deepcopy(started.state_dict()))
    for network, optimizer in ((first, started), (second, resumed)):
        set_rate(optimizer, 0.04)
        assert [group["lr"] for group in optimizer.param_groups] == [0.04, 0.02]
        train(network, optimizer, steps=1)
    for own, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(own, other)
