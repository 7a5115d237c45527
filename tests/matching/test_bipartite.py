"""`cheapest`: the least cost, as `linear_sum_assignment` finds it, and prices that prove it, on graphs of any kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from matchdg.matching.bipartite import cheapest, graph

SHAPES = [(1, 1), (1, 5), (6, 6), (7, 9), (40, 40), (30, 75), (120, 120), (119, 120)]


def costs(rows, slots, kind="plain", density=0.3, seed=0):
    """A table of costs, infinite where there is no edge; one matching of all rows is always there."""
    generator = np.random.default_rng(seed)
    cost = generator.random((rows, slots))
    if kind == "ties":
        cost = np.round(3 * cost)
    elif kind == "equal":
        cost[:] = 2.0
    elif kind == "few rows":
        cost = cost[np.arange(rows) // 3]
    elif kind == "large":
        cost = np.where(generator.random((rows, slots)) < 0.2, 1e6 + cost, cost)
    kept = generator.random((rows, slots)) < density
    kept[np.arange(rows), generator.permutation(slots)[:rows]] = True
    return np.where(kept, cost, np.inf)


def graph_of(table):
    row, slot = np.nonzero(np.isfinite(table))
    return graph(row, slot, table[row, slot], *table.shape)


def check(table, match, prices):
    """All rows are matched to slots of their own, at the least cost, and the prices prove it."""
    rows, slots = table.shape
    assert len(np.unique(match)) == rows
    paid = table[np.arange(rows), match]
    dense = np.where(np.isfinite(table), table, 1e9)
    least = dense[linear_sum_assignment(dense)].sum()
    assert paid.sum() == pytest.approx(least, rel=1e-9, abs=1e-9)
    scale = 1e-9 * (1 + paid.max())
    assert prices.min() >= 0
    assert (paid + prices[match] <= (table + prices).min(1) + scale).all()
    unused = np.setdiff1d(np.arange(slots), match)
    assert (prices[unused] <= scale).all()


@pytest.mark.parametrize("kind", ["plain", "ties", "equal", "few rows", "large"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.05, 0.3, 1.0])
def test_the_least_cost(shape, kind, density):
    table = costs(*shape, kind, density)
    check(table, *cheapest(graph_of(table)))


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_the_least_cost_of_any_graph(data):
    rows = data.draw(st.integers(1, 9))
    slots = data.draw(st.integers(rows, 12))
    value = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.5, 1e-9, 1e5, np.inf])
    table = np.array(data.draw(st.lists(value, min_size=rows * slots, max_size=rows * slots))).reshape(rows, slots)
    own = data.draw(st.permutations(range(slots)))[:rows]
    place = np.arange(rows), own
    table[place] = np.where(np.isinf(table[place]), 7.0, table[place])
    check(table, *cheapest(graph_of(table)))


@pytest.mark.parametrize("shape", [(60, 60), (40, 75)])
def test_any_start_comes_to_the_same_cost(shape):
    first, second = costs(*shape, density=0.2), costs(*shape, density=0.2, seed=1)
    match, prices = cheapest(graph_of(first))
    check(np.minimum(first, second), *cheapest(graph_of(np.minimum(first, second)), prices, match))
    check(second, *cheapest(graph_of(second), prices, match))
    check(second, *cheapest(graph_of(second), np.random.default_rng(2).random(shape[1])))


def test_a_start_from_the_result_gives_the_result():
    table = costs(200, 200)
    match, prices = cheapest(graph_of(table))
    again, same = cheapest(graph_of(table), prices, match)
    assert np.array_equal(again, match)
    assert same == pytest.approx(prices)


def test_edges_in_any_order_are_the_same_graph():
    row, slot = np.nonzero(np.isfinite(table := costs(50, 60)))
    order = np.random.default_rng(0).permutation(len(row))
    shuffled = graph(row[order], slot[order], table[row, slot][order], 50, 60)
    check(table, *cheapest(shuffled))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("slots", [800, 1000])
def test_rows_that_all_want_the_same_slots(slots):
    generator = np.random.default_rng(0)
    table = np.full((800, slots), np.inf)
    for row in range(800):
        for slot in range(max(0, row - 3), row + 1):
            table[row, slot] = 1 + generator.random()
    table[:, :5] = 0.01 * generator.random((800, 5))
    check(table, *cheapest(graph_of(table)))
