"""`assign`: nearest, and one-to-one at the least cost for any sizes, by both ways of solving it."""

from itertools import permutations

import pytest
import torch

from matchdg.core.errors import InputError, InputWarning
from matchdg.matching import sparse
from matchdg.matching.assign import assign
from matchdg.matching.search import nearest

SMALL = 0  # a limit at which every problem is solved sparsely


def points(count, features=12, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def cost(queries, candidates, found):
    return float((queries - candidates[found]).double().square().sum())


def pair(kind, count, size, noise=1.0):
    """Noisy views of the same points, in the ways in which features of two domains differ."""
    latent = points(max(count, size), 5) @ points(5, 40, 1) / 5**0.5
    left, right = (latent + noise * points(len(latent), 40, seed) for seed in (2, 3))
    if kind == "shifted":
        right = right + 3
    elif kind == "scaled":
        right = right * torch.linspace(0.1, 3, len(right))[:, None]
    elif kind == "collapsed":
        left, right = 5 + 1e-2 * left, 5 + 1e-2 * right
    order = torch.randperm(len(right), generator=torch.Generator().manual_seed(4))
    return left[:count], right[order][:size]


def test_nearest_may_give_a_candidate_twice():
    queries, candidates = torch.tensor([[0.0], [1.0], [9.0]]), torch.tensor([[8.0], [0.5], [20.0]])
    assert assign(queries, candidates, "nearest").tolist() == [1, 1, 0]


@pytest.mark.parametrize("limit", [SMALL, 100])
def test_one_to_one_is_the_best_permutation(limit):
    queries, candidates = points(6, 3), points(6, 3, 1)
    best = min(permutations(range(6)), key=lambda order: cost(queries, candidates, list(order)))
    assert assign(queries, candidates, "one-to-one", limit=limit).tolist() == list(best)


@pytest.mark.parametrize("limit", [SMALL, 100])
def test_one_to_one_with_fewer_candidates_is_the_best_balanced_choice(limit):
    queries, candidates = points(5, 3), points(3, 3, 1)
    slots = [0, 1, 2, 0, 1, 2]
    balanced = [
        [slots[slot] for slot in order]
        for order in permutations(range(6), 5)
        if {slots[slot] for slot in order} == {0, 1, 2}
    ]
    best = min(balanced, key=lambda order: cost(queries, candidates, order))
    assert assign(queries, candidates, "one-to-one", limit=limit).tolist() == best


@pytest.mark.parametrize("limit", [SMALL, 1000])
@pytest.mark.parametrize(("count", "size"), [(60, 60), (40, 70), (70, 40), (75, 25), (80, 3), (50, 1), (1, 50), (1, 1)])
def test_one_to_one_with_any_sizes_is_balanced(limit, count, size):
    found = assign(points(count), points(size, seed=1), "one-to-one", limit=limit)
    used = found.bincount(minlength=size)
    assert int(used.min()) == count // size
    assert int(used.max()) == -(-count // size)


@pytest.mark.parametrize("kind", ["plain", "shifted", "scaled", "collapsed"])
@pytest.mark.parametrize(("count", "size"), [(400, 400), (300, 400), (400, 370), (400, 130)])
def test_the_sparse_way_costs_the_same_as_the_optimum(kind, count, size):
    queries, candidates = pair(kind, count, size)
    best = cost(queries, candidates, assign(queries, candidates, "one-to-one", limit=1000))
    found = assign(queries, candidates, "one-to-one", limit=SMALL)
    assert found.bincount(minlength=size).max() == -(-count // size)
    assert cost(queries, candidates, found) <= best * (1 + 1e-5)


def test_the_sparse_way_without_its_rounds_would_not_do(monkeypatch):
    queries, candidates = pair("scaled", 400, 400)
    best = cost(queries, candidates, assign(queries, candidates, "one-to-one", limit=1000))
    monkeypatch.setattr(sparse, "_ROUNDS", 1)
    monkeypatch.setattr(sparse, "_NEIGHBOURS", 8)
    with pytest.warns(InputWarning, match=r"400 inputs with 400 costs at most 0\.\d\d% more than the best one"):
        found = assign(queries, candidates, "one-to-one", limit=SMALL)
    assert cost(queries, candidates, found) > best * 1.001


def hard(kind, count, size):
    """Two sides whose near neighbours tell little: many points want the same few."""
    left, right = points(count, 8), points(size, 8, 1)
    if kind == "hubs":
        right[:: size // 4] *= 0.05
    elif kind == "narrow":
        right = 0.2 * right
    elif kind == "tails":
        left, right = left * left.abs() ** 2, right * (right[:, :1] * 1.5).exp()
    elif kind == "few values":
        left, right = left[torch.arange(count) % 15], right[torch.arange(size) % 20]
    elif kind == "one value":
        left = left[:1].expand(count, -1)
    elif kind == "whole numbers":
        left, right = left[:, :2].round(), right[:, :2].round()
    return left, right


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["hubs", "narrow", "tails", "few values", "one value", "whole numbers"])
@pytest.mark.parametrize(("count", "size"), [(300, 300), (250, 300), (300, 140)])
def test_the_sparse_way_ends_at_the_optimum_of_hard_sets(kind, count, size):
    queries, candidates = hard(kind, count, size)
    best = cost(queries, candidates, assign(queries, candidates, "one-to-one", limit=1000))
    found = assign(queries, candidates, "one-to-one", limit=SMALL)
    assert found.bincount(minlength=size).max() == -(-count // size)
    assert cost(queries, candidates, found) <= best * (1 + 2e-6)


@pytest.mark.parametrize("limit", [SMALL, 1000])
def test_one_to_one_finds_more_true_pairs_than_nearest(limit):
    queries, candidates = pair("plain", 500, 500, noise=0.5)
    truth = torch.randperm(500, generator=torch.Generator().manual_seed(4)).argsort()
    near = float((nearest(queries, candidates)[0][:, 0] == truth).float().mean())
    assert float((assign(queries, candidates, "one-to-one", limit=limit) == truth).float().mean()) > near + 0.05


@pytest.mark.parametrize("limit", [SMALL, 1000])
def test_a_shift_of_one_side_does_not_matter(limit):
    queries, candidates = points(80), points(80, seed=1)
    expected = assign(queries, candidates, "one-to-one", limit=limit)
    assert torch.equal(assign(queries, candidates + 2, "one-to-one", limit=limit), expected)


@pytest.mark.parametrize("limit", [SMALL, 1000])
def test_identical_features_are_matched_one_to_one_but_not_in_the_order_of_the_objects(limit):
    same = torch.full((200, 8), 0.1)
    found = assign(same, same, "one-to-one", limit=limit)
    assert len(found.unique()) == 200
    assert float((found == torch.arange(200)).float().mean()) < 0.1


@pytest.mark.parametrize("how", ["nearest", "one-to-one"])
def test_no_candidate_gives_none_and_no_query_nothing(how):
    assert assign(points(3), points(0), how).tolist() == [-1, -1, -1]
    assert assign(points(0), points(3), how).tolist() == []


@pytest.mark.parametrize("how", ["nearest", "one-to-one"])
def test_bad_input(how):
    queries = points(4)
    with pytest.raises(InputError, match="too small for one block"):
        assign(queries, points(4), how, memory=100)
    with pytest.raises(InputError, match="too small for one block"):
        assign(queries, points(4), how, memory=100, limit=SMALL)
    queries[2, 0] = float("nan")
    with pytest.raises(InputError, match=r"queries have NaN, .* in 1 row\(s\): 2"):
        assign(queries, points(4), how)
