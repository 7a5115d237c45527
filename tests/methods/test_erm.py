"""ERM and the classification loss that every method starts from."""

from math import exp, log

import pytest
import torch
from torch.nn.functional import one_hot

from matchdg.methods import METHODS
from matchdg.methods.base import Method, classification, with_penalty


@pytest.fixture
def erm():
    return METHODS["erm"].build(METHODS["erm"].settings(), None, 3)


def slow_losses(batch, logits):
    """Minus the logarithm of the right class's probability, one an input."""
    return [
        log(sum(exp(value) for value in row)) - row[label]
        for row, label in zip(logits.tolist(), batch.labels.tolist(), strict=True)
    ]


def test_by_hand(erm, make_batch, with_logits, clock):
    # The right class has three quarters, then one quarter of the probability.
    batch = make_batch([[0, 1]])
    loss = erm.loss(with_logits(torch.tensor([[log(3), 0.0], [log(3), 0.0]])), batch, clock)
    assert loss.terms["classification"].value.tolist() == pytest.approx([log(4 / 3), log(4)])
    assert loss.total.item() == pytest.approx((log(4 / 3) + log(4)) / 2)
    assert set(loss.terms) == {"classification"}


def test_the_mean_is_over_inputs_and_the_terms_over_a_domain_s_own(make_batch, grid):
    batch = make_batch(grid)
    logits = torch.randn(len(batch.labels), 3)
    mean, per_domain = classification(batch, logits)
    losses = slow_losses(batch, logits)
    assert mean.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    for column in range(3):
        own = [loss for loss, domain in zip(losses, batch.domains, strict=True) if domain == column]
        assert per_domain.value[column].item() == pytest.approx(sum(own) / len(own), rel=1e-5)


def test_the_gradient_by_the_logits_is_probability_minus_truth(make_batch, grid):
    batch = make_batch(grid)
    logits = torch.randn(len(batch.labels), 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(classification(batch, logits)[0], logits)
    expected = (logits.softmax(1) - one_hot(batch.labels, 3)) / len(logits)
    torch.testing.assert_close(gradient, expected)


def test_a_domain_that_the_batch_lacks_spoils_neither_the_mean_nor_the_gradient(make_batch):
    batch = make_batch([[0, None, 1], [1, None, 0]])
    logits = torch.randn(4, 2, requires_grad=True)
    mean, per_domain = classification(batch, logits)
    (gradient,) = torch.autograd.grad(mean, logits)
    assert per_domain.value.isnan().tolist() == [False, True, False]
    assert mean.isfinite()
    assert gradient.isfinite().all()


def test_with_penalty_adds_the_weighted_term_and_logs_it_unweighted(make_batch):
    batch = make_batch([[0, 1]])
    logits, penalty = torch.randn(2, 2), torch.tensor(3.0, requires_grad=True)
    loss = with_penalty(batch, logits, "name", penalty, weight=0.1)
    torch.testing.assert_close(loss.total, classification(batch, logits)[0] + 0.3)
    assert set(loss.terms) == {"classification", "name"}
    assert loss.terms["name"].item() == 3.0
    assert not loss.terms["name"].requires_grad
    assert torch.autograd.grad(loss.total, penalty)[0].item() == pytest.approx(0.1)


def test_a_method_trains_the_network_unless_it_says_otherwise():
    method = Method()
    assert {method.turn(step) for step in range(5)} == {"network"}
    assert method.adversary is None
    with pytest.raises(NotImplementedError):
        method.loss(None, None, None)
