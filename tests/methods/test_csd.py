"""CSD: the decomposed last layer against loops, and prediction by its common part alone."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from matchdg.methods import METHODS
from matchdg.methods.csd import CsdSettings, orthonormality

SPEC = METHODS["csd"]


def build(network, domains=3, **settings):
    torch.manual_seed(1)
    return SPEC.build(CsdSettings(**settings), network, domains)


def slow_specific_loss(method, network, batch, hidden):
    """Every input through its own domain's classifier: W_d = W_c + sum_k gamma_dk W_k."""
    losses = []
    for values, label, domain in zip(hidden, batch.labels, batch.domains, strict=True):
        weight = network.classifier.weight.clone()
        for coefficient, specific in zip(method.coefficients[domain], method.specific, strict=True):
            weight = weight + coefficient * specific
        losses.append(cross_entropy((weight @ values + network.classifier.bias)[None], label[None]))
    return torch.stack(losses).mean()


def slow_orthonormality(common, specific):
    """Per class, the common row and the specific ones against each other."""
    squares = []
    for label in range(len(common)):
        rows = [common[label], *specific[:, label]]
        for i, left in enumerate(rows):
            for j, right in enumerate(rows):
                squares.append((left @ right - float(i == j)) ** 2)
    return torch.stack(squares).mean()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_loss_is_that_of_both_classifiers_and_of_their_orthonormality(rank, make_batch, grid, with_features, clock):
    batch = make_batch(grid)
    hidden = torch.randn(len(batch.labels), 4)
    network = with_features(hidden, classes=3)
    method = build(network, rank=rank, specific_weight=0.5, orthogonality=0.2)
    loss = method.loss(network, batch, clock)
    common = cross_entropy(network(batch.inputs).logits, batch.labels)
    specific = slow_specific_loss(method, network, batch, hidden)
    orthogonal = slow_orthonormality(network.classifier.weight, method.specific)
    torch.testing.assert_close(loss.terms["specific"], specific)
    torch.testing.assert_close(loss.terms["orthogonality"], orthogonal)
    torch.testing.assert_close(loss.total, common + 0.5 * specific + 0.2 * orthogonal)


def test_orthonormality_by_hand():
    # One class: rows (1, 0) and (1, 1) have the products 1, 1, 1, 2; the identity is 1, 0, 0, 1.
    common, specific = torch.tensor([[1.0, 0.0]]), torch.tensor([[[1.0, 1.0]]])
    assert orthonormality(common, specific).item() == pytest.approx((0 + 1 + 1 + 1) / 4)


def test_orthonormal_rows_have_none():
    rows = torch.linalg.qr(torch.randn(5, 3, dtype=torch.float64)).Q.T
    common, specific = rows[:1].repeat(2, 1), rows[1:, None].repeat(1, 2, 1)
    assert orthonormality(common, specific).item() == pytest.approx(0, abs=1e-20)


def test_gradients_are_right():
    parts = torch.randn(3, 4, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(orthonormality, [part.requires_grad_() for part in parts])


def test_the_rank_and_the_numbers_of_domains_and_classes_give_the_shapes(with_features):
    method = build(with_features(torch.randn(1, 7), classes=5), domains=4, rank=2)
    assert method.specific.shape == (2, 5, 7)
    assert method.coefficients.shape == (4, 2)


def test_prediction_is_the_network_s_own(make_batch, with_features, clock):
    batch = make_batch([[0, 0, 1], [1, 1, 0]])
    network = with_features(torch.randn(6, 4), classes=2)
    method = build(network)
    logits, before = network(batch.inputs).logits, method.loss(network, batch, clock)
    with torch.no_grad():
        method.specific.neg_()
    after = method.loss(network, batch, clock)
    assert torch.equal(network(batch.inputs).logits, logits)
    assert torch.equal(after.terms["classification"].value, before.terms["classification"].value)
    assert not torch.equal(after.terms["specific"], before.terms["specific"])
    assert not {id(p) for p in method.parameters()} & {id(p) for p in network.parameters()}


def test_the_gradient_reaches_the_method_s_own_parameters(make_batch, with_features, clock):
    batch = make_batch([[0, None, 1], [1, None, 0]])
    network = with_features(torch.randn(4, 4), classes=2)
    method = build(network, orthogonality=0.0)
    method.loss(network, batch, clock).total.backward()
    assert method.specific.grad.any()
    assert method.coefficients.grad.any(1).tolist() == [True, False, True]


def test_with_both_weights_zero_it_is_erm(make_batch, grid, with_features, clock):
    batch = make_batch(grid)
    network = with_features(torch.randn(len(batch.labels), 4), classes=3)
    method = build(network, specific_weight=0.0, orthogonality=0.0)
    erm = METHODS["erm"].build(None, network, 3)
    weights = list(network.classifier.parameters())
    ours = torch.autograd.grad(method.loss(network, batch, clock).total, weights)
    torch.testing.assert_close(ours, torch.autograd.grad(erm.loss(network, batch, clock).total, weights))
