"""`DomainLoss`: the cross-entropy of batches per domain, against a loop over inputs."""

from math import exp, log

import pytest
import torch

from matchdg.methods import DomainLoss

CLASSES = 3


def slow_sums(batch, logits):
    """Sum and number of minus the logarithm of the right class's probability, per domain."""
    sums, counts = [0.0] * batch.columns, [0.0] * batch.columns
    for row, label, domain in zip(logits.tolist(), batch.labels.tolist(), batch.domains.tolist(), strict=True):
        sums[domain] += log(sum(exp(value) for value in row)) - row[label]
        counts[domain] += 1
    return [sums, counts]


def flat(table, batch):
    """The cells of `table[B, K, …]` in the order of the inputs of `batch`."""
    every = table.transpose(0, 1).flatten(0, 1)
    return every if batch.cells is None else every[batch.cells]


def test_value_is_the_mean_over_a_domain_s_own_inputs(make_batch, grid):
    batch = make_batch(grid)
    logits = torch.randn(len(batch.labels), CLASSES)
    sums, counts = slow_sums(batch, logits)
    value = DomainLoss(batch, logits).value
    assert value.shape == (3,)
    assert value.tolist() == pytest.approx([total / count for total, count in zip(sums, counts, strict=True)], rel=1e-5)


def test_by_hand(make_batch):
    # The right class has three quarters, one quarter and, in the second domain, a half of the probability.
    logits = torch.tensor([[log(3), 0.0], [log(3), 0.0], [0.0, 0.0]])
    value = DomainLoss(make_batch([[0, 1], [1, None]]), logits).value
    assert value.tolist() == pytest.approx([(log(4 / 3) + log(4)) / 2, log(2)])


def test_a_domain_that_the_batch_lacks_has_no_value(make_batch):
    loss = DomainLoss(make_batch([[0, None, 1], [1, None, None]]), torch.zeros(3, 2))
    value = loss.value
    assert value[[0, 2]].tolist() == pytest.approx([log(2)] * 2)
    assert value[1].isnan()
    assert DomainLoss.sums([loss])[:, 1].tolist() == [0.0, 0.0]


def test_sums_against_a_loop(make_batch, grid):
    batch = make_batch(grid)
    logits = torch.randn(len(batch.labels), CLASSES)
    sums = DomainLoss.sums([DomainLoss(batch, logits)])
    assert sums.shape == (2, 3)
    for ours, expected in zip(sums.tolist(), slow_sums(batch, logits), strict=True):
        assert ours == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("cuts", [[1], [1, 3], [2, 3], [1, 2, 3]])
def test_sums_over_batches_of_different_sizes_are_those_over_all(make_batch, grid, cuts):
    """A part may be complete, or without a domain, where the whole is not."""
    table = torch.randn(len(grid), 3, CLASSES)
    losses = []
    for start, stop in zip([0, *cuts], [*cuts, len(grid)], strict=True):
        batch = make_batch(grid[start:stop], classes=CLASSES)
        losses.append(DomainLoss(batch, flat(table[start:stop], batch)))
    whole = make_batch(grid)
    expected = DomainLoss.sums([DomainLoss(whole, flat(table, whole))])
    torch.testing.assert_close(DomainLoss.sums(losses), expected)
    torch.testing.assert_close(sum(DomainLoss.sums([loss]) for loss in losses), expected)
    assert expected[1].tolist() == [float(sum(row[column] is not None for row in grid)) for column in range(3)]


def test_half_precision_is_summed_in_single(make_batch, grid):
    batch = make_batch(grid)
    logits = torch.randn(len(batch.labels), CLASSES).bfloat16()
    sums = DomainLoss.sums([DomainLoss(batch, logits)])
    assert sums.dtype == torch.float32
    assert torch.equal(sums, DomainLoss.sums([DomainLoss(batch, logits.float())]))
