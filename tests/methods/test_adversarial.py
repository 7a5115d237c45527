"""DANN and CDANN: whose turn it is, what each turn moves, and the two extra weights of DomainBed's version."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot

from matchdg.core.errors import InputError
from matchdg.methods import METHODS, Clock
from matchdg.methods.adversarial import AdversarialSettings, _class_weights
from matchdg.networks import NETWORKS
from matchdg.training.objective import Objective

NAMES = ("dann", "cdann")
ADVERSARY, NETWORK = Clock(0, 0, 1), Clock(1, 0, 1)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return NETWORKS["slab"](width=6).build((2,), 3)


def build(name, network, **settings):
    torch.manual_seed(1)
    return METHODS[name].build(AdversarialSettings(**settings), network, 3)


def discriminator_input(name, method, features, batch):
    return features + method.embedding(batch.labels) if name == "cdann" else features


@pytest.mark.parametrize(("steps", "expected"), [(1, "ANANAN"), (2, "AANAAN"), (4, "AAAANAAAAN"), (8, "AAAAAAAANA")])
def test_the_order_of_turns(network, steps, expected):
    method = build("dann", network, discriminator_steps=steps)
    assert "".join(method.turn(step)[0].upper() for step in range(len(expected))) == expected


@pytest.mark.parametrize("name", NAMES)
class TestTurns:
    def test_the_adversary_s_turn_moves_all_of_the_adversary_and_nothing_else(self, name, network, make_batch, grid):
        method = build(name, network, gradient_penalty=0.1)
        loss = method.loss(network, make_batch(grid), ADVERSARY)
        loss.total.backward()
        assert set(loss.terms) == {"domain"}
        assert all(parameter.grad is None for parameter in network.parameters())
        # A constant added to every logit of the discriminator changes no slope, but it does change its loss.
        assert all(bool(parameter.grad.any()) for parameter in method.adversary.parameters())

    def test_the_adversary_s_turn_pulls_the_domain_loss_down(self, name, network, make_batch, grid):
        method, batch = build(name, network), make_batch(grid)
        before = method.loss(network, batch, ADVERSARY)
        parameters = list(method.adversary.parameters())
        gradients = torch.autograd.grad(before.total, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=0.01)
        assert method.loss(network, batch, ADVERSARY).total < before.total

    def test_the_network_s_turn_pushes_the_domain_loss_up(self, name, network, make_batch, grid):
        method, batch = build(name, network, penalty=1e4), make_batch(grid)
        before = method.loss(network, batch, NETWORK)
        parameters = list(network.featurizer.parameters())
        gradients = torch.autograd.grad(before.total, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(gradient, alpha=1e-6)
        assert method.loss(network, batch, NETWORK).terms["domain"] > before.terms["domain"]

    def test_the_network_minimises_classification_minus_lambda_times_the_adversary_s_loss(
        self, name, network, make_batch, grid
    ):
        method, batch = build(name, network, penalty=0.3, gradient_penalty=0.2), make_batch(grid)
        theirs = method.loss(network, batch, ADVERSARY).total
        ours = method.loss(network, batch, NETWORK)
        common = cross_entropy(network(batch.inputs).logits, batch.labels)
        torch.testing.assert_close(ours.total, common - 0.3 * theirs)
        assert set(ours.terms) == {"classification", "domain"}

    @pytest.mark.parametrize("layer", ["representation", "logits"])
    @pytest.mark.parametrize("activation", ["relu", "none"])
    def test_the_domain_term_and_the_gradient_penalty_by_hand(self, name, layer, activation, network, make_batch, grid):
        """With W the slope of the discriminator at z, the gradient of its loss is W^T (p - y)."""
        batch = make_batch(grid)
        method = build(name, network, layer=layer, activation=activation, gradient_penalty=0.5)
        first, last = method.discriminator[0], method.discriminator[-1]
        inputs = discriminator_input(name, method, network(batch.inputs).at(layer).detach(), batch)
        losses, slopes = [], []
        for row, domain in zip(inputs, batch.domains, strict=True):
            middle = first.weight @ row + first.bias
            open_units = (middle > 0).float() if activation == "relu" else torch.ones_like(middle)
            logits = last.weight @ (middle * open_units) + last.bias
            weight = last.weight @ torch.diag(open_units) @ first.weight
            losses.append(-logits.log_softmax(0)[domain])
            slopes.append((weight.T @ (logits.softmax(0) - one_hot(domain, 3))).square().sum())
        weights = _class_weights(batch) if name == "cdann" else torch.full((len(losses),), 1 / len(losses))
        loss = method.loss(network, batch, ADVERSARY)
        torch.testing.assert_close(loss.terms["domain"], (weights * torch.stack(losses)).sum())
        torch.testing.assert_close(loss.total, loss.terms["domain"] + 0.5 * torch.stack(slopes).mean())

    def test_without_a_gradient_penalty_the_loss_is_the_domain_term(self, name, network, make_batch, grid):
        loss = build(name, network).loss(network, make_batch(grid), ADVERSARY)
        torch.testing.assert_close(loss.total, loss.terms["domain"])

    def test_it_can_be_evaluated_where_gradients_are_off(self, name, network, make_batch, grid):
        method, batch = build(name, network, gradient_penalty=0.5), make_batch(grid)
        expected = method.loss(network, batch, NETWORK).total
        with torch.no_grad():
            torch.testing.assert_close(method.loss(network, batch, NETWORK).total, expected)

    def test_the_adversary_has_its_own_group_embedding_included(self, name, network):
        method = build(name, network)
        groups = Objective(network, method).parameter_groups()
        parts = [method.discriminator] + ([method.embedding] if name == "cdann" else [])
        assert {id(p) for p in groups["adversary"]} == {id(p) for part in parts for p in part.parameters()}
        assert {id(p) for p in groups["network"]} == {id(p) for p in network.parameters()}


def test_the_discriminator_s_hidden_units_and_activation_are_settings(network):
    plain = build("dann", network, hidden=7, activation="none", layer="logits").discriminator
    assert [tuple(part.weight.shape) for part in plain] == [(7, 3), (3, 7)]
    assert [type(part).__name__ for part in build("dann", network).discriminator] == ["Linear", "ReLU", "Linear"]


def test_only_the_conditional_one_has_an_embedding_of_the_size_of_its_layer(network):
    assert build("dann", network).embedding is None
    assert build("cdann", network).embedding.weight.shape == (3, 6)
    assert build("cdann", network, layer="logits").embedding.weight.shape == (3, 3)


def test_class_weights_by_hand(make_batch):
    # Two of class 0 and one of class 2; class 1 is in no row of this batch.
    weights = _class_weights(make_batch([[0, None], [0, 2]], classes=3))
    assert weights.tolist() == pytest.approx([1 / 4, 1 / 4, 1 / 2])


def test_class_weights_sum_to_one_and_count_every_class_alike(make_batch, grid):
    batch = make_batch(grid, classes=5)
    weights = _class_weights(batch)
    assert weights.sum().item() == pytest.approx(1)
    for label in batch.labels.unique():
        assert weights[batch.labels == label].sum().item() == pytest.approx(1 / 3)


def test_with_equally_many_of_each_class_the_weights_are_those_of_a_mean(make_batch):
    assert _class_weights(make_batch([[0, 1], [1, 0]])).tolist() == [0.25] * 4


def test_a_discriminator_that_knows_nothing_has_loss_log_of_the_number_of_domains(network, make_batch, grid):
    method = build("dann", network)
    with torch.no_grad():
        method.discriminator[-1].weight.zero_()
        method.discriminator[-1].bias.zero_()
    domain = method.loss(network, make_batch(grid), ADVERSARY).terms["domain"]
    assert domain.item() == pytest.approx(torch.tensor(3.0).log().item())


def test_the_class_changes_what_the_conditional_discriminator_sees(network, make_batch):
    batch = make_batch([[0, 1, 0], [1, 1, 0]])
    other = replace(batch, labels=1 - batch.labels)
    for name, same in (("dann", True), ("cdann", False)):
        method = build(name, network)
        first, second = (method.loss(network, part, ADVERSARY).total for part in (batch, other))
        assert bool(first == second) is same


def test_the_discriminator_takes_at_least_one_step():
    with pytest.raises(InputError, match=r"method\.discriminator_steps"):
        AdversarialSettings.parse({"discriminator_steps": 0}, "method")
