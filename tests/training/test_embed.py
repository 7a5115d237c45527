"""`embed`: features for matching, by running statistics or those of a domain or cell, with no trace in the network."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from matchdg.data import DomainDataset
from matchdg.networks import Network
from matchdg.training.embed import batch_statistics, embed

KINDS = ("running", "domain", "cell")
CLASSES, DOMAINS = 2, 3


def build_network(dropout=0.0):
    """A linear layer, BatchNorm that has seen other data, dropout, and a classifier."""
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(4)
    featurizer = nn.Sequential(nn.Linear(3, 4), norm, nn.ReLU(), nn.Dropout(dropout))
    network = Network(featurizer, nn.Identity(), nn.Linear(4, CLASSES), 4)
    for _ in range(3):
        network.train()(torch.randn(50, 3) * 2 - 1)
    return network


@pytest.fixture
def data():
    """29 inputs in random order, shifted by their domain and class, cells of 2 to 8."""
    random = torch.Generator().manual_seed(1)
    labels = torch.randint(CLASSES, (29,), generator=random)
    domains = torch.randint(DOMAINS, (29,), generator=random)
    inputs = torch.randn(29, 3, generator=random) + 4 * domains[:, None] - 2 * labels[:, None]
    return DomainDataset.from_arrays(inputs, labels, domains)


def by_hand(network, data, cells, layer="representation"):
    """The outputs in train mode, on the inputs of one cell at a time."""
    network = deepcopy(network).train()
    found = torch.zeros(len(data), network.size(layer))
    for cell in cells.unique():
        inside = cells == cell
        found[inside] = network(data.inputs[inside]).at(layer).detach()
    return found


@pytest.mark.parametrize("layer", ["representation", "logits"])
def test_running_statistics_are_those_of_evaluation(data, layer):
    network = build_network()
    expected = deepcopy(network).eval()(data.inputs).at(layer)
    torch.testing.assert_close(embed(network, data, layer, "running"), expected.detach())


@pytest.mark.parametrize("layer", ["representation", "logits"])
@pytest.mark.parametrize("statistics", ["domain", "cell"])
def test_statistics_of_a_domain_or_cell_are_those_of_a_training_pass_over_it(data, layer, statistics):
    network = build_network()
    cells = data.domains if statistics == "domain" else data.domains * CLASSES + data.labels
    features = embed(network, data, layer, statistics)
    torch.testing.assert_close(features, by_hand(network, data, cells, layer))
    assert not torch.allclose(features, embed(network, data, layer, "running"), atol=0.1)


def test_a_domain_that_exceeds_a_batch_is_cut_into_nearly_equal_parts():
    random = torch.Generator().manual_seed(2)
    data = DomainDataset.from_arrays(torch.randn(17, 3, generator=random), [0] * 17, [0] * 10 + [1] * 7)
    network, seen = build_network(), []
    network.featurizer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    found = embed(network, data, "representation", "domain", batch=4)
    assert [len(part) for part in seen] == [4, 3, 3, 4, 3]
    places = [(part[:, None] == data.inputs).all(2).nonzero()[:, 1] for part in seen]
    assert torch.cat(places).sort().values.tolist() == list(range(17))
    assert torch.cat(places[:3]).tolist() != list(range(10))
    parts = torch.empty(17)
    for number, place in enumerate(places):
        parts[place] = number
    torch.testing.assert_close(found, by_hand(network, data, parts))


def test_the_batch_does_not_matter_to_running_statistics(data):
    network = build_network()
    whole, parts = (embed(network, data, "representation", "running", batch=batch) for batch in (1024, 2))
    torch.testing.assert_close(parts, whole)


@pytest.mark.parametrize("statistics", ["domain", "cell"])
def test_an_input_alone_in_its_cell_has_the_running_statistics(statistics):
    """Its own spread is nothing, so that its features would be the same whatever it is."""
    data = DomainDataset.from_arrays(torch.randn(5, 3), [0] * 5, [0, 0, 0, 0, 1])
    network = build_network()
    features = embed(network, data, "representation", statistics)
    torch.testing.assert_close(features[4:], embed(network, data, "representation", "running")[4:])
    assert not torch.allclose(features[:4], embed(network, data, "representation", "running")[:4])


class Failing(nn.Module):
    """Raises at the second batch."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, inputs):
        self.calls += 1
        if self.calls == 2:
            raise KeyboardInterrupt
        return inputs


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("statistics", KINDS)
def test_no_trace_is_left_in_the_network(data, statistics, training, failing):
    network = build_network().train(training)
    if failing:
        network.featurizer.append(Failing())
    norm = network.featurizer[1]
    running = norm.running_mean, norm.running_var
    before = {key: value.clone() for key, value in network.state_dict().items()}
    if failing:
        with pytest.raises(KeyboardInterrupt):
            embed(network, data, "representation", statistics)
    else:
        assert not embed(network, data, "representation", statistics).requires_grad
    assert norm.running_mean is running[0]
    assert norm.running_var is running[1]
    after = network.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[key]) for key, value in before.items())
    assert int(norm.num_batches_tracked) == 3
    assert all(module.training == training for module in network.modules())
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("statistics", KINDS)
def test_dropout_is_off(data, statistics):
    network = build_network(dropout=0.5)
    first, second = (embed(network, data, "representation", statistics) for _ in range(2))
    assert torch.equal(first, second)
    network.featurizer[-1].p = 0.0
    assert torch.equal(first, embed(network, data, "representation", statistics))


def test_features_are_in_single_precision(data):
    network = build_network().double()
    doubled = DomainDataset(data.inputs.double(), data.labels, data.domains, None, data.class_names, data.domain_names)
    assert embed(network, doubled, "representation", "domain").dtype == torch.float32


@pytest.mark.parametrize("statistics", KINDS)
@pytest.mark.parametrize("world", [2, 5])
def test_processes_share_the_batches_and_find_what_one_does(data, statistics, world):
    """What each process computes, added up by hand; tests/training/test_distributed.py does it with processes."""
    network = build_network()
    parts = []

    class Process:
        world_size = world

        def __init__(self, rank):
            self.global_rank = rank

        def all_reduce(self, features, reduce_op):
            assert reduce_op == "sum"
            parts.append(features)
            return features

    for rank in range(world):
        embed(network, data, "representation", statistics, Process(rank), batch=4)
    assert torch.equal(sum(parts), embed(network, data, "representation", statistics, batch=4))
    computed = torch.stack([part.any(1) for part in parts])
    assert (computed.sum(0) <= 1).all()
    assert (computed.sum(1) < len(data)).all()


def test_statistics_are_restored_where_layers_keep_none():
    module = nn.Sequential(nn.BatchNorm1d(2, track_running_stats=False), nn.BatchNorm1d(2))
    mean = module[1].running_mean
    with batch_statistics(module):
        assert module[1].running_mean is None
    assert module[0].running_mean is None
    assert module[1].running_mean is mean
