"""`nearest`: the exact order, ties, any block size, a bound of memory."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import linear

from matchdg.core.errors import InputError
from matchdg.matching.search import nearest, scores

quick = settings(max_examples=60, deadline=None)


def points(count, features=16, seed=0, kind=torch.float32):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed)).to(kind)


def slow_nearest(queries, candidates, k):
    """Sort all distances of each query, equal ones by position."""
    table = (queries.double()[:, None] - candidates.double()).norm(dim=2)
    order = table.argsort(dim=1, stable=True)[:, :k]
    return order, table.gather(1, order)


@st.composite
def whole_numbers(draw):
    """Small whole numbers, so that equal distances abound and are exact, and a k that may exceed the candidates."""
    features = draw(st.integers(1, 4))

    def table(count):
        values = draw(st.lists(st.integers(-3, 3), min_size=count * features, max_size=count * features))
        return torch.tensor(values, dtype=torch.float32).view(count, features)

    return table(draw(st.integers(1, 8))), table(draw(st.integers(1, 80))), draw(st.integers(1, 90))


@quick
@given(whole_numbers())
def test_order_and_ties_are_those_of_a_stable_sort(case):
    queries, candidates, k = case
    positions, distances = nearest(queries, candidates, k)
    expected, lengths = slow_nearest(queries, candidates, k)
    assert positions.tolist() == expected.tolist()
    torch.testing.assert_close(distances.double(), lengths)


@quick
@given(whole_numbers())
def test_blocks_do_not_change_ties(case):
    queries, candidates, k = case
    smallest = 12 * 64 * (queries.shape[1] + 4) + 28 * 32 * 32
    assert torch.equal(nearest(queries, candidates, k, smallest)[0], nearest(queries, candidates, k)[0])


@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("memory", [45_000, 150_000, 2**28])
def test_the_same_as_a_full_sort_with_any_block_size(k, memory):
    queries, candidates = points(300), points(1111, seed=1)
    positions, distances = nearest(queries, candidates, k, memory)
    expected, lengths = slow_nearest(queries, candidates, k)
    assert torch.equal(positions, expected)
    torch.testing.assert_close(distances.double(), lengths, rtol=1e-5, atol=1e-5)


def test_copies_of_a_candidate_are_equally_near_wherever_they_stand():
    # Far more columns than a block has, and features for which no product is exact.
    distinct = points(40, 300)
    candidates = distinct[torch.randint(40, (5000,), generator=torch.Generator().manual_seed(1))]
    first = torch.stack([(candidates == own).all(1).nonzero()[0, 0] for own in distinct])
    positions, distances = nearest(distinct + 1e-3, candidates)
    assert torch.equal(positions[:, 0], first)
    assert torch.equal(nearest(distinct + 1e-3, candidates, 2)[0][:, 0], first)
    assert float(distances.max()) < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_the_first_of_equal_candidates_in_blocks_of_many_columns(seed):
    generator = torch.Generator().manual_seed(seed)
    candidates = torch.randint(5, 9, (3000, 2), generator=generator).float()
    equal = torch.randint(3000, (1 + seed * 20,), generator=generator)
    candidates[equal] = 1
    positions, distances = nearest(torch.zeros(3, 2), candidates)
    assert positions.flatten().tolist() == [int(equal.min())] * 3
    assert float(distances.max()) == pytest.approx(2**0.5)


@pytest.mark.parametrize("rows", [1, 2, 33, 300])
def test_products_are_those_of_onednn_bit_by_bit(rows):
    if not torch.backends.mkldnn.is_available():
        pytest.skip("PyTorch without oneDNN")
    half = points(32, 100, seed=1)
    queries, candidates = points(rows, 100), torch.cat([half, -half])  # about zero, so that they are not shifted
    _, _, block = next(scores(queries, candidates, 2**28))
    constant = (candidates * candidates).sum(1) / 2
    expected = linear(queries.to_mkldnn(), (-candidates).to_mkldnn(), constant.to_mkldnn()).to_dense()
    assert torch.equal(block, expected)


def test_without_onednn_the_same(monkeypatch):
    queries, candidates = points(50), points(200, seed=1)
    expected = nearest(queries, candidates)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    positions, distances = nearest(queries, candidates)
    assert torch.equal(positions, expected[0])
    torch.testing.assert_close(distances, expected[1])


def test_features_far_from_zero_keep_their_order():
    queries, candidates = points(200) * 1e-2, points(500, seed=1) * 1e-2
    positions, _ = nearest(queries + 100, candidates + 100)
    expected, _ = slow_nearest(queries + 100, candidates + 100, 1)
    assert float((positions == expected).float().mean()) > 0.97


def test_identical_features_give_the_first_positions_at_distance_zero():
    same = torch.full((50, 8), 0.1)
    positions, distances = nearest(same, same, 3)
    assert positions.tolist() == [[0, 1, 2]] * 50
    assert float(distances.max()) == 0


def test_k_above_the_number_of_candidates_gives_them_all():
    positions, distances = nearest(points(4), points(3, seed=1), 10)
    assert positions.shape == distances.shape == (4, 3)
    assert positions.sort(1).values.tolist() == [[0, 1, 2]] * 4


def test_a_single_candidate():
    assert nearest(points(5), points(1, seed=1))[0].tolist() == [[0]] * 5


@pytest.mark.parametrize(("queries", "candidates", "shape"), [(0, 5, (0, 2)), (5, 0, (5, 0))])
def test_none_to_ask_or_to_find(queries, candidates, shape):
    positions, distances = nearest(points(queries), points(candidates), 2)
    assert positions.shape == distances.shape == shape
    assert positions.dtype == torch.int64


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_any_floats(kind):
    queries, candidates = points(20, kind=kind), points(50, seed=1, kind=kind)
    positions, distances = nearest(queries, candidates)
    assert torch.equal(positions, slow_nearest(queries, candidates, 1)[0])
    assert distances.dtype == torch.float32


def test_prices_add_to_half_the_squared_distance():
    queries, candidates, prices = points(30), points(90, seed=1), points(90, 1, seed=2)[:, 0]
    _, _, block = next(scores(queries, candidates, 2**28, prices=prices))
    half = torch.cdist(queries, candidates).square() / 2 + prices
    expected = half - half[:, :1]
    torch.testing.assert_close(block[:, :90] - block[:, :1], expected, rtol=1e-4, atol=1e-4)
    assert bool((block[:, 90:] == torch.inf).all())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("side", ["queries", "candidates"])
def test_features_that_are_not_finite_are_named(bad, side):
    sides = {"queries": points(9), "candidates": points(9, seed=1)}
    sides[side][3, 2] = bad
    sides[side][7, 0] = bad
    with pytest.raises(InputError, match=rf"{side} have NaN, infinite or far too large values in 2 row\(s\): 3, 7; if"):
        nearest(**sides)


@pytest.mark.parametrize("features", [torch.zeros(3), torch.zeros(3, 0), torch.zeros(3, 2, dtype=torch.int64)])
def test_what_is_no_table_of_floats(features):
    with pytest.raises(InputError, match=r"queries have shape .* expected floats \[points, features\]"):
        nearest(features, torch.zeros(3, 2))


def test_different_numbers_of_features():
    with pytest.raises(InputError, match="queries have 3 features and candidates 4, expected equally many"):
        nearest(points(2, 3), points(2, 4))


def test_no_neighbours_asked_for():
    with pytest.raises(InputError, match="the number of neighbours must be at least 1, got 0"):
        nearest(points(2), points(2), 0)


def test_memory_too_small_for_one_block_says_how_much_is_enough():
    queries, candidates = points(300), points(500, seed=1)
    with pytest.raises(InputError, match="a memory of 1000 bytes is too small") as caught:
        nearest(queries, candidates, memory=1000)
    enough = int(re.search(r"give at least (\d+) bytes", str(caught.value)).group(1))
    assert torch.equal(nearest(queries, candidates, memory=enough)[0], nearest(queries, candidates)[0])
    with pytest.raises(InputError):
        nearest(queries, candidates, memory=enough - 1)
