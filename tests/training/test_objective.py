"""`Objective`: the method on the network, and the extra part of a batch that goes along in one pass."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from matchdg.data import DomainDataset
from matchdg.methods import METHODS, Batch, Clock, Loss, Method
from matchdg.networks import Network
from matchdg.training.objective import Objective

CLOCK = Clock(0, 0, 1)


def build_network():
    """A featurizer with BatchNorm, so that it matters what shares a pass."""
    torch.manual_seed(0)
    return Network(nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4)), nn.Identity(), nn.Linear(4, 3), 4)


def build_batch(rows=4, extra=3):
    random = torch.Generator().manual_seed(0)
    count = 2 * rows
    labels = torch.arange(count) % 3
    data = DomainDataset.from_arrays(torch.randn(count, 2, generator=random), labels, torch.arange(count) % 2)
    return Batch.gather(data, torch.arange(count).view(-1, 2), complete=True, extra=torch.arange(extra) * 2)


class Spy(Method):
    """Calls the network on what `inputs` makes of a batch, and keeps the outputs."""

    def __init__(self, *inputs):
        super().__init__()
        self.inputs, self.outputs = inputs, []

    def loss(self, network, batch, clock):
        self.outputs = [network(choose(batch)) for choose in self.inputs]
        self.seen = network.classes, network.size("logits"), network.classifier
        return Loss(self.outputs[0].logits.mean(), {})


def passes(network):
    return int(network.featurizer[1].num_batches_tracked)


def test_without_an_extra_part_it_is_the_method_s_loss():
    batch = replace(build_batch(), extra=None)
    objective = Objective(build_network(), METHODS["erm"].build(None, None, 2))
    alone = objective.method.loss(objective.network, batch, CLOCK)
    total, terms = objective(batch, CLOCK)
    assert torch.equal(total, alone.total)
    assert set(terms) == {"classification"}
    assert objective.plain_parts(extra=False) == objective.method.parts
    assert torch.equal(objective.plain_parts(extra=True)(objective.network, batch, CLOCK).value, total)


def test_batch_norm_sees_the_batch_whole():
    batch, network = build_batch(), build_network()
    method = Spy(lambda batch: batch.inputs)
    total, terms = Objective(network, method)(batch, CLOCK)
    assert passes(network) == 1
    whole = build_network()(torch.cat([batch.inputs, batch.extra[0]]))
    for part, expected in zip(method.outputs[0], whole, strict=True):
        torch.testing.assert_close(part, expected[: len(batch.inputs)])
    extra = cross_entropy(whole.logits[len(batch.inputs) :], batch.extra[1])
    torch.testing.assert_close(terms["extra"], extra.detach())
    torch.testing.assert_close(total, method.outputs[0].logits.mean() + extra)
    assert not terms["extra"].requires_grad


def test_gradients_of_the_extra_part_reach_the_network():
    batch, network = build_batch(), build_network()
    method = Spy(lambda batch: batch.inputs.detach()[:1].expand(2, -1))
    Objective(network, method)(batch, CLOCK).total.backward()
    alone = build_network()
    alone(batch.inputs[:1].expand(2, -1)).logits.mean().backward()
    pairs = zip(network.classifier.parameters(), alone.classifier.parameters(), strict=True)
    assert all(not torch.allclose(ours.grad, theirs.grad) for ours, theirs in pairs)


def test_a_method_that_calls_the_network_on_other_inputs_gets_those_and_the_extra_part_a_pass_of_its_own():
    batch, network = build_batch(), build_network()
    method = Spy(lambda batch: batch.inputs[:3])
    _, terms = Objective(network, method)(batch, CLOCK)
    assert passes(network) == 2
    torch.testing.assert_close(method.outputs[0].logits, build_network()(batch.inputs[:3]).logits)
    own = build_network()(batch.extra[0]).logits
    torch.testing.assert_close(terms["extra"], cross_entropy(own, batch.extra[1]).detach())


def test_a_method_that_calls_the_network_twice_takes_the_extra_part_along_once():
    batch, network = build_batch(), build_network()
    method = Spy(lambda batch: batch.inputs, lambda batch: batch.inputs)
    Objective(network, method)(batch, CLOCK)
    assert passes(network) == 2
    assert [len(outputs.logits) for outputs in method.outputs] == [8, 8]
    torch.testing.assert_close(method.outputs[1].logits, build_network()(batch.inputs).logits)


def test_other_weights_do_not_take_the_extra_part_along():
    """After MASF's inner step the network is another one; the classification loss is the network's own."""
    batch, network = build_batch(), build_network().eval()
    spec = METHODS["masf"]
    objective = Objective(network, spec.build(spec.settings(inner_rate=5.0), network, 2))
    _, terms = objective(batch, CLOCK)
    own = network(batch.extra[0]).logits
    torch.testing.assert_close(terms["extra"], cross_entropy(own, batch.extra[1]).detach())


def test_the_network_s_own_names_are_there():
    network, method = build_network(), Spy(lambda batch: batch.inputs)
    Objective(network, method)(build_batch(), CLOCK)
    assert method.seen == (3, 3, network.classifier)


@pytest.mark.parametrize("name", ["erm", "csd", "dann", "masf"])
def test_parameters_of_the_network_and_the_method_train_together_but_for_the_adversary_s(name):
    network = build_network()
    method = METHODS[name].build(METHODS[name].settings(), network, 2)
    groups = Objective(network, method).parameter_groups()
    adversary = [] if method.adversary is None else list(method.adversary.parameters())
    assert [id(p) for p in groups.get("adversary", [])] == [id(p) for p in adversary]
    everyone = [*network.parameters(), *method.parameters()]
    assert {id(p) for p in groups["network"]} == {id(p) for p in everyone} - {id(p) for p in adversary}
