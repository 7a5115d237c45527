"""`match_distance`: every kind against a loop over pairs."""

from itertools import combinations
from math import sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.methods.distance import match_distance

KINDS = ("squared-l2", "l2", "l1", "cosine")

# Of one pair of lists of numbers.
SLOW = {
    "squared-l2": lambda a, b: sum((x - y) ** 2 for x, y in zip(a, b, strict=True)),
    "l2": lambda a, b: sqrt(SLOW["squared-l2"](a, b)),
    "l1": lambda a, b: sum(abs(x - y) for x, y in zip(a, b, strict=True)),
    "cosine": lambda a, b: (
        1 - sum(x * y for x, y in zip(a, b, strict=True)) / sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    ),
}


def slow_distance(features, mask, kind):
    """Mean over all pairs of present cells of all rows."""
    found = []
    for row, cells in enumerate(features.tolist()):
        for left, right in combinations(range(len(cells)), 2):
            if mask is None or (mask[row, left] and mask[row, right]):
                found.append(SLOW[kind](cells[left], cells[right]))
    return sum(found) / len(found) if found else 0.0


def features(rows=5, columns=3, size=4, seed=0):
    return torch.randn(rows, columns, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


MASK = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 1], [1, 1, 1]]) == 1


@pytest.mark.parametrize("kind", KINDS)
class TestKinds:
    def test_the_same_as_a_loop_over_pairs(self, kind):
        values = features()
        assert match_distance(values, None, kind).item() == pytest.approx(slow_distance(values, None, kind))

    def test_absent_cells_count_in_no_pair(self, kind):
        values = features() * MASK[:, :, None]
        assert match_distance(values, MASK, kind).item() == pytest.approx(slow_distance(values, MASK, kind))

    def test_a_mask_of_all_is_no_mask(self, kind):
        values = features()
        whole = match_distance(values, torch.ones(5, 3, dtype=torch.bool), kind)
        torch.testing.assert_close(whole, match_distance(values, None, kind))

    def test_what_an_absent_cell_holds_does_not_matter(self, kind):
        values = features()
        changed = torch.where(MASK[:, :, None], values, 7.0)
        torch.testing.assert_close(match_distance(values, MASK, kind), match_distance(changed, MASK, kind))

    def test_the_order_of_domains_does_not_matter(self, kind):
        values, order = features(), [2, 0, 1]
        torch.testing.assert_close(
            match_distance(values, MASK, kind), match_distance(values[:, order], MASK[:, order], kind)
        )

    def test_equal_views_are_at_distance_zero(self, kind):
        values = features()[:, :1].expand(-1, 3, -1)
        assert match_distance(values, None, kind).item() == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("mask", [None, MASK])
    def test_gradients_are_right(self, kind, mask):
        values = features().requires_grad_()
        assert torch.autograd.gradcheck(lambda x: match_distance(x, mask, kind), values)

    def test_gradients_at_identical_points_and_at_zero_are_finite(self, kind):
        values = features()
        values[0] = values[0, 0]
        values[1] = 0
        for mask in (None, MASK):
            variable = (values if mask is None else values * mask[:, :, None]).requires_grad_()
            (gradient,) = torch.autograd.grad(match_distance(variable, mask, kind), variable)
            assert gradient.isfinite().all()
            assert gradient[4].any()

    def test_without_any_pair_it_is_zero_and_so_is_its_gradient(self, kind):
        for values, mask in [(features(columns=1), None), (features(columns=2), torch.eye(2).bool()[[0, 1] * 2 + [0]])]:
            values.requires_grad_()
            distance = match_distance(values, mask, kind)
            (gradient,) = torch.autograd.grad(distance, values)
            assert distance.item() == 0
            assert not gradient.any()


@pytest.mark.parametrize(
    ("kind", "expected"), [("squared-l2", 25.0), ("l2", 5.0), ("l1", 7.0), ("cosine", 1 - 24 / 25)]
)
def test_by_hand(kind, expected):
    # (3, 4) and (4, 3) have cosine 24 / 25; (0, 0) and (3, 4) differ by 3 and 4.
    pair = [[3.0, 4.0], [4.0, 3.0]] if kind == "cosine" else [[0.0, 0.0], [3.0, 4.0]]
    assert match_distance(torch.tensor([pair]), None, kind).item() == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(2, 5), st.integers(1, 4), st.integers(0, 1000), st.floats(0.01, 100))
def test_the_closed_form_of_squared_l2_is_the_mean_over_pairs(rows, columns, size, seed, scale):
    values = features(rows, columns, size, seed) * scale
    assert match_distance(values, None, "squared-l2").item() == pytest.approx(slow_distance(values, None, "squared-l2"))
