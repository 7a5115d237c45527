"""The contrastive loss of phase 1: eq. 4 by hand and in slow loops, stable in any precision and at any temperature."""

from math import exp, log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.methods import PHASE1_METHODS, Clock
from matchdg.methods.contrastive import Contrastive, ContrastiveSettings, contrastive_loss
from matchdg.networks import NETWORKS

KINDS = ("other-classes", "other-rows")
COMPLETE = [[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]]
HALVES = [torch.float16, torch.bfloat16]


def slow(features, batch, temperature, negatives):
    """Eq. 4 in loops over ordered pairs of one row, in double precision."""
    unit = torch.nn.functional.normalize(features.detach().double(), dim=1)
    cells = range(batch.rows * batch.columns) if batch.cells is None else batch.cells.tolist()
    rows, labels = [cell % batch.rows for cell in cells], batch.labels.tolist()
    groups = labels if negatives == "other-classes" else rows
    everyone = range(len(labels))
    places = list(everyone) if batch.positions is None else batch.positions.tolist()
    losses = []
    for j in everyone:
        repelled = sum(
            exp(unit[j] @ unit[i] / temperature) for i in everyone if groups[i] != groups[j] and places[i] != places[j]
        )
        for k in everyone:
            if k != j and rows[k] == rows[j]:
                attracted = exp(unit[j] @ unit[k] / temperature)
                losses.append(-log(attracted / (attracted + repelled)))
    return sum(losses) / len(losses) if losses else 0.0


def features_of(batch, size=5, seed=0):
    return torch.randn(len(batch.labels), size, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def test_by_hand(make_batch):
    # Both rows have two equal views, at a right angle to the other row's, which are two inputs of the other class.
    features = torch.tensor([[3.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.0, 2.0]])
    loss = contrastive_loss(features, make_batch([[0, 0], [1, 1]]), 1.0, "other-classes")
    assert loss.item() == pytest.approx(log(1 + 2 / exp(1)))
    loss = contrastive_loss(features, make_batch([[0, 0], [1, 1]]), 0.5, "other-classes")
    assert loss.item() == pytest.approx(log(1 + 2 / exp(2)))


def test_points_of_the_same_class_repel_as_other_rows_alone(make_batch):
    features = torch.tensor([[3.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.0, 2.0]])
    batch = make_batch([[0, 0], [0, 0]])
    assert contrastive_loss(features, batch, 1.0, "other-classes").item() == 0
    assert contrastive_loss(features, batch, 1.0, "other-rows").item() == pytest.approx(log(1 + 2 / exp(1)))


def test_an_input_that_several_rows_share_does_not_repel_itself(make_batch):
    """Rows 0 and 1 have the same input in their first column, as matches that are not one-to-one may."""
    batch = make_batch([[0, 0], [0, 0], [1, 1]])
    features = features_of(batch).detach()
    features[1] = features[0]
    before = [float(contrastive_loss(features, batch, 0.1, kind)) for kind in KINDS]
    batch.positions = torch.tensor([7, 7, 1, 2, 3, 4])
    after = [float(contrastive_loss(features, batch, 0.1, kind)) for kind in KINDS]
    assert after == pytest.approx([slow(features, batch, 0.1, kind) for kind in KINDS], rel=1e-5)
    assert after[0] == pytest.approx(before[0])
    assert after[1] < before[1] - 0.1


@pytest.mark.parametrize("negatives", KINDS)
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_the_same_as_a_slow_loop(make_batch, grid, negatives, temperature):
    batch = make_batch(grid)
    features = features_of(batch)
    expected = slow(features, batch, temperature, negatives)
    assert contrastive_loss(features, batch, temperature, negatives).item() == pytest.approx(expected, rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([None, 0, 1, 2]), min_size=columns, max_size=columns), min_size=1, max_size=5
        )
    ),
    st.sampled_from(KINDS),
    st.integers(0, 1000),
)
def test_the_same_as_a_slow_loop_whatever_is_absent(make_batch, cells, negatives, seed):
    if all(label is None for row in cells for label in row):
        cells[0][0] = 0
    batch = make_batch(cells)
    features = features_of(batch, 3, seed)
    loss = contrastive_loss(features, batch, 0.2, negatives)
    assert loss.item() == pytest.approx(slow(features, batch, 0.2, negatives), rel=1e-4, abs=1e-6)
    loss.backward()
    assert features.grad.isfinite().all()


@pytest.mark.parametrize("negatives", KINDS)
def test_the_order_of_the_rows_does_not_matter(make_batch, grid, negatives):
    batch = make_batch(grid)
    values = batch.grid(features_of(batch))
    order = [2, 0, 3, 1]
    other = make_batch([grid[row] for row in order])
    flat = values[order].transpose(0, 1).flatten(0, 1)
    flat = flat if other.cells is None else flat[other.cells]
    first = contrastive_loss(features_of(batch), batch, 0.1, negatives)
    torch.testing.assert_close(contrastive_loss(flat, other, 0.1, negatives), first)


def test_the_length_of_features_does_not_matter(make_batch):
    batch = make_batch(COMPLETE)
    features = features_of(batch).detach()
    lengths = torch.linspace(0.1, 50, len(features))[:, None]
    torch.testing.assert_close(
        contrastive_loss(features * lengths, batch, 0.1, "other-rows"),
        contrastive_loss(features, batch, 0.1, "other-rows"),
    )


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("negatives", KINDS)
def test_a_small_temperature_in_half_precision_is_that_of_double_precision(make_batch, dtype, negatives):
    batch = make_batch(COMPLETE)
    features = features_of(batch).detach().to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        loss = contrastive_loss(features, batch, 0.01, negatives)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(slow(features, batch, 0.01, negatives), rel=1e-4)
    loss.backward()
    assert features.grad.isfinite().all()
    assert features.grad.any()


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_opposite_views_at_the_smallest_temperature(make_batch, dtype):
    """The worst that can be: matches at similarity -1, negatives at 1, so that exp(2000) would be needed."""
    features = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]], dtype=dtype).requires_grad_()
    batch = make_batch([[0, 0], [1, 1]])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype != torch.float32):
        loss = contrastive_loss(features, batch, 0.001, "other-classes")
    assert loss.item() == pytest.approx(2000, rel=1e-5)
    loss.backward()
    assert features.grad.isfinite().all()


@pytest.mark.parametrize(
    ("cells", "negatives"), [([[0, 0], [0, 0]], "other-classes"), ([[1, 1, 1]], "other-rows"), ([[0, 0]], KINDS[0])]
)
def test_where_nothing_repels_nothing_is_lost_and_nothing_pulls(make_batch, cells, negatives):
    batch = make_batch(cells)
    features = features_of(batch)
    loss = contrastive_loss(features, batch, 0.05, negatives)
    assert loss.item() == 0
    loss.backward()
    assert not features.grad.any()


@pytest.mark.parametrize("negatives", KINDS)
def test_an_input_without_a_negative_beside_others_that_have_some(make_batch, negatives):
    # Under noisy labels: the first row's views are of two classes, so that each is a negative of the other.
    batch = make_batch([[0, 1], [None, 1], [None, 0]])
    features = features_of(batch)
    loss = contrastive_loss(features, batch, 0.05, negatives)
    assert loss.item() == pytest.approx(slow(features, batch, 0.05, negatives), rel=1e-4)
    loss.backward()
    assert features.grad.isfinite().all()


@pytest.mark.parametrize("cells", [[[0, None], [None, 1]], [[0], [1]], [[None, 1]]])
def test_a_batch_without_a_pair_loses_nothing(make_batch, cells):
    batch = make_batch(cells)
    features = features_of(batch)
    loss = contrastive_loss(features, batch, 0.05, "other-classes")
    assert loss.item() == 0
    loss.backward()
    assert not features.grad.any()


@pytest.mark.parametrize("negatives", KINDS)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_identical_features_tell_nothing_apart_and_break_nothing(make_batch, negatives, value):
    """All similarities are equal, so each input is as near as any other: log of one more than the negatives."""
    batch = make_batch([[0, 0], [1, 1], [1, 1]])
    features = torch.full((6, 4), value).requires_grad_()
    loss = contrastive_loss(features, batch, 0.01, negatives)
    counts = {"other-classes": (4, 2, 2), "other-rows": (4, 4, 4)}[negatives]
    assert loss.item() == pytest.approx(sum(log(1 + count) for count in counts) / 3, rel=1e-5)
    loss.backward()
    assert features.grad.isfinite().all()


def test_gradients_pull_matches_together_and_push_negatives_away(make_batch):
    batch = make_batch([[0, 0], [1, 1]])
    features = torch.tensor([[1.0, 0.0], [0.6, -0.8], [0.8, 0.6], [0.0, -1.0]]).requires_grad_()
    for _ in range(50):
        (gradient,) = torch.autograd.grad(contrastive_loss(features, batch, 0.5, "other-classes"), features)
        features = (features - 0.5 * gradient).detach().requires_grad_()
    similar = torch.nn.functional.normalize(features.detach(), dim=1)
    similar = similar @ similar.T
    assert min(similar[0, 2], similar[1, 3]) > 0.98
    assert max(similar[0, 1], similar[0, 3], similar[2, 1], similar[2, 3]) < -0.9


def build(**values):
    return Contrastive(ContrastiveSettings(**values))


@pytest.mark.parametrize("layer", ["representation", "logits"])
def test_the_loss_is_of_the_chosen_layer(make_batch, grid, with_features, clock, layer):
    batch = make_batch(grid)
    network = with_features(torch.randn(len(batch.labels), 5), classes=3)
    loss = build(layer=layer, temperature=0.2).loss(network, batch, clock)
    expected = contrastive_loss(network(batch.inputs).at(layer), batch, 0.2, "other-classes")
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.terms["contrastive"], expected.detach())
    assert not loss.terms["contrastive"].requires_grad


def test_gradients_reach_the_representation_and_not_the_classifier(make_batch, grid, clock):
    torch.manual_seed(0)
    network = NETWORKS["slab"](width=6).build((2,), 3)
    build().loss(network, make_batch(grid), clock).total.backward()
    assert all(parameter.grad.any() for parameter in network.featurizer.parameters())
    assert all(parameter.grad is None for parameter in network.classifier.parameters())


def test_points_of_the_same_class_repel_from_the_stated_epoch_on():
    method = build(negatives="other-rows", negatives_from=2)
    assert [method.negatives(Clock(0, epoch, 5)) for epoch in range(4)] == [KINDS[0], KINDS[0], KINDS[1], KINDS[1]]
    assert build(negatives_from=0).negatives(Clock(0, 0, 5)) == KINDS[0]


def test_the_warm_up_weighs_the_loss_and_not_the_term(make_batch, with_features):
    batch = make_batch(COMPLETE)
    network = with_features(torch.randn(len(batch.labels), 5), classes=3)
    losses = [build(warm_up=1.0).loss(network, batch, Clock(0, epoch, 4)) for epoch in range(4)]
    term = losses[0].terms["contrastive"]
    for epoch, loss in enumerate(losses):
        torch.testing.assert_close(loss.terms["contrastive"], term)
        torch.testing.assert_close(loss.total, term * (epoch + 1) / 4)


@pytest.mark.parametrize(
    "values", [{"temperature": 0.0}, {"negatives": "everything"}, {"negatives_from": -1}, {"layer": "hidden"}]
)
def test_wrong_settings_are_named(values):
    (key,) = values
    with pytest.raises(InputError, match=rf"method\.{key}"):
        ContrastiveSettings.parse(values, "method")


def test_phase_1_learns_matches_by_nearest_matching():
    spec = PHASE1_METHODS["contrastive"]
    assert (spec.learns, spec.matcher, spec.phase1) == ("matches", "nearest", None)
    assert isinstance(spec.build(spec.settings(), None, 3), Contrastive)
