"""`TermMeans`: the means of an epoch's terms, against all of its inputs at once."""

import math

import pytest
import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from matchdg.methods import Batch, DomainLoss, Parts, Product, Pull
from matchdg.training.terms import FLUSH, TermMeans

SOURCES = ("a", "b", "c")
CLASSES = 2


@pytest.fixture
def terms():
    return TermMeans(Fabric(accelerator="cpu", devices=1))


def domain_loss(rows, random, absent=()):
    """A batch of random labels and logits; in some cells and in the columns of `absent` there is no input."""
    present = torch.rand(len(SOURCES), rows, generator=random) < 0.8
    present[list(absent)] = False
    cells = present.flatten().nonzero().flatten()
    labels = torch.randint(CLASSES, (len(cells),), generator=random)
    batch = Batch(torch.zeros(len(cells), 1), labels, rows, len(SOURCES), CLASSES, cells)
    return DomainLoss(batch, torch.randn(len(cells), CLASSES, generator=random))


def steps_of(count, absent=()):
    """So many steps, of one to five rows."""
    random = torch.Generator().manual_seed(0)
    return [domain_loss(1 + step % 5, random, absent) for step in range(count)]


def mean_over_all(steps, column):
    logits = torch.cat([step.logits[step.domains == column] for step in steps])
    labels = torch.cat([step.labels[step.domains == column] for step in steps])
    return cross_entropy(logits.double(), labels).item()


def test_scalars_have_their_mean_over_steps(terms):
    for loss, match in [(1.0, 5.0), (2.0, 7.0), (6.0, 0.0)]:
        terms.add("loss", torch.tensor(loss))
        terms.add("match", torch.tensor(match))
    assert terms.means(SOURCES) == {"loss": 3.0, "match": 4.0}


def test_a_term_that_is_not_in_every_step_has_its_mean_over_those_that_it_is_in(terms):
    terms.add("loss", torch.tensor(1.0))
    for value in (1.0, 2.0, 6.0):
        terms.add("domain", torch.tensor(value))
    assert terms.means(SOURCES) == {"loss": 1.0, "domain": 3.0}


def test_a_share_weighs_a_scalar(terms):
    terms.add("match", torch.tensor(3.0), share=0.5)
    terms.add("match", torch.tensor(3.0), share=1.5)
    terms.add("match", torch.tensor(6.0))
    assert terms.means(SOURCES)["match"] == pytest.approx((1.5 + 4.5 + 6.0) / 3)


def test_the_parts_of_two_processes_make_the_mean_of_the_whole():
    """Of batches of three rows the first process has two and the second one: shares of 4/3 and 2/3."""
    rows = torch.tensor([[1.0, 2.0, 9.0], [0.0, 4.0, 5.0]])
    parts = []
    for own, share in ((rows[:, :2], 4 / 3), (rows[:, 2:], 2 / 3)):
        means = TermMeans(Fabric(accelerator="cpu", devices=1))
        for step in own:
            means.add("match", step.mean(), share)
        parts.append(means.means(SOURCES)["match"])
    assert sum(parts) / 2 == pytest.approx(rows.mean().item())


@pytest.mark.parametrize("count", [1, FLUSH - 1, FLUSH, FLUSH + 1, 2 * FLUSH + 7])
def test_per_domain_it_is_the_mean_over_all_inputs(terms, count):
    steps = steps_of(count)
    for step in steps:
        terms.add("classification", step)
    means = terms.means(SOURCES)["classification"]
    assert means == {name: pytest.approx(mean_over_all(steps, k), rel=1e-5) for k, name in enumerate(SOURCES)}


def test_a_share_does_not_weigh_what_counts_its_inputs_itself(terms):
    first, second = steps_of(2)
    terms.add("classification", first, share=1.5)
    terms.add("classification", second, share=0.5)
    means = terms.means(SOURCES)["classification"]
    assert means == {name: pytest.approx(mean_over_all([first, second], k), rel=1e-5) for k, name in enumerate(SOURCES)}


@pytest.mark.parametrize("count", [1, FLUSH, FLUSH + 1])
def test_a_domain_that_never_appears_has_no_mean(terms, count):
    steps = steps_of(count, absent=[1])
    for step in steps:
        terms.add("classification", step)
    means = terms.means(SOURCES)["classification"]
    assert list(means) == list(SOURCES)
    assert math.isnan(means["b"])
    for k in (0, 2):
        assert means[SOURCES[k]] == pytest.approx(mean_over_all(steps, k), rel=1e-5)


def test_a_domain_that_appears_late_has_its_mean_over_those_steps(terms):
    without, steps = steps_of(FLUSH + 1, absent=[1]), steps_of(5)
    for step in without + steps:
        terms.add("classification", step)
    assert terms.means(SOURCES)["classification"]["b"] == pytest.approx(mean_over_all(steps, 1), rel=1e-5)


def test_terms_are_kept_apart(terms):
    steps = steps_of(FLUSH + 3)
    for step in steps:
        terms.add("classification", step)
        terms.add("match", torch.tensor(2.0))
    for step in steps[:3]:
        terms.add("other", step)
    means = terms.means(SOURCES)
    assert set(means) == {"classification", "match", "other"}
    assert means["match"] == 2.0
    assert means["classification"]["a"] == pytest.approx(mean_over_all(steps, 0), rel=1e-5)
    assert means["other"]["a"] == pytest.approx(mean_over_all(steps[:3], 0), rel=1e-5)


def test_no_more_than_so_many_steps_are_held(terms):
    held = []
    for step in steps_of(2 * FLUSH + 1):
        terms.add("classification", step)
        held.append(len(terms.domains["classification"]))
    assert max(held) < FLUSH
    assert held[-1] == 1


def test_means_can_be_read_again_and_added_to(terms):
    steps = steps_of(FLUSH + 5)
    for step in steps[:3]:
        terms.add("classification", step)
    assert terms.means(SOURCES)["classification"] == terms.means(SOURCES)["classification"]
    for step in steps[3:]:
        terms.add("classification", step)
    assert terms.means(SOURCES)["classification"]["c"] == pytest.approx(mean_over_all(steps, 2), rel=1e-5)


def test_there_are_the_terms_that_were_added(terms):
    assert terms.means(SOURCES) == {}
    terms.add("domain", torch.tensor(2.0))
    means = terms.means(SOURCES)
    assert means == {"domain": 2.0}


def test_a_loss_that_diverged_is_not_hidden(terms):
    terms.add("loss", torch.tensor(1.0))
    terms.add("loss", torch.tensor(math.nan))
    assert math.isnan(terms.means(SOURCES)["loss"])


@pytest.mark.parametrize("count", [3, FLUSH, 2 * FLUSH + 5])
def test_products_have_the_mean_that_they_would_have_one_by_one(terms, count):
    random = torch.Generator().manual_seed(0)
    sides = [torch.randn(2, 4 + step % 2, 3, generator=random) for step in range(count)]
    for left, right in sides:
        terms.add("match", Product(left, right, 0.5))
    expected = sum(0.5 * float((left * right).sum()) for left, right in sides) / count
    assert terms.means(SOURCES) == {"match": pytest.approx(expected, rel=1e-4, abs=1e-5)}
    assert terms.means(SOURCES) == {"match": pytest.approx(expected, rel=1e-4, abs=1e-5)}


def test_the_loss_is_the_sum_of_both_its_parts(terms):
    for value, factor in ((1.0, 2.0), (3.0, 2.0)):
        features = torch.tensor([1.0, 2.0])
        pull = Pull(features.clone().requires_grad_(), features, torch.tensor([3.0, value]), factor)
        terms.add_loss(Parts(torch.tensor(value), {}, pull))
    assert terms.means(SOURCES)["loss"] == pytest.approx(2.0 + 2 * (5 + 9) / 2)
