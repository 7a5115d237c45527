"""`refine`: the sum of squared distances within rows falls until nothing changes."""

from itertools import pairwise

import pytest
import torch

from matchdg.matching.refine import refine
from matchdg.matching.route import route


def points(count, features=8, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def views(count, columns, noise):
    latent = points(count)
    return [latent + noise * points(count, seed=1 + domain) for domain in range(columns)]


def spread(features, rows):
    members = torch.stack([own[rows[:, domain]] for domain, own in enumerate(features)])
    return float(sum((left - right).double().square().sum() for left in members for right in members))


@pytest.mark.parametrize("assignment", ["nearest", "one-to-one"])
def test_each_round_lowers_the_spread_of_the_rows_until_nothing_changes(assignment):
    features = views(60, 4, 1.0)
    found = [route(features, 1, "direct", assignment)]
    for _ in range(30):
        found.append(refine(features, found[-1], 1, assignment, rounds=1))
    spreads = [spread(features, rows) for rows in found]
    assert spreads[1] < spreads[0]
    assert all(after <= before + 1e-6 for before, after in pairwise(spreads))
    assert torch.equal(found[-1], found[-2])
    assert torch.equal(refine(features, found[0], 1, assignment, rounds=100), found[-1])


def test_anchors_stay_and_the_given_rows_too():
    features = views(20, 3, 1.0)
    rows = route(features, 2, "direct", "one-to-one")
    before = rows.clone()
    assert torch.equal(refine(features, rows, 2, "one-to-one", rounds=3)[:, 2], torch.arange(20))
    assert torch.equal(rows, before)


def test_no_rounds_change_nothing():
    features = views(20, 3, 1.0)
    rows = route(features, 0, "direct", "nearest")
    assert torch.equal(refine(features, rows, 0, "nearest", rounds=0), rows)


def test_with_two_domains_there_is_nothing_to_agree_on():
    features = [*views(20, 2, 1.0), points(0)]
    rows = route(features, 0, "direct", "one-to-one")
    assert torch.equal(refine(features, rows, 0, "one-to-one", rounds=5), rows)


def test_a_base_point_in_the_wrong_row_changes_rows():
    # The other domains agree on their rows; only the base's two points are exchanged.
    others = torch.tensor([[0.0], [5.0]])
    features = [torch.tensor([[4.0], [1.0]]), others, others, others]
    rows = torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1]])
    assert refine(features, rows, 0, "one-to-one", rounds=1).tolist() == [[0, 1, 1, 1], [1, 0, 0, 0]]
