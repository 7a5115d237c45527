"""RandMatch and PerfMatch: ERM plus the match distance, on one layer, with a warm-up."""

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.methods import METHODS, Clock
from matchdg.methods.distance import match_distance
from matchdg.methods.match_penalty import MatchPenalty, MatchSettings

NAMES = ("randmatch", "perfmatch")


def build(name, **settings):
    return METHODS[name].build(MatchSettings(**settings), None, 3)


def term(loss):
    """The match distance as it is logged."""
    return loss.terms["match"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layer", ["representation", "logits"])
@pytest.mark.parametrize("distance", ["squared-l2", "cosine"])
def test_the_loss_is_erm_plus_lambda_times_the_distance_of_the_layer(
    name, layer, distance, make_batch, grid, with_features, clock
):
    batch = make_batch(grid)
    network = with_features(torch.randn(len(batch.labels), 5), classes=3)
    loss = build(name, penalty=0.3, layer=layer, distance=distance).loss(network, batch, clock)
    outputs = network(batch.inputs)
    expected = match_distance(batch.grid(outputs.at(layer)), batch.mask, distance)
    erm = METHODS["erm"].build(None, network, 3).loss(network, batch, clock).total
    torch.testing.assert_close(term(loss), expected)
    torch.testing.assert_close(loss.total, erm + 0.3 * expected)


def test_by_hand(make_batch, with_logits, clock):
    # Two matched rows; the logits of the first are at squared distance 2, those of the second are equal.
    logits = torch.tensor([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0], [2.0, 2.0]])
    loss = build("perfmatch").loss(with_logits(logits), make_batch([[0, 0], [1, 1]]), clock)
    assert term(loss).item() == pytest.approx(1.0)


def test_equal_views_have_no_penalty_and_feel_none(make_batch, with_features, clock):
    features = torch.randn(4, 5, dtype=torch.float64).repeat(3, 1).requires_grad_()
    network, batch = with_features(features, classes=2), make_batch([[0] * 3, [1] * 3] * 2)
    loss = build("randmatch", layer="representation").loss(network, batch, clock)
    erm = METHODS["erm"].build(None, network, 3).loss(network, batch, clock)
    assert term(loss).item() == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(loss.total, erm.total)
    torch.testing.assert_close(*(torch.autograd.grad(part.total, features) for part in (loss, erm)))


@pytest.mark.parametrize(
    ("warm_up", "expected"),
    [
        (0.0, [2.0, 2.0, 2.0, 2.0]),
        (0.5, [1.0, 2.0, 2.0, 2.0]),
        (1.0, [0.5, 1.0, 1.5, 2.0]),
    ],
)
def test_the_weight_rises_over_the_warm_up(warm_up, expected):
    method = build("perfmatch", penalty=2.0, warm_up=warm_up)
    assert [method.weight(Clock(0, epoch, 4)) for epoch in range(4)] == expected


def test_the_warm_up_weighs_the_loss_not_the_term(make_batch, with_features):
    batch = make_batch([[0, 0], [1, 1]])
    network = with_features(torch.randn(4, 5), classes=2)
    method = build("perfmatch", penalty=2.0, warm_up=1.0)
    early, late = (method.loss(network, batch, Clock(0, epoch, 4)) for epoch in (0, 3))
    torch.testing.assert_close(term(early), term(late))
    torch.testing.assert_close(late.total - early.total, 1.5 * term(early))


def test_they_differ_in_where_matches_come_from_and_in_nothing_else():
    randmatch, perfmatch = (METHODS[name] for name in NAMES)
    assert (randmatch.matcher, perfmatch.matcher) == ("random", "perfect")
    assert randmatch.settings is perfmatch.settings
    assert randmatch.search == perfmatch.search
    assert type(build("randmatch")) is type(build("perfmatch")) is MatchPenalty


@pytest.mark.parametrize("settings", [{"penalty": -1.0}, {"distance": "l3"}, {"layer": "hidden"}, {"warm_up": 1.5}])
def test_wrong_settings_are_named(settings):
    (key,) = settings
    with pytest.raises(InputError, match=rf"method\.{key}"):
        MatchSettings.parse(settings, "method")
