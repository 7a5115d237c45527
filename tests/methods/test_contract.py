"""What every member of `METHODS` promises, and of `PHASE1_METHODS` with it."""

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from sklearn.model_selection import ParameterGrid
from torch.nn.functional import cross_entropy

import matchdg
from matchdg.core.settings import Settings
from matchdg.matching import MATCHERS
from matchdg.methods import METHODS, PHASE1_METHODS, Clock, DomainLoss, Product
from matchdg.networks import NETWORKS
from matchdg.training.objective import Objective

SHAPES = {
    "slab": (2,),
    "resnet18": (1, 32, 32),
    "resnet50": (1, 16, 16),
    "lenet": (1, 12, 12),
    "domainbed-cnn": (1, 8, 8),
    "small-cnn": (1, 16, 16),
    "frozen": (5,),
    "efficientnet-lite0": (1, 32, 32),
    "alexnet": (1, 63, 63),
    "densenet121": (1, 29, 29),
    "timm": (1, 16, 16),
}
DOMAINS, CLASSES = 3, 3
EVERY = {**METHODS, **PHASE1_METHODS}
ADVERSARIAL = [name for name, spec in METHODS.items() if spec.adversarial]
WITH_PENALTY = [name for name, spec in METHODS.items() if "penalty" in spec.settings.model_fields]
PAPER = Path(__file__).parents[2].parent / "shared" / "paper" / "hyperparameters.json"
RESULTS = Path(matchdg.__file__).parent / "experiments" / "paper" / "results.json"


@cache
def built(network):
    """The network of seed 0, made once: ResNet-50 takes longer to initialise than to train a step."""
    torch.manual_seed(0)
    return NETWORKS[network]().build(SHAPES[network], CLASSES)


def build(name, network="slab", **settings):
    fresh = deepcopy(built(network))
    torch.manual_seed(0)
    spec = EVERY[name]
    return Objective(fresh, spec.build(spec.settings(**settings), fresh, DOMAINS))


def at_turn(objective, turn, start=0):
    """The first step from `start` on that is `turn`'s, at the end of training, where every penalty is on."""
    step = next(step for step in range(start, 100) if objective.method.turn(step) == turn)
    return Clock(step, epoch=99, epochs=100)


def check_terms(terms):
    """Scalars and per-domain losses, all finite, and none that keeps the graph of its step."""
    for name, term in terms.items():
        if isinstance(term, DomainLoss):
            assert term.value.shape == (DOMAINS,), name
            assert term.value.isfinite().all(), name
            assert not term.logits.requires_grad, name
        else:
            value = term.value if isinstance(term, Product) else term
            assert value.shape == (), name
            assert value.isfinite(), name
            assert not value.requires_grad, name


def network_gradients(name, batch, **settings):
    objective = build(name, **settings)
    total, _ = objective(batch, at_turn(objective, "network"))
    parameters = list(objective.network.parameters())
    return torch.autograd.grad(total, parameters)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_network_s_turn(name, network, make_batch, grid):
    batch = make_batch(grid, CLASSES, SHAPES[network])
    objective = build(name, network)
    total, terms = objective(batch, at_turn(objective, "network"))
    assert total.shape == ()
    assert total.isfinite()
    assert isinstance(terms["classification"], DomainLoss)
    check_terms(terms)
    total.backward()
    for key, parameter in objective.network.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.any(), key
    for parameter in objective.parameter_groups()["network"]:
        assert parameter.grad is not None


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("turn", ["network", "adversary"])
def test_a_loss_in_parts_has_the_value_and_the_gradients_of_the_whole(name, turn, make_batch, grid):
    batch = make_batch(grid, CLASSES, SHAPES["slab"])
    if turn == "adversary" and not EVERY[name].adversarial:
        return
    found = []
    for whole in (True, False):
        objective = build(name)
        clock = at_turn(objective, turn)
        if whole:
            value = objective.method.loss(objective.network, batch, clock).total
            value.backward()
        else:
            parts = objective.method.parts(objective.network, batch, clock)
            value = parts.whole().total
            parts.backward()
        found.append((value.detach(), [parameter.grad for parameter in objective.parameters()]))
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("name", PHASE1_METHODS)
@pytest.mark.parametrize("network", NETWORKS)
def test_phase_1_trains_the_representation_alone(name, network, make_batch, grid):
    batch = make_batch(grid, CLASSES, SHAPES[network])
    objective = build(name, network)
    total, terms = objective(batch, at_turn(objective, "network"))
    assert total.isfinite()
    check_terms(terms)
    total.backward()
    for key, parameter in objective.network.featurizer.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.any(), key
    assert all(parameter.grad is None for parameter in objective.network.classifier.parameters())


@pytest.mark.parametrize("name", EVERY)
def test_an_extra_part_adds_its_cross_entropy(name, make_batch, grid):
    batch, other = make_batch(grid, CLASSES), make_batch([[0, 1, 2]], CLASSES, seed=1)
    objective = build(name)
    clock = at_turn(objective, "network")
    alone = objective(batch, clock)
    total, terms = objective(replace(batch, extra=(other.inputs, other.labels)), clock)
    extra = cross_entropy(objective.network(other.inputs).logits, other.labels)
    torch.testing.assert_close(total, alone.total + extra)
    assert set(terms) == {*alone.terms, "extra"}
    torch.testing.assert_close(terms["extra"], extra.detach())
    check_terms(terms)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_the_adversary_s_turn_skips_an_extra_part(name, make_batch, grid):
    batch, other = make_batch(grid, CLASSES), make_batch([[0, 1, 2]], CLASSES, seed=1)
    objective = build(name)
    clock = at_turn(objective, "adversary")
    total, terms = objective(replace(batch, extra=(other.inputs, other.labels)), clock)
    assert "extra" not in terms
    torch.testing.assert_close(total, objective(batch, clock).total)


@pytest.mark.parametrize("name", EVERY)
def test_everyone_with_parameters_has_a_turn(name):
    objective = build(name)
    assert {objective.method.turn(step) for step in range(20)} == set(objective.parameter_groups())


@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_adversary_s_turn(name, network, make_batch, grid):
    batch = make_batch(grid, CLASSES, SHAPES[network])
    objective = build(name, network)
    groups = objective.parameter_groups()
    total, terms = objective(batch, at_turn(objective, "adversary"))
    assert total.isfinite()
    check_terms(terms)
    total.backward()
    assert all(parameter.grad.isfinite().all() for parameter in groups["adversary"])
    assert all(parameter.grad is None for parameter in groups["network"])


@pytest.mark.parametrize("name", METHODS)
def test_a_domain_that_a_batch_lacks_spoils_no_gradient(name, make_batch):
    batch = make_batch([[0, None, 1], [2, None, None], [1, None, 1]], CLASSES)
    objective = build(name)
    total, terms = objective(batch, at_turn(objective, "network"))
    total.backward()
    assert total.isfinite()
    assert terms.pop("classification").value.isnan().tolist() == [False, True, False]
    check_terms(terms)
    assert all(p.grad.isfinite().all() for p in objective.network.parameters())


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_of_one_input_per_row_spoils_no_gradient(name, make_batch):
    """No row has a match: nothing is penalised, and nothing is divided by zero."""
    batch = make_batch([[0, None, None], [1, None, None], [2, None, None]], CLASSES)
    objective = build(name)
    total, _ = objective(batch, at_turn(objective, "network"))
    total.backward()
    assert total.isfinite()
    assert all(p.grad.isfinite().all() for p in objective.network.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", EVERY)
def test_a_gradient_step_lowers_the_loss(name, make_batch, grid):
    # In double precision: MMD's narrowest kernels round more than a small step changes.
    batch = make_batch(grid, CLASSES)
    batch.inputs = batch.inputs.double()
    objective = build(name).double()
    clock = at_turn(objective, "network")
    parameters = objective.parameter_groups()["network"]
    before, _ = objective(batch, clock)
    gradients = torch.autograd.grad(before, parameters, materialize_grads=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.data -= 1e-4 * gradient
    assert objective(batch, clock)[0] < before


@pytest.mark.parametrize("name", EVERY)
def test_the_order_of_the_rows_does_not_matter(name, make_batch):
    labels = [[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]]
    batch, order = make_batch(labels, CLASSES), [2, 0, 3, 1]
    other = make_batch([labels[row] for row in order], CLASSES)
    other.inputs = batch.grid(batch.inputs)[order].transpose(0, 1).flatten(0, 1)
    objective = build(name)
    clock = at_turn(objective, "network")
    torch.testing.assert_close(objective(batch, clock)[0], objective(other, clock)[0])


@pytest.mark.parametrize("name", WITH_PENALTY)
def test_with_a_penalty_of_zero_the_gradient_is_erm_s(name, make_batch, grid):
    batch = make_batch(grid, CLASSES)
    ours = network_gradients(name, batch, penalty=0.0)
    torch.testing.assert_close(ours, network_gradients("erm", batch))


@pytest.mark.parametrize("name", WITH_PENALTY)
def test_with_a_penalty_the_gradient_is_another_one(name, make_batch, grid):
    batch = make_batch(grid, CLASSES)
    pairs = zip(network_gradients(name, batch, penalty=10.0), network_gradients("erm", batch), strict=True)
    assert any(not torch.allclose(ours, erm) for ours, erm in pairs)


@pytest.mark.parametrize("name", EVERY)
def test_the_parameter_groups_hold_every_parameter_once(name):
    objective = build(name)
    grouped = [id(p) for group in objective.parameter_groups().values() for p in group]
    assert sorted(grouped) == sorted(id(p) for p in objective.parameters())


@pytest.mark.parametrize("name", EVERY)
def test_a_method_with_an_adversary_says_so(name):
    assert EVERY[name].adversarial == (build(name).method.adversary is not None)


@pytest.mark.parametrize("name", EVERY)
class TestSpec:
    def test_it_says_what_it_is(self, name):
        spec = EVERY[name]
        assert spec.label
        assert spec.reference
        assert spec.matcher in MATCHERS

    def test_the_settings_have_help_and_read_back(self, name):
        cls = EVERY[name].settings
        assert issubclass(cls, Settings)
        assert cls.__doc__ != Settings.__doc__
        assert all(field.description for field in cls.model_fields.values())
        assert cls.parse(cls().dump(), "method") == cls()

    def test_the_search_grids_are_valid_settings(self, name):
        spec = EVERY[name]
        for grid in spec.search.values():
            for values in ParameterGrid({key: list(choices) for key, choices in grid.items()}):
                assert spec.settings.parse(values, "method").model_dump(include=set(values)) == values


@pytest.fixture(scope="module")
def paper():
    if not PAPER.exists():
        pytest.skip("the paper's hyper-parameters as data lie beside the repository, and are not here")
    tables = {table["id"]: table for table in json.loads(PAPER.read_text())["tables"]}
    assert {"slab_methods", "all_datasets", "pacs_per_test_domain"} <= set(tables)
    return tables


def by_label(label):
    return next(spec for spec in METHODS.values() if spec.label == label)


class TestPaper:
    def test_the_slab_grids_are_those_of_table_7(self, paper):
        names = {"lambda": "penalty"}
        expected = {}
        for entry in paper["slab_methods"]["entries"]:
            key = names.get(entry["hyperparameter"], entry["hyperparameter"])
            expected.setdefault(entry["method"], {})[key] = tuple(entry["range"])
        assert {label: dict(by_label(label).search["slab"]) for label in expected} == expected

    def test_the_other_grids_are_those_of_table_8(self, paper):
        settings = {
            "match_penalty": [("RandMatch", "penalty"), ("PerfMatch", "penalty")],
            "irm_penalty": [("IRM", "penalty")],
            "irm_threshold": [("IRM", "start_epoch")],
        }
        found = 0
        for entry in paper["all_datasets"]["entries"]:
            experiment = entry["setting"].replace("_", "-")
            experiment = "rotated-mnist" if experiment.startswith("rotated-mnist") else experiment
            for label, key in settings.get(entry["hyperparameter"], []):
                assert by_label(label).search[experiment][key] == tuple(entry["range"]), (label, experiment)
                found += 1
        assert found == 14

    def test_the_pacs_grid_is_that_of_table_10_and_holds_every_value_that_was_best(self, paper):
        table = paper["pacs_per_test_domain"]
        grid = by_label("RandMatch").search["pacs"]["penalty"]
        assert grid == tuple(table["range"]["match_penalty"])
        best = [e["optimal"]["RandMatch"] for e in table["entries"] if e["hyperparameter"] == "match_penalty"]
        assert best
        assert set(best) <= set(grid)


def paper_methods(*tables):
    """The names of methods in the paper's results, of all tables or of some."""
    results = json.loads(RESULTS.read_text())
    return {row["method"] for table in results if not tables or table["id"] in tables for row in table["rows"]}


@pytest.mark.parametrize("name", METHODS)
def test_the_label_is_written_as_in_the_paper(name):
    plain = {printed.casefold().replace("-", ""): printed for printed in paper_methods()}
    label = METHODS[name].label
    assert plain.get(label.casefold().replace("-", ""), label) == label


def test_every_method_of_the_slab_table_is_here():
    assert paper_methods("slab") <= {spec.label for spec in METHODS.values()}


def test_labels_are_different():
    labels = [spec.label for spec in METHODS.values()]
    assert len(set(labels)) == len(labels)
