import pytest
import torch
from torch import nn

from matchdg.data import DomainDataset
from matchdg.matching import MatchTable
from matchdg.methods import METHODS, Clock
from matchdg.networks import Network
from matchdg.training.evaluate import batch_of, evaluate, matched_objective, mean_of, predict_classes
from matchdg.training.objective import Objective


class Sign(nn.Module):
    """Logit 0 for class 0, the input for class 1."""

    def forward(self, inputs):
        return inputs


def sign_objective(method: str = "erm", **settings) -> Objective:
    classifier = nn.Linear(1, 2)
    with torch.no_grad():
        classifier.weight.copy_(torch.tensor([[0.0], [1.0]]))
        classifier.bias.zero_()
    network = Network(nn.Identity(), nn.Identity(), classifier, 1)
    spec = METHODS[method]
    return Objective(network, spec.build(spec.settings(**settings), network, 2))


def test_accuracy_and_loss_per_domain_by_hand():
    data = DomainDataset.from_arrays([[1.0], [-1.0], [1.0], [2.0]], [1, 1, 0, 1], ["a", "a", "b", "b"])
    scores = evaluate(sign_objective(), data)
    assert scores["a"]["accuracy"] == 0.5
    assert scores["b"]["accuracy"] == 0.5
    expected = torch.nn.functional.softplus(torch.tensor([-1.0, 1.0])).mean()
    assert scores["a"]["loss"] == pytest.approx(float(expected))


@pytest.mark.parametrize("batch", [1, 3, 4096])
def test_the_batch_size_does_not_matter(batch):
    torch.manual_seed(0)
    data = DomainDataset.from_arrays(torch.randn(20, 1), torch.arange(20) % 2, torch.arange(20) % 3)
    whole, parts = evaluate(sign_objective(), data), evaluate(sign_objective(), data, batch=batch)
    for name in whole:
        assert parts[name] == pytest.approx(whole[name])


def test_a_domain_without_inputs_is_left_out():
    data = DomainDataset(
        torch.ones(1, 1),
        torch.zeros(1, dtype=torch.long),
        torch.zeros(1, dtype=torch.long),
        None,
        ("0", "1"),
        ("a", "b"),
    )
    assert list(evaluate(sign_objective(), data)) == ["a"]


def test_evaluation_is_in_eval_mode_and_leaves_batch_norm_alone():
    network = Network(nn.BatchNorm1d(1), nn.Dropout(0.9), nn.Linear(1, 2), 1)
    objective = Objective(network, METHODS["erm"].build(METHODS["erm"].settings(), network, 2)).train()
    before = {key: value.clone() for key, value in objective.state_dict().items()}
    data = DomainDataset.from_arrays(torch.randn(50, 1) + 7, torch.arange(50) % 2, torch.zeros(50, dtype=torch.long))
    first, second = evaluate(objective, data), evaluate(objective, data)
    assert first == second
    assert objective.training
    assert all(torch.equal(before[key], value) for key, value in objective.state_dict().items())


def test_the_matched_objective_is_loss_plus_penalty_by_hand():
    objective = sign_objective("perfmatch", penalty=0.5, layer="representation")
    data = DomainDataset.from_arrays([[1.0], [3.0]], [1, 1], ["a", "b"])
    table = MatchTable(torch.tensor([[0, 1]]), torch.tensor([0]))
    losses = torch.nn.functional.softplus(-torch.tensor([1.0, 3.0])).mean()
    value = matched_objective(objective, data, table, Clock(0, 0, 1), 8)
    assert value == pytest.approx(float(losses) + 0.5 * (3.0 - 1.0) ** 2)


def test_the_mean_counts_domains_alike():
    assert mean_of({"a": {"accuracy": 1.0}, "b": {"accuracy": 0.5}}, "accuracy") == 0.75


def test_predicted_classes():
    assert predict_classes(sign_objective(), torch.tensor([[2.0], [-2.0]])).tolist() == [1, 0]


def test_large_inputs_are_passed_a_few_at_a_time():
    assert batch_of((1, 48, 48), 1024) == 1024
    assert batch_of((3, 128, 128), 1024) == 170
    assert batch_of((3, 4096, 4096), 1024) == 1
