"""MMD and C-MMD against the formula as a loop over pairs of domains, kernel by kernel."""

from itertools import combinations
from math import exp

import pytest
import torch

from matchdg.methods import METHODS
from matchdg.methods.groups import Groups
from matchdg.methods.mmd import GAMMAS, mmd


def slow_kernel(left, right):
    """Mean over all pairs of sum_gamma exp(-gamma |x - y|^2)."""
    total = 0.0
    for x in left.tolist():
        for y in right.tolist():
            square = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
            total += sum(exp(-gamma * square) for gamma in (0.001, 0.01, 0.1, 1, 10, 100, 1000))
    return total / (len(left) * len(right))


def slow_mmd(features, batch, conditional):
    """Mean over pairs of domains (and over classes) where both have inputs."""
    found = []
    for stratum in range(batch.classes) if conditional else [None]:
        kept = torch.ones_like(batch.labels, dtype=torch.bool) if stratum is None else batch.labels == stratum
        parts = [features[kept & (batch.domains == column)] for column in range(batch.columns)]
        for x, y in combinations([part for part in parts if len(part)], 2):
            found.append(slow_kernel(x, x) + slow_kernel(y, y) - 2 * slow_kernel(x, y))
    return sum(found) / len(found)


def value(features, batch, conditional):
    return mmd(features, Groups.of(batch, conditional, features.dtype))


@pytest.mark.parametrize("conditional", [False, True])
class TestMmd:
    @pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
    def test_the_same_as_a_slow_loop(self, make_batch, grid, conditional, scale):
        batch = make_batch(grid, shape=(4,))
        features = batch.inputs.double() * scale
        expected = slow_mmd(features, batch, conditional)
        assert value(features, batch, conditional).item() == pytest.approx(expected)

    def test_the_order_of_domains_does_not_matter(self, make_batch, grid, conditional):
        batch, order = make_batch(grid), [2, 0, 1]
        other = make_batch([[row[column] for column in order] for row in grid])
        # The same input has another flat place: whole domains change theirs.
        places = torch.cat([(batch.domains == column).nonzero().flatten() for column in order])
        torch.testing.assert_close(
            value(batch.inputs, batch, conditional), value(batch.inputs[places], other, conditional)
        )

    def test_identical_domains_have_none(self, make_batch, conditional):
        batch = make_batch([[0, 0, 0], [1, 1, 1], [1, 1, 1]])
        features = torch.randn(3, 4, dtype=torch.float64).repeat(3, 1)
        assert value(features, batch, conditional).item() == pytest.approx(0, abs=1e-12)

    def test_gradients_are_right(self, make_batch, grid, conditional):
        batch = make_batch(grid)
        features = batch.inputs.double().requires_grad_()
        assert torch.autograd.gradcheck(lambda x: value(x, batch, conditional), features)


def test_two_points_by_hand(make_batch):
    # Each is its own domain: 7 kernels of each with itself, and exp(-gamma) between them.
    batch = make_batch([[0, 0]])
    expected = 2 * (7 - sum(exp(-gamma) for gamma in GAMMAS))
    assert value(torch.tensor([[0.0], [1.0]]), batch, conditional=False).item() == pytest.approx(expected)


def test_only_the_conditional_one_sees_a_class_shift_that_leaves_the_domains_equal(make_batch):
    # Both domains hold the points 0 and 5; in the second the classes have changed places.
    batch = make_batch([[0, 1], [1, 0]])
    features = torch.tensor([[0.0], [5.0], [0.0], [5.0]])
    assert value(features, batch, conditional=False).item() == pytest.approx(0, abs=1e-6)
    assert value(features, batch, conditional=True).item() > 1


@pytest.mark.parametrize(("name", "conditional"), [("mmd", False), ("c-mmd", True)])
@pytest.mark.parametrize("layer", ["representation", "logits"])
def test_the_loss_is_erm_plus_lambda_times_mmd(name, conditional, layer, make_batch, with_features, clock):
    batch = make_batch([[0, 0, 0], [1, 1, 0], [1, 1, 1]])
    network = with_features(torch.randn(9, 5), classes=2)
    spec = METHODS[name]
    method = spec.build(spec.settings(penalty=0.7, layer=layer), network, 3)
    loss = method.loss(network, batch, clock)
    penalty = value(network(batch.inputs).at(layer), batch, conditional)
    torch.testing.assert_close(loss.terms["mmd"], penalty)
    torch.testing.assert_close(loss.total, loss.terms["classification"].value.mean() + 0.7 * penalty)
