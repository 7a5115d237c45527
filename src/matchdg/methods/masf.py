"""MASF: after a gradient step on some domains, classes relate in the others as in these, and lie apart in all."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, DomainLoss, Loss, Method, MethodSpec
from matchdg.methods.batch import Batch
from matchdg.methods.groups import Groups
from matchdg.networks import Network, Outputs


def hold_out(batch: Batch, step: int) -> tuple[int, slice]:
    """The domain that is meta-test at `step`, in turn among those of the batch, and where its inputs lie.

    Where the batch has one domain only, that one is meta-train and no input is held out.
    """
    counts = [batch.rows] * batch.columns
    if batch.cells is not None:
        counts = torch.bincount(batch.domains, minlength=batch.columns).tolist()
    present = [domain for domain, count in enumerate(counts) if count > 0]
    domain = present[step % len(present)]
    start = sum(counts[:domain])
    return domain, slice(start, start + counts[domain] if len(present) > 1 else start)


def without(values: Tensor, held: slice) -> Tensor:
    """`values[V, …]` but for the block `held`."""
    return torch.cat([values[: held.start], values[held.stop :]])


def global_loss(logits: Tensor, batch: Batch, held_out: int, temperature: float) -> Tensor:
    r"""Mean over classes and meta-train domains d of $\frac12 KL(s_d \| s_e) + \frac12 KL(s_e \| s_d)$.

    $s_d$ is the softmax of a class's mean logits in domain d at `temperature`, e the domain `held_out`. Dou et al.
    (2019), section 3.2. The mean is over classes that both domains have; theirs divides by the number of all
    classes. Zero where there are none. `logits[V, C]`.
    """
    groups = Groups.of(batch, conditional=True, dtype=logits.dtype)
    shape = batch.classes, batch.columns
    logarithms = (groups.averages.T @ logits / temperature).log_softmax(1).view(*shape, -1)
    shares, other = logarithms.exp(), slice(held_out, held_out + 1)
    # Half the sum of both divergences, in one expression.
    divergence = 0.5 * ((shares - shares[:, other]) * (logarithms - logarithms[:, other])).sum(-1)
    present = (groups.counts.view(shape) > 0).to(logits.dtype)
    pairs = present * present[:, other]
    pairs[:, other] = 0
    return (divergence * pairs).sum() / pairs.sum().clamp(min=1)


def local_loss(embeddings: Tensor, labels: Tensor, margin: float) -> Tensor:
    r"""Mean over pairs (a, p) of one class of $[m + \|a - p\|^2 - \|a - n\|^2]_+$, whatever their domains.

    n is semi-hard: the nearest input of another class that is farther from a than p is, or, where none is, the
    farthest (Schroff et al., 2015). Zero where no triplet is. Memory is V x V: sorted distances to other classes
    are searched for p's. `embeddings[V, E]`, `labels[V]`.
    """
    squares = embeddings.square().sum(1)
    distances = (squares[:, None] + squares[None, :] - 2 * embeddings @ embeddings.T).clamp(min=0)
    same = labels[:, None] == labels[None, :]
    others = distances.masked_fill(same, torch.inf).sort(1).values
    # An input is no negative of its own, so the last place is infinite: there, none is farther than p.
    farther = torch.searchsorted(others.detach(), distances.detach(), right=True).clamp(max=len(labels) - 1)
    semi_hard = others.gather(1, farther)
    farthest = distances.masked_fill(same, -torch.inf).amax(1, keepdim=True)
    triplets = same & farthest.isfinite()
    triplets.fill_diagonal_(False)
    violations = margin + distances - torch.where(semi_hard.isfinite(), semi_hard, farthest)
    return violations.masked_fill(~triplets, 0.0).relu().sum() / triplets.sum().clamp(min=1)


class MasfSettings(Settings):
    """The inner step, the two meta losses and the embedding of the local one."""

    inner_rate: float = Field(0.01, ge=0, description="alpha, the learning rate of the inner step")
    inner_clip: float = Field(2.0, gt=0, description="the largest norm of each parameter's gradient in the inner step")
    order: Literal["first", "second"] = Field(
        "first",
        description="whether the inner gradient is a constant to the outer one (first, as in the published code) "
        "or is differentiated too (second; a step takes nearly twice as long)",
    )
    global_weight: float = Field(1.0, ge=0, description="beta1, the weight of the alignment of classes over domains")
    local_weight: float = Field(0.005, ge=0, description="beta2, the weight of the triplet loss")
    temperature: float = Field(2.0, gt=0, description="what mean logits are divided by before their softmax")
    margin: float = Field(10.0, ge=0, description="margin of the triplet loss, in squared distance")
    hidden: int = Field(256, ge=1, description="units of the embedding's hidden layer")
    embedding: int = Field(128, ge=1, description="units of the embedding that the triplet loss is of")


class Masf(Method):
    r"""Minimise $L(\theta) + \beta_1 L_{global}(\theta') + \beta_2 L_{local}(\theta')$ after a step to $\theta'$.

    $\theta' = \theta - \alpha \nabla L(\theta)$, clipped. L is the cross-entropy of the meta-train domains: all but
    one, which is meta-test, another one each step. The other two losses are of all domains (Dou et al., 2019,
    algorithm 1). Two sources are enough: the copy of a domain that the published code needs then is not made. That
    code clips the meta losses' outer gradients too and gives the embedding an optimiser of its own; here one
    optimiser trains everything. Several processes take each their own inner step, on their part of a batch, so that
    with them a run is not quite what it is with one.

    The network's running statistics are updated once a step, by the forward pass with $\theta'$, which sees all
    domains; the one with $\theta$ works on copies.
    """

    processes = "apart"

    def __init__(self, settings: MasfSettings, network: Network) -> None:
        super().__init__()
        self.settings = settings
        # As in the published code, which has 1024 and 256 units on 4,096 features.
        self.embedding = nn.Sequential(
            nn.Linear(network.features, settings.hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(settings.hidden, settings.embedding),
            nn.LeakyReLU(0.2),
        )

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy of the meta-train domains plus the weighted meta losses after an inner step.

        The term `classification` is, for the domain held out, its cross-entropy after the inner step.
        """
        domain, held = hold_out(batch, clock.step)
        trains = torch.is_grad_enabled()
        with torch.enable_grad():
            copies = {name: buffer.clone() for name, buffer in network.named_buffers()}
            before: Outputs = functional_call(network, copies, (without(batch.inputs, held),))
            mean = cross_entropy(before.logits, without(batch.labels, held))
            adapted = self.inner_step(network, mean, trains)
        after: Outputs = functional_call(network, adapted, (batch.inputs,))
        # Mixed precision would round means of logits and distances.
        with torch.autocast(batch.labels.device.type, enabled=False):
            logits, features = _at_least_single(after.logits), _at_least_single(after.representation)
            alignment = global_loss(logits, batch, domain, self.settings.temperature)
            triplets = local_loss(self.embedding(features), batch.labels, self.settings.margin)
        total = mean + self.settings.global_weight * alignment + self.settings.local_weight * triplets
        known = torch.cat([before.logits[: held.start], after.logits[held], before.logits[held.start :]]).detach()
        return Loss(
            total,
            {"classification": DomainLoss(batch, known), "global": alignment.detach(), "local": triplets.detach()},
        )

    def inner_step(self, network: Network, loss: Tensor, trains: bool) -> dict[str, Tensor]:
        r"""$\theta' = \theta - \alpha \min(1, c / \|g\|) g$ for each parameter and its gradient g of `loss`.

        `trains` keeps what the outer gradient needs.
        """
        names, parameters = zip(*(item for item in network.named_parameters() if item[1].requires_grad), strict=True)
        gradients = torch.autograd.grad(
            loss,
            parameters,
            retain_graph=trains,
            create_graph=trains and self.settings.order == "second",
            materialize_grads=True,
        )
        clip, rate = self.settings.inner_clip, self.settings.inner_rate
        scales = [clip / torch.linalg.vector_norm(gradient).clamp(min=clip) for gradient in gradients]
        stepped = [torch.addcmul(*triple, value=-rate) for triple in zip(parameters, gradients, scales, strict=True)]
        return dict(zip(names, stepped, strict=True))


def _at_least_single(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


SPEC = MethodSpec(
    label="MASF",
    reference="Dou et al. (2019), Domain generalization via model-agnostic learning of semantic features",
    settings=MasfSettings,
    build=lambda settings, network, domains: Masf(settings, network),
    # The paper does not say which settings MASF was run with; this grid is ours. Its published code, fine-tuning
    # pre-trained networks at a learning rate of 1e-5, has the weights 1 and 0.005 and an inner rate of 1e-5.
    search={"rotated-mnist": {"global_weight": (0.1, 1.0), "local_weight": (0.005, 0.05)}},
)
