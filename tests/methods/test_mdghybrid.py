"""MDGHybrid: learnt matches, and two views of each input as one object."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from matchdg.methods import METHODS, Clock
from matchdg.methods.distance import match_distance
from matchdg.methods.matchdg import PHASE1
from matchdg.networks import NETWORKS

GRID = [[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1]]
HOLED = [[0, 0, None], [1, None, 1], [0, 0, 0], [None, 1, 1]]


def build(**settings):
    spec = METHODS["mdghybrid"]
    return spec.build(spec.settings(**settings), None, 3)


@pytest.fixture
def network():
    return NETWORKS["slab"](width=6).build((2,), 2)


def with_views(batch):
    return replace(batch, paired=batch.inputs + 0.3 * torch.randn_like(batch.inputs))


def test_it_is_matchdg_with_views():
    spec = METHODS["mdghybrid"]
    assert (spec.matcher, spec.learns, spec.phase1) == ("learnt", "classes", PHASE1)
    assert spec.build(spec.settings(), None, 3).paired
    assert not any(other.build(other.settings(), None, 3).paired for other in (METHODS["matchdg"], METHODS["erm"]))


@pytest.mark.parametrize("grid", [GRID, HOLED])
@pytest.mark.parametrize("layer", ["representation", "logits"])
@pytest.mark.parametrize("distance", ["squared-l2", "cosine"])
def test_the_loss_is_erm_of_both_views_and_both_weighted_distances(grid, layer, distance, make_batch, network, clock):
    batch = with_views(make_batch(grid))
    loss = build(penalty=0.3, view_penalty=0.7, layer=layer, distance=distance).loss(network, batch, clock)
    first, second = network(batch.inputs), network(batch.paired)
    erm = (cross_entropy(first.logits, batch.labels) + cross_entropy(second.logits, batch.labels)) / 2
    match = match_distance(batch.grid(first.at(layer)), batch.mask, distance)
    view = match_distance(torch.stack([first.at(layer), second.at(layer)], 1), None, distance)
    torch.testing.assert_close(loss.total, erm + 0.3 * match + 0.7 * view)
    torch.testing.assert_close(loss.terms["match"], match)
    torch.testing.assert_close(loss.terms["view"], view)


def test_equal_views_are_at_no_distance(make_batch, network, clock):
    batch = make_batch(GRID)
    loss = build(view_penalty=5.0).loss(network, replace(batch, paired=batch.inputs), clock)
    assert loss.terms["view"] == 0


def test_the_warm_up_is_of_both_weights(make_batch, network):
    batch, method = with_views(make_batch(GRID)), build(penalty=2.0, view_penalty=3.0, warm_up=1.0)
    early, late = (method.loss(network, batch, Clock(0, epoch, 4)) for epoch in (0, 3))
    penalties = 2.0 * late.terms["match"] + 3.0 * late.terms["view"]
    torch.testing.assert_close(late.total - early.total, 0.75 * penalties)


def test_the_gradient_of_its_parts_is_that_of_the_loss(make_batch, network, clock):
    batch, method = with_views(make_batch(GRID)), build()
    method.parts(network, batch, clock).backward()
    found = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    method.loss(network, batch, clock).total.backward()
    for gradient, parameter in zip(found, network.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)


def test_without_views_it_is_the_match_penalty(make_batch, network, clock):
    batch = make_batch(GRID)
    expected = METHODS["perfmatch"].build(METHODS["perfmatch"].settings(penalty=0.3), None, 3)
    torch.testing.assert_close(
        build(penalty=0.3).loss(network, batch, clock).total, expected.loss(network, batch, clock).total
    )
