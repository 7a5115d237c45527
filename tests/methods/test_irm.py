"""The IRM penalty: its closed form against the derivative by a scalar w that its authors take."""

from math import log

import pytest
import torch
from torch.nn.functional import cross_entropy

from matchdg.methods import METHODS, Clock
from matchdg.methods.irm import irm_penalty


def slow_penalty(logits, batch):
    """Per domain, w = 1 multiplies the logits; the squared derivative of the loss by it, mean over domains."""
    slopes = []
    for column in batch.domains.unique():
        own = batch.domains == column
        w = torch.ones((), dtype=logits.dtype, requires_grad=True)
        loss = cross_entropy(logits[own] * w, batch.labels[own])
        slopes.append(torch.autograd.grad(loss, w, create_graph=True)[0])
    return torch.stack(slopes).square().mean()


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_value_and_gradient_are_those_of_the_derivative_by_w(make_batch, grid, scale):
    batch = make_batch(grid)
    logits = (torch.randn(len(batch.labels), 3, dtype=torch.float64) * scale).requires_grad_()
    closed, slow = irm_penalty(logits, batch), slow_penalty(logits, batch)
    torch.testing.assert_close(closed, slow)
    torch.testing.assert_close(torch.autograd.grad(closed, logits), torch.autograd.grad(slow, logits))


def test_a_domain_that_the_batch_lacks_does_not_count(make_batch):
    batch = make_batch([[0, None, 1], [1, None, 0]])
    logits = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    closed, slow = irm_penalty(logits, batch), slow_penalty(logits, batch)
    torch.testing.assert_close(closed, slow)
    torch.testing.assert_close(torch.autograd.grad(closed, logits), torch.autograd.grad(slow, logits))


def test_by_hand(make_batch):
    # p = (3/4, 1/4) where class 0 is right: (3/4 - 1) log 3. Where class 1 is right: 3/4 log 3.
    logits = torch.tensor([[log(3), 0.0], [log(3), 0.0]])
    penalty = irm_penalty(logits, make_batch([[0, 1]]))
    assert penalty.item() == pytest.approx(((log(3) / 4) ** 2 + (3 * log(3) / 4) ** 2) / 2)


def test_a_constant_classifier_has_no_penalty(make_batch, grid):
    batch = make_batch(grid)
    assert irm_penalty(torch.zeros(len(batch.labels), 3), batch).item() == 0


def test_the_classifier_that_is_best_in_every_domain_has_no_penalty(make_batch):
    # In both domains class 0 is right three times of four, and the logits say just that.
    batch = make_batch([[0, 0], [0, 0], [0, 0], [1, 1]])
    logits = torch.tensor([[log(3), 0.0]]).expand(8, 2)
    assert irm_penalty(logits, batch).item() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("epoch", "weight"), [(0, 0.0), (4, 0.0), (5, 0.5), (9, 0.5)])
def test_the_penalty_is_off_before_its_first_epoch(make_batch, with_logits, epoch, weight):
    batch = make_batch([[0, 1], [1, 1]])
    logits = torch.randn(4, 2)
    method = METHODS["irm"].build(METHODS["irm"].settings(penalty=0.5, start_epoch=5), None, 2)
    loss = method.loss(with_logits(logits), batch, Clock(step=0, epoch=epoch, epochs=10))
    penalty = irm_penalty(logits, batch)
    torch.testing.assert_close(loss.terms["irm"], penalty)
    torch.testing.assert_close(loss.total, loss.terms["classification"].value.mean() + weight * penalty)
