"""MASF: both meta losses against loops, the inner step by hand, and what reduces it to ERM."""

from copy import deepcopy
from math import log

import pytest
import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from matchdg.methods import METHODS, Clock
from matchdg.methods.masf import MasfSettings, global_loss, hold_out, local_loss, without
from matchdg.networks import NETWORKS
from matchdg.training.objective import Objective

SPEC = METHODS["masf"]
PLAIN = {"global_weight": 0.0, "local_weight": 0.0}
COMPLETE = [[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]]


def build(network="slab", shape=(2,), dtype=torch.float32, **settings):
    torch.manual_seed(0)
    built = NETWORKS[network]().build(shape, 3)
    return Objective(built, SPEC.build(MasfSettings(**settings), built, 3)).to(dtype)


def at(step):
    return Clock(step, epoch=0, epochs=1)


def gradients(objective, batch, step=0):
    total, _ = objective(batch, at(step))
    return torch.autograd.grad(total, list(objective.network.parameters()), allow_unused=True)


def slow_global_loss(logits, batch, held_out, temperature):
    values = []
    for label in range(batch.classes):
        for domain in range(batch.columns):
            groups = [logits[(batch.labels == label) & (batch.domains == d)] for d in (domain, held_out)]
            if domain == held_out or min(len(group) for group in groups) == 0:
                continue
            p, q = ((group.mean(0) / temperature).softmax(0) for group in groups)
            values.append(((p * (p / q).log()).sum() + (q * (q / p).log()).sum()) / 2)
    return torch.stack(values).mean()


def slow_local_loss(embeddings, labels, margin):
    values = []
    for a in range(len(labels)):
        negatives = [
            (embeddings[a] - embeddings[n]).square().sum() for n in range(len(labels)) if labels[n] != labels[a]
        ]
        for p in range(len(labels)):
            if p == a or labels[p] != labels[a] or not negatives:
                continue
            near = (embeddings[a] - embeddings[p]).square().sum()
            farther = [distance for distance in negatives if distance > near]
            values.append((margin + near - (min(farther) if farther else max(negatives))).clamp(min=0))
    return torch.stack(values).mean()


class TestGlobalLoss:
    def test_by_hand(self, make_batch):
        # Class 0 has mean logits (2 log 3, 0) in domain 0 and (0, 0) in domain 1: at temperature 2, shares of
        # (3/4, 1/4) and (1/2, 1/2), so half of 1/4 log(3/2) + 1/4 log 2. Class 1 is alike in both.
        batch = make_batch([[0, 0], [0, 0], [1, 1]])
        logits = torch.tensor([[4 * log(3), 0], [0, 0], [1, 2], [5, 5], [-5, -5], [1, 2]])
        assert global_loss(logits, batch, 1, temperature=2.0).item() == pytest.approx(log(3) / 8 / 2)

    @pytest.mark.parametrize("held_out", [0, 1, 2])
    def test_it_is_the_loop_over_classes_and_domains(self, make_batch, grid, held_out):
        batch = make_batch(grid, 3)
        logits = torch.randn(len(batch.labels), 3, dtype=torch.float64, requires_grad=True)
        ours, slow = (loss(logits, batch, held_out, 1.5) for loss in (global_loss, slow_global_loss))
        torch.testing.assert_close(ours, slow)
        torch.testing.assert_close(torch.autograd.grad(ours, logits), torch.autograd.grad(slow, logits))

    @pytest.mark.parametrize("grid", [[[0, None], [1, None]], [[0, 1], [0, 1]]])
    def test_without_a_class_in_two_domains_it_is_zero(self, make_batch, grid):
        batch = make_batch(grid, 3)
        logits = torch.randn(len(batch.labels), 3, requires_grad=True)
        loss = global_loss(logits, batch, 0, temperature=2.0)
        assert loss.item() == 0
        assert not torch.autograd.grad(loss, logits)[0].any()


class TestLocalLoss:
    def test_by_hand(self):
        # From 0: its like at 1, and 4 is the nearest that is farther: 5 + 1 - 4 = 2. From 1: 16, not the tie 1: none.
        # From 2: its like at 9, and none is farther, so the farthest, 4: 10. From 5: 16: none.
        embeddings = torch.tensor([[0.0], [1.0], [2.0], [5.0]])
        labels = torch.tensor([0, 0, 1, 1])
        assert local_loss(embeddings, labels, margin=5.0).item() == pytest.approx((2 + 0 + 10 + 0) / 4)

    @pytest.mark.parametrize("seed", range(5))
    def test_it_is_the_loop_over_triplets(self, seed):
        random = torch.Generator().manual_seed(seed)
        labels = torch.randint(4, (12,), generator=random)
        embeddings = torch.randn(12, 3, generator=random, dtype=torch.float64).requires_grad_()
        ours, slow = (loss(embeddings, labels, 2.0) for loss in (local_loss, slow_local_loss))
        torch.testing.assert_close(ours, slow)
        torch.testing.assert_close(torch.autograd.grad(ours, embeddings), torch.autograd.grad(slow, embeddings))

    @pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2], [0]])
    def test_without_a_triplet_it_is_zero(self, labels):
        embeddings = torch.randn(len(labels), 4, requires_grad=True)
        loss = local_loss(embeddings, torch.tensor(labels), margin=10.0)
        assert loss.item() == 0
        assert not torch.autograd.grad(loss, embeddings)[0].any()

    def test_identical_inputs_have_the_margin_and_a_gradient_that_is_a_number(self):
        embeddings = torch.ones(4, 2, requires_grad=True)
        loss = local_loss(embeddings, torch.tensor([0, 0, 1, 1]), margin=3.0)
        assert loss.item() == pytest.approx(3.0)
        assert torch.autograd.grad(loss, embeddings)[0].isfinite().all()


class TestHoldOut:
    def test_the_domains_take_turns_and_lie_in_blocks(self, make_batch, grid):
        batch = make_batch(grid, 3)
        for step in range(7):
            domain, held = hold_out(batch, step)
            assert domain == step % 3
            assert batch.domains[held].unique().tolist() == [domain]
            assert set(without(batch.domains, held).tolist()) == {0, 1, 2} - {domain}

    def test_a_domain_that_the_batch_lacks_has_no_turn(self, make_batch):
        batch = make_batch([[0, None, 1], [1, None, None]])
        assert [hold_out(batch, step)[0] for step in range(4)] == [0, 2, 0, 2]

    @pytest.mark.parametrize("grid", [[[0], [1]], [[None, 0], [None, 1]]])
    def test_a_domain_alone_is_not_held_out(self, make_batch, grid):
        batch = make_batch(grid)
        _, held = hold_out(batch, 3)
        assert len(batch.labels[held]) == 0
        assert torch.equal(without(batch.labels, held), batch.labels)


@pytest.mark.parametrize("clip", [1e9, 0.05])
def test_the_inner_step_is_one_of_sgd_on_clipped_gradients(make_batch, clip):
    batch = make_batch(COMPLETE)
    objective = build(inner_rate=0.3, inner_clip=clip)
    twin = deepcopy(objective.network)
    loss = cross_entropy(objective.network(batch.inputs).logits, batch.labels)
    adapted = objective.method.inner_step(objective.network, loss, trains=False)
    cross_entropy(twin(batch.inputs).logits, batch.labels).backward()
    for parameter in twin.parameters():
        torch.nn.utils.clip_grad_norm_([parameter], clip)
    torch.optim.SGD(twin.parameters(), lr=0.3).step()
    assert all(parameter.grad.norm() <= 1.0001 * clip for parameter in twin.parameters())
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(adapted[name], parameter, msg=name)


def test_the_loss_is_made_of_its_parts(make_batch, grid):
    """Cross-entropy of the meta-train domains before the inner step, the meta losses of all domains after it."""
    batch = make_batch(grid, 3)
    objective = build(inner_rate=0.5, global_weight=0.7, local_weight=0.3, temperature=1.5, margin=4.0)
    network, method = objective.network, objective.method
    total, terms = objective(batch, at(1))
    kept = batch.domains != 1
    mean = cross_entropy(network(batch.inputs[kept]).logits, batch.labels[kept])
    after = functional_call(network, method.inner_step(network, mean, trains=False), (batch.inputs,))
    alignment = slow_global_loss(after.logits, batch, 1, 1.5)
    triplets = slow_local_loss(method.embedding(after.representation), batch.labels, 4.0)
    torch.testing.assert_close(terms["global"], alignment.detach())
    torch.testing.assert_close(terms["local"], triplets.detach())
    torch.testing.assert_close(
        total, cross_entropy(network(batch.inputs[kept]).logits, batch.labels[kept]) + 0.7 * alignment + 0.3 * triplets
    )
    for domain in range(3):
        own = batch.domains == domain
        logits = after.logits[own] if domain == 1 else network(batch.inputs[own]).logits
        expected = cross_entropy(logits, batch.labels[own]).detach()
        torch.testing.assert_close(terms["classification"].value[domain], expected)


class TestGradient:
    @pytest.mark.parametrize("clip", [1e9, 0.1])
    @pytest.mark.parametrize("order", ["first", "second"])
    def test_of_second_order_it_is_the_derivative_and_of_first_it_is_not(self, make_batch, order, clip):
        batch = make_batch(COMPLETE)
        batch.inputs = batch.inputs.double()
        settings = {"inner_rate": 0.5, "inner_clip": clip, "local_weight": 0.1, "order": order}
        objective = build(dtype=torch.float64, **settings)
        analytic = torch.cat([gradient.flatten() for gradient in gradients(objective, batch)])
        parameters = list(objective.network.parameters())
        point = torch.nn.utils.parameters_to_vector(parameters).detach()
        direction = torch.randn_like(point)
        values = []
        for sign in (1, -1):
            torch.nn.utils.vector_to_parameters(point + sign * 1e-6 * direction, parameters)
            values.append(objective(batch, at(0))[0].item())
        numeric = (values[0] - values[1]) / 2e-6
        assert ((analytic @ direction).item() == pytest.approx(numeric, rel=1e-4)) == (order == "second")

    @pytest.mark.parametrize("order", ["first", "second"])
    def test_without_meta_losses_it_is_erm_s_on_the_meta_train_domains(self, make_batch, grid, order):
        batch = make_batch(grid, 3)
        objective = build(order=order, **PLAIN)
        kept = batch.domains != 2
        loss = cross_entropy(objective.network(batch.inputs[kept]).logits, batch.labels[kept])
        expected = torch.autograd.grad(loss, list(objective.network.parameters()))
        torch.testing.assert_close(gradients(objective, batch, step=2), expected)

    def test_without_meta_losses_it_is_erm_s_over_a_round_of_the_domains(self, make_batch):
        batch = make_batch(COMPLETE)
        objective = build(**PLAIN)
        steps = [gradients(objective, batch, step) for step in range(3)]
        mean = [torch.stack(parts).mean(0) for parts in zip(*steps, strict=True)]
        loss = cross_entropy(objective.network(batch.inputs).logits, batch.labels)
        torch.testing.assert_close(mean, list(torch.autograd.grad(loss, list(objective.network.parameters()))))

    @pytest.mark.parametrize("order", ["first", "second"])
    def test_without_an_inner_rate_it_is_that_of_the_three_losses_together(self, make_batch, grid, order):
        batch = make_batch(grid, 3)
        objective = build(inner_rate=0.0, order=order)
        domain, held = hold_out(batch, 0)
        outputs = objective.network(batch.inputs)
        total = (
            cross_entropy(without(outputs.logits, held), without(batch.labels, held))
            + global_loss(outputs.logits, batch, domain, 2.0)
            + 0.005 * local_loss(objective.method.embedding(outputs.representation), batch.labels, 10.0)
        )
        expected = torch.autograd.grad(total, list(objective.network.parameters()))
        torch.testing.assert_close(gradients(objective, batch), expected)

    def test_a_single_source_trains_as_erm_without_meta_losses(self, make_batch):
        batch = make_batch([[0], [1], [2]])
        objective = build(**PLAIN)
        loss = cross_entropy(objective.network(batch.inputs).logits, batch.labels)
        expected = torch.autograd.grad(loss, list(objective.network.parameters()))
        torch.testing.assert_close(gradients(objective, batch, step=4), expected)

    def test_it_reaches_the_embedding_and_no_frozen_parameter(self, make_batch):
        objective = build()
        objective.network.featurizer.requires_grad_(False)
        objective(make_batch(COMPLETE), at(0))[0].backward()
        assert all(parameter.grad.any() for parameter in objective.method.parameters())
        assert all(parameter.grad is None for parameter in objective.network.featurizer.parameters())
        assert objective.network.classifier.weight.grad.any()


class TestNormalisation:
    """Networks with running statistics."""

    @pytest.fixture
    def batch(self, make_batch):
        return make_batch(COMPLETE, shape=(1, 12, 12))

    @pytest.mark.parametrize("order", ["first", "second"])
    def test_running_statistics_are_updated_once_by_all_domains_after_the_inner_step(self, batch, order):
        objective = build("small-cnn", (1, 12, 12), inner_rate=0.5, order=order)
        twin = deepcopy(objective)
        objective(batch, at(0))[0].backward()
        _, held = hold_out(batch, 0)
        plain = deepcopy(twin.network)
        loss = cross_entropy(plain(without(batch.inputs, held)).logits, without(batch.labels, held))
        adapted = twin.method.inner_step(plain, loss, trains=False)
        functional_call(twin.network, adapted, (batch.inputs,))
        buffers = dict(objective.network.named_buffers())
        assert {int(value) for name, value in buffers.items() if name.endswith("num_batches_tracked")} == {1}
        torch.testing.assert_close(buffers, dict(twin.network.named_buffers()))

    def test_in_eval_nothing_is_updated_and_no_graph_is_left(self, batch):
        objective = build("small-cnn", (1, 12, 12)).eval()
        before = deepcopy(objective.state_dict())
        total, _ = objective(batch, at(0))
        with torch.no_grad():
            value, _ = objective(batch, at(0))
        assert not value.requires_grad
        torch.testing.assert_close(value, total.detach())
        assert all(torch.equal(tensor, before[name]) for name, tensor in objective.state_dict().items())

    @pytest.mark.parametrize("order", ["first", "second"])
    def test_mixed_precision_is_near_single(self, batch, order):
        whole, half = (build("small-cnn", (1, 12, 12), order=order) for _ in range(2))
        expected, _ = whole(batch, at(0))
        with torch.autocast("cpu", torch.bfloat16):
            total, terms = half(batch, at(0))
        assert total.dtype == terms["global"].dtype == terms["local"].dtype == torch.float32
        torch.testing.assert_close(total, expected, rtol=0.05, atol=0.02)
        for objective, loss in ((whole, expected), (half, total)):
            loss.backward()
            assert all(parameter.grad.isfinite().all() for parameter in objective.parameters())
        ours, single = (torch.cat([p.grad.flatten() for p in each.parameters()]) for each in (half, whole))
        assert torch.cosine_similarity(ours, single, dim=0) > 0.95

    @pytest.mark.parametrize("order", ["first", "second"])
    def test_wrapped_for_several_processes_it_has_the_same_gradients(self, batch, order, tmp_path):
        """One process suffices to see that every parameter is used, and that inner gradients trip no hook."""
        plain = build("small-cnn", (1, 12, 12), order=order)
        twin = deepcopy(plain)
        store = f"file://{tmp_path / 'store'}"
        torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
        try:
            wrapped = DistributedDataParallel(twin)
            for step in range(2):
                for objective in (plain, wrapped):
                    objective.zero_grad()
                    objective(batch, at(step))[0].backward()
        finally:
            torch.distributed.destroy_process_group()
        for (name, ours), theirs in zip(plain.named_parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(theirs.grad, ours.grad, msg=name)
