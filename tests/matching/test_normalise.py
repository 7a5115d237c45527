"""`normalise`: what is left of a cell's mean and covariance."""

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.matching.normalise import normalise


def points(count, features=6, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def correlated(count, features=6, seed=0):
    return points(count, features, seed) @ points(features, features, 9) + 3


def covariance(features):
    centred = features - features.mean(0)
    return centred.T @ centred / len(features)


def test_none_leaves_features_as_they_are():
    features = points(5)
    assert torch.equal(normalise(features, torch.zeros(5, dtype=torch.int64), "none"), features)


def test_centre_by_hand():
    features = torch.tensor([[1.0, 0.0], [3.0, 4.0], [10.0, 0.0], [5.0, 8.0]])
    centred = normalise(features, torch.tensor([7, 7, 2, 7]), "centre")
    assert centred.tolist() == [[-2, -4], [0, 0], [0, 0], [2, 4]]


@pytest.mark.parametrize("how", ["centre", "whiten"])
def test_each_cell_is_on_its_own(how):
    features, cells = correlated(300), torch.arange(300) % 3
    together = normalise(features, cells, how)
    for cell in range(3):
        alone = normalise(features[cells == cell], torch.zeros(100, dtype=torch.int64), how)
        torch.testing.assert_close(together[cells == cell], alone, rtol=1e-4, atol=1e-4)
        assert float(together[cells == cell].mean(0).abs().max()) < 1e-5


def test_whitened_cells_have_unit_covariance():
    white = normalise(correlated(20_000), torch.zeros(20_000, dtype=torch.int64), "whiten")
    torch.testing.assert_close(covariance(white), torch.eye(6), rtol=0, atol=0.02)


def test_whitening_keeps_the_axes():
    # Of all whitenings the symmetric one stays closest: features of different spread, uncorrelated, are only scaled.
    features = points(20_000) * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    white = normalise(features, torch.zeros(20_000, dtype=torch.int64), "whiten")
    agreement = torch.corrcoef(torch.cat([features.T, white.T]))[:6, 6:].diagonal()
    assert float(agreement.min()) > 0.99


def test_fewer_points_than_features_are_whitened_within_reason():
    white = normalise(points(4, 50), torch.zeros(4, dtype=torch.int64), "whiten")
    assert bool(white.isfinite().all())
    assert 0.1 < float(white.square().mean()) < 2


@pytest.mark.parametrize("how", ["centre", "whiten"])
def test_a_cell_of_one_point_or_of_equal_points_becomes_zero(how):
    features = torch.cat([points(1), torch.full((7, 6), 0.1)])
    found = normalise(features, torch.tensor([0] + [1] * 7), how)
    assert float(found.abs().max()) < 1e-6


def test_one_feature():
    white = normalise(torch.tensor([[1.0], [3.0]]), torch.tensor([0, 0]), "whiten")
    torch.testing.assert_close(white, torch.tensor([[-1.0], [1.0]]))


def test_nothing():
    assert normalise(points(0), torch.empty(0, dtype=torch.int64), "whiten").shape == (0, 6)


def test_not_finite():
    features = points(3)
    features[1] = float("nan")
    with pytest.raises(InputError, match=r"features have NaN, .* in 1 row\(s\): 1"):
        normalise(features, torch.zeros(3, dtype=torch.int64), "centre")
