"""`match_distance` and `match_pull`: every kind against a loop over pairs."""

from itertools import combinations
from math import sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.methods import Parts, Product
from matchdg.methods.distance import match_distance, match_pull
from matchdg.methods.match_penalty import MatchPenalty, MatchSettings

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


def match_penalty(batch, features, kind, weight=1.0):
    pull = match_pull(batch, features, features.detach(), kind, weight)
    if pull is None:
        return weight * match_distance(batch.grid(features), batch.mask, kind)
    return Parts(torch.zeros((), dtype=features.dtype), {}, pull).whole().total


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


@pytest.mark.parametrize("kind", KINDS)
def test_the_penalty_of_a_batch_is_the_distance_of_its_grid(kind, make_batch, grid):
    batch = make_batch(grid, shape=(4,))
    values = batch.inputs.double().requires_grad_()
    ours, slow = match_penalty(batch, values, kind), match_distance(batch.grid(values), batch.mask, kind)
    assert ours.item() == pytest.approx(slow_distance(batch.grid(values), batch.mask, kind))
    torch.testing.assert_close(torch.autograd.grad(ours, values), torch.autograd.grad(slow, values))
    assert torch.autograd.gradcheck(lambda x: match_penalty(batch, x, kind), values)


@pytest.mark.parametrize("kind", KINDS)
def test_with_one_domain_there_is_no_penalty(kind, make_batch):
    values = torch.randn(2, 4, requires_grad=True)
    penalty = match_penalty(make_batch([[0], [1]]), values, kind)
    assert penalty.item() == 0
    assert not torch.autograd.grad(penalty, values)[0].any()


# Each gives [V, D] and its strides are others.
LAYOUTS = {
    "contiguous": lambda values: values.contiguous(),
    "transposed": lambda values: values.T.contiguous().T,
    "every other column": lambda values: values.repeat_interleave(2, 1)[:, ::2],
    "one of many": lambda values: torch.stack([values, values], 1)[:, 0],
}


class TestClosedFormOfSquaredL2:
    """On a complete batch no pair is formed: value and gradient have to be those of the pairs all the same."""

    @staticmethod
    def pairs(features):
        """The mean over all pairs of `features[B, K, D]`, that autograd can follow."""
        found = [(row[j] - row[k]).square().sum() for row in features for j, k in combinations(range(len(row)), 2)]
        return torch.stack(found).mean()

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("columns", [2, 3, 4, 5])
    @pytest.mark.parametrize(("rows", "size"), [(1, 1), (1, 3), (4, 1), (4, 3)])
    def test_value_and_gradient_are_exact(self, layout, columns, rows, size, make_batch):
        batch = make_batch([[0] * columns] * rows)
        leaf = torch.randn(rows * columns, size, dtype=torch.float64, requires_grad=True)
        values = LAYOUTS[layout](leaf)
        expected = self.pairs(batch.grid(values))
        exact = {"rtol": 1e-12, "atol": 1e-13}
        for ours in (
            match_penalty(batch, values, "squared-l2"),
            match_distance(batch.grid(values), batch.mask, "squared-l2"),
        ):
            torch.testing.assert_close(ours, expected, **exact)
            gradients = (torch.autograd.grad(3 * part, leaf, retain_graph=True) for part in (ours, expected))
            torch.testing.assert_close(*gradients, **exact)

    @pytest.mark.parametrize("weight", [0.0, 0.3, 20.0])
    def test_the_weight_is_in_the_penalty_and_not_in_the_term(self, weight, make_batch, with_features, clock):
        batch = make_batch([[0, 0, 0], [1, 1, 1]])
        values = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
        expected = self.pairs(batch.grid(values)).detach()
        torch.testing.assert_close(match_penalty(batch, values, "squared-l2", weight).detach(), weight * expected)
        method = MatchPenalty(MatchSettings(penalty=weight, layer="representation"))
        network = with_features(values, 4)
        term = method.parts(network, batch, clock).terms["match"]
        torch.testing.assert_close(term.value if isinstance(term, Product) else term, expected)

    @pytest.mark.parametrize("columns", [2, 3, 4, 5])
    def test_finite_differences(self, columns, make_batch):
        batch = make_batch([[0] * columns] * 3)
        values = torch.randn(3 * columns, 2, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: match_penalty(batch, x, "squared-l2"), values)

    def test_the_distance_of_rows_that_lie_row_by_row_is_the_same(self):
        values = features(size=1)
        for laid_out in (values, values.transpose(0, 1).contiguous().transpose(0, 1)):
            torch.testing.assert_close(match_distance(laid_out, None, "squared-l2"), self.pairs(values))

    def test_it_needs_no_gradient(self, make_batch):
        values = torch.randn(6, 4, dtype=torch.float64)
        batch = make_batch([[0, 0, 0], [1, 1, 1]])
        torch.testing.assert_close(match_penalty(batch, values, "squared-l2"), self.pairs(batch.grid(values)))

    @settings(max_examples=40, deadline=None)
    @given(st.integers(1, 4), st.integers(2, 5), st.integers(1, 4), st.integers(0, 1000), st.floats(0.01, 100))
    def test_any_shape_and_scale(self, make_batch, rows, columns, size, seed, scale):
        batch = make_batch([[0] * columns] * rows)
        values = features(rows, columns, size, seed) * scale
        flat = values.transpose(0, 1).flatten(0, 1)
        expected = pytest.approx(slow_distance(values, None, "squared-l2"))
        assert match_penalty(batch, flat, "squared-l2").item() == expected
        assert match_distance(values, None, "squared-l2").item() == expected
