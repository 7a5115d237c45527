"""CORAL and C-CORAL against means and covariances that are formed pair by pair."""

from itertools import combinations

import pytest
import torch

from matchdg.methods import METHODS
from matchdg.methods.coral import coral
from matchdg.methods.groups import Groups


def slow_covariance(part):
    """Of inputs as rows; a single one has none."""
    size = part.shape[1]
    return torch.cov(part.T).view(size, size) if len(part) > 1 else part.new_zeros(size, size)


def slow_coral(features, batch, conditional):
    """Mean over pairs of domains (and over classes) where both have inputs."""
    found = []
    for stratum in range(batch.classes) if conditional else [None]:
        kept = torch.ones_like(batch.labels, dtype=torch.bool) if stratum is None else batch.labels == stratum
        parts = [features[kept & (batch.domains == column)] for column in range(batch.columns)]
        for x, y in combinations([part for part in parts if len(part)], 2):
            first = (x.mean(0) - y.mean(0)).square().mean()
            found.append(first + (slow_covariance(x) - slow_covariance(y)).square().mean())
    return torch.stack(found).mean()


def value(features, batch, conditional):
    return coral(features, Groups.of(batch, conditional, features.dtype))


@pytest.mark.parametrize("conditional", [False, True])
class TestCoral:
    @pytest.mark.parametrize("size", [1, 4, 30])
    def test_the_same_as_a_slow_loop(self, make_batch, grid, conditional, size):
        batch = make_batch(grid, shape=(size,))
        features = batch.inputs.double()
        torch.testing.assert_close(value(features, batch, conditional), slow_coral(features, batch, conditional))

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


def test_by_hand(make_batch):
    # Domain a: 0 and 2, mean 1, variance 2. Domain b: 3 and 7, mean 5, variance 8.
    batch = make_batch([[0, 0], [0, 0]])
    features = torch.tensor([[0.0], [2.0], [3.0], [7.0]])
    assert value(features, batch, conditional=False).item() == pytest.approx(4**2 + 6**2)


def test_only_the_conditional_one_sees_a_class_shift_that_leaves_the_domains_equal(make_batch):
    # Both domains hold the points 0 and 5; in the second the classes have changed places.
    batch = make_batch([[0, 1], [1, 0]])
    features = torch.tensor([[0.0], [5.0], [0.0], [5.0]])
    assert value(features, batch, conditional=False).item() == pytest.approx(0, abs=1e-6)
    assert value(features, batch, conditional=True).item() == pytest.approx(25)


@pytest.mark.parametrize(("name", "conditional"), [("coral", False), ("c-coral", True)])
@pytest.mark.parametrize("layer", ["representation", "logits"])
def test_the_loss_is_erm_plus_lambda_times_coral(name, conditional, layer, make_batch, with_features, clock):
    batch = make_batch([[0, 0, 0], [1, 1, 0], [1, 1, 1]])
    network = with_features(torch.randn(9, 5), classes=2)
    spec = METHODS[name]
    method = spec.build(spec.settings(penalty=0.7, layer=layer), network, 3)
    loss = method.loss(network, batch, clock)
    penalty = value(network(batch.inputs).at(layer), batch, conditional)
    torch.testing.assert_close(loss.terms["coral"], penalty)
    torch.testing.assert_close(loss.total, loss.terms["classification"].value.mean() + 0.7 * penalty)
