"""Mixed precision is for the network's passes: what methods compute of their results is in full precision."""

import pytest
import torch
from lightning_fabric import Fabric

from matchdg.methods import METHODS, Clock
from matchdg.methods.batch import Batch
from matchdg.networks import NETWORKS
from matchdg.training.objective import Objective

NAMES = [name for name, spec in METHODS.items() if not spec.adversarial and name != "masf"]


@pytest.fixture
def batch(tiny):
    return Batch.gather(tiny, torch.tensor([[0, 3], [1, 4], [2, 5]]), complete=True)


def objective_of(name):
    torch.manual_seed(0)
    network = NETWORKS["slab"](width=8).build((1,), 2)
    return Objective(network, METHODS[name].build(METHODS[name].settings(), network, 2))


@pytest.mark.parametrize("name", NAMES)
def test_terms_are_those_of_the_network_s_outputs_in_single_precision(name, batch):
    objective = objective_of(name)
    mixed = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed").setup(objective)
    found = mixed(batch, Clock(9, 9, 10))
    with objective.network.mixed(torch.bfloat16):
        expected = objective.method.loss(objective.network, batch, Clock(9, 9, 10))
    torch.testing.assert_close(found.total, expected.total, rtol=1e-6, atol=1e-7)
    for key, term in expected.terms.items():
        own = found.terms[key]
        if isinstance(term, torch.Tensor):
            torch.testing.assert_close(own, term, rtol=1e-6, atol=1e-7)


def test_outputs_are_single_precision_and_the_passes_are_rounded(batch):
    network = objective_of("erm").network
    exact = network(batch.inputs)
    with network.mixed(torch.bfloat16):
        rounded = network(batch.inputs)
    assert {layer.dtype for layer in rounded} == {torch.float32}
    assert torch.equal(rounded.representation, rounded.representation.bfloat16().float())
    assert not torch.equal(rounded.logits, rounded.logits.bfloat16().float())
    torch.testing.assert_close(rounded.logits, exact.logits, rtol=0.05, atol=0.05)


def test_evaluation_is_in_single_precision_after_a_mixed_step(batch):
    objective = objective_of("erm")
    before = objective.network(batch.inputs).logits
    Fabric(accelerator="cpu", devices=1, precision="bf16-mixed").setup(objective)(batch, Clock(0, 0, 1))
    assert torch.equal(objective.network(batch.inputs).logits, before)
