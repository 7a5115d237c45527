"""DANN and CDANN: a discriminator guesses the domain from the representation, the network learns to fool it."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, DomainLoss, Loss, Method, MethodSpec, Turn, classification
from matchdg.methods.batch import Batch
from matchdg.networks import Layer, Network


class AdversarialSettings(Settings):
    """The adversarial penalty and its discriminator."""

    penalty: float = Field(1.0, ge=0, description="lambda, the weight of the discriminator's loss, reversed")
    gradient_penalty: float = Field(
        0.0, ge=0, description="weight of the squared gradient of the discriminator's loss by its input"
    )
    discriminator_steps: int = Field(
        1, ge=1, description="batches that train the discriminator for each that trains the network"
    )
    layer: Layer = Field("representation", description="the layer that the discriminator sees")
    hidden: int = Field(100, ge=1, description="units of the discriminator's hidden layer")
    activation: Literal["relu", "none"] = Field(
        "relu", description="after the hidden layer; the paper's slab classifier and discriminator list none"
    )


class Adversarial(Method):
    r"""Network: minimise $\sum_d L_d - \lambda L_D$. Discriminator: minimise $L_D$.

    $L_D$ is the cross-entropy of the domain plus `gradient_penalty` times $\|\nabla_z L_D\|^2$. As in DomainBed,
    which the paper used, batches are taken in turn: `discriminator_steps` for the discriminator, one for the
    network. Where `conditional`, the discriminator's input is z plus a learnt embedding of the class, and its
    loss weighs the classes of a batch alike.
    """

    def __init__(self, settings: AdversarialSettings, network: Network, domains: int, conditional: bool) -> None:
        super().__init__()
        self.settings = settings
        size = network.size(settings.layer)
        middle: list[nn.Module] = [nn.ReLU()] if settings.activation == "relu" else []
        self.discriminator = nn.Sequential(
            nn.Linear(size, settings.hidden), *middle, nn.Linear(settings.hidden, domains)
        )
        self.embedding = nn.Embedding(network.classes, size) if conditional else None
        self.adversary = nn.ModuleList([part for part in (self.discriminator, self.embedding) if part])

    def turn(self, step: int) -> Turn:
        """Discriminator, discriminator, …, network, and again."""
        cycle = self.settings.discriminator_steps + 1
        return "adversary" if step % cycle < cycle - 1 else "network"

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """The discriminator's loss in its turn, else cross-entropy minus lambda times it."""
        if self.turn(clock.step) == "adversary":
            with torch.no_grad():
                features = network(batch.inputs).at(self.settings.layer)
            total, domain = self._discriminate(features, batch)
            return Loss(total, {"domain": domain.detach()})
        outputs = network(batch.inputs)
        mean, per_domain = classification(batch, outputs.logits)
        total, domain = self._discriminate(outputs.at(self.settings.layer), batch)
        return Loss(mean - self.settings.penalty * total, {"classification": per_domain, "domain": domain.detach()})

    def judged(self, loss: Loss) -> Tensor:
        """The cross-entropy alone: minus a discriminator's loss has no least value, and an exploding one would win."""
        per_domain = loss.terms["classification"]
        assert isinstance(per_domain, DomainLoss)
        return per_domain.value.nanmean()

    def _discriminate(self, features: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            inputs = features if self.embedding is None else features + self.embedding(batch.labels)
            if not inputs.requires_grad:
                inputs = inputs.detach().requires_grad_()
            losses = cross_entropy(self.discriminator(inputs), batch.domains, reduction="none")
            domain = losses.mean() if self.embedding is None else (losses * _class_weights(batch)).sum()
            if self.settings.gradient_penalty == 0:
                return domain, domain
            (gradient,) = torch.autograd.grad(losses.sum(), [inputs], create_graph=True)
            slope = gradient.square().sum(1).mean()
            return domain + self.settings.gradient_penalty * slope, domain


def _class_weights(batch: Batch) -> Tensor:
    """Weights [V] that sum to one over the classes of the batch, alike for each class, alike within one."""
    counts = one_hot(batch.labels, batch.classes).sum(0)
    present = (counts > 0).sum()
    return 1.0 / (counts[batch.labels] * present)


_SEARCH = {
    "slab": {
        "penalty": (0.01, 0.1, 1.0, 10.0, 100.0),
        "gradient_penalty": (0.01, 0.1, 1.0, 10.0),
        "discriminator_steps": (1, 2, 4, 8),
    }
}

SPEC = MethodSpec(
    label="DANN",
    reference="Ganin et al. (2016), Domain-adversarial training of neural networks",
    settings=AdversarialSettings,
    build=lambda settings, network, domains: Adversarial(settings, network, domains, conditional=False),
    search=_SEARCH,
    adversarial=True,
)

CONDITIONAL_SPEC = MethodSpec(
    label="CDANN",
    reference="Li et al. (2018), Deep domain generalization via conditional invariant adversarial networks",
    settings=AdversarialSettings,
    build=lambda settings, network, domains: Adversarial(settings, network, domains, conditional=True),
    search=_SEARCH,
    adversarial=True,
)
