"""`ranks`: the place in the sorted order, found without sorting."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.matching.ranks import ranks
from matchdg.matching.search import nearest

quick = settings(max_examples=60, deadline=None)


def points(count, features=16, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def places(queries, candidates, truth):
    """Where the true candidate stands among all neighbours."""
    order, _ = nearest(queries, candidates, len(candidates))
    return 1 + (order == truth[:, None]).int().argmax(1)


@quick
@given(st.integers(1, 12), st.integers(1, 90), st.integers(1, 3), st.integers(0, 1000))
def test_the_place_among_all_neighbours_ties_included(queries, candidates, features, seed):
    random = torch.Generator().manual_seed(seed)
    left, right = (torch.randint(-2, 3, (count, features), generator=random).float() for count in (queries, candidates))
    truth = torch.randint(candidates, (queries,), generator=random)
    assert torch.equal(ranks(left, right, truth), places(left, right, truth))


@pytest.mark.parametrize("memory", [100_000, 300_000, 2**28])
def test_any_block_size(memory):
    queries, candidates = points(700), points(2500, seed=1)
    truth = torch.randint(2500, (700,), generator=torch.Generator().manual_seed(2))
    table = (queries.double()[:, None] - candidates.double()).norm(dim=2)
    expected = 1 + (table < table.gather(1, truth[:, None])).sum(1)
    assert torch.equal(ranks(queries, candidates, truth, memory), expected)


def test_identical_features_share_out_the_places():
    same = torch.full((40, 8), 0.1)
    assert ranks(same, same, torch.arange(40)).tolist() == list(range(1, 41))


def test_a_single_candidate_is_first():
    assert ranks(points(3), points(1, seed=1), torch.zeros(3, dtype=torch.int64)).tolist() == [1, 1, 1]


def test_no_query():
    assert ranks(points(0), points(3), torch.empty(0, dtype=torch.int64)).tolist() == []


@pytest.mark.parametrize("truth", [[0, 5], [0, -1], [0]])
def test_positions_that_do_not_exist(truth):
    with pytest.raises(
        InputError, match="expected the position of a true candidate for each of 2 queries, from 0 to 4"
    ):
        ranks(points(2), points(5), torch.tensor(truth))


def test_not_finite():
    candidates = points(5)
    candidates[4] = float("nan")
    with pytest.raises(InputError, match=r"candidates have NaN, .* in 1 row\(s\): 4"):
        ranks(points(2), candidates, torch.zeros(2, dtype=torch.int64))


def test_memory_too_small():
    truth = torch.zeros(10, dtype=torch.int64)
    with pytest.raises(
        InputError, match=r"too small for the distances of one point to 4000 candidates; .* least 64000"
    ):
        ranks(points(10), points(4000), truth, memory=60_000)
    with pytest.raises(InputError, match="too small for one block of a search among 16 features"):
        ranks(points(10), points(40), truth, memory=2_000)
