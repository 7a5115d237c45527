"""What a method is: a loss made of named terms, on any network, and at most some parameters of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from matchdg.core.settings import Settings
from matchdg.methods.batch import Batch
from matchdg.networks import Network

Turn = Literal["network", "adversary"]


@dataclass
class Clock:
    """Where training stands: `step` counts batches from 0 over the whole run, `epoch` from 0 to `epochs` - 1."""

    step: int
    epoch: int
    epochs: int


def ramp(warm_up: float, clock: Clock) -> float:
    """The share of a weight that a linear warm-up over `warm_up` of the epochs has reached; 1 after it.

    >>> [ramp(0.5, Clock(0, epoch, 4)) for epoch in range(4)]
    [0.5, 1.0, 1.0, 1.0]
    """
    epochs = warm_up * clock.epochs
    return min(1.0, (clock.epoch + 1) / epochs) if epochs > 0 else 1.0


class DomainLoss:
    """The cross-entropy of one batch per domain, for the records: computed when they are read, many steps at once.

    On a small network computing it at every step would be felt.
    """

    __slots__ = ("columns", "domains", "labels", "logits")

    def __init__(self, batch: Batch, logits: Tensor) -> None:
        self.logits, self.labels, self.domains, self.columns = logits, batch.labels, batch.domains, batch.columns

    @staticmethod
    def sums(losses: "Sequence[DomainLoss]") -> Tensor:
        """Over all inputs of `losses`: the sum of their cross-entropy and their number per domain, [2, K]."""
        logits = torch.cat([loss.logits for loss in losses]).float()
        values = cross_entropy(logits, torch.cat([loss.labels for loss in losses]), reduction="none")
        both = torch.stack([values, torch.ones_like(values)])
        domains = torch.cat([loss.domains for loss in losses])
        return both.new_zeros(2, losses[0].columns).index_add(1, domains, both)

    @property
    def value(self) -> Tensor:
        """The mean per domain, [K]; NaN for a domain without an input in the batch."""
        total, count = self.sums([self])
        return total / count


class Product(NamedTuple):
    """`factor * <left, right>`, one of many of an epoch that are multiplied when they are read, all at once."""

    left: Tensor
    right: Tensor
    factor: float

    @property
    def value(self) -> Tensor:
        """The number."""
        return self.factor * (self.left * self.right).sum()


Term = Tensor | DomainLoss | Product


class Loss(NamedTuple):
    """`total` is minimised; `terms` are logged under their names, unweighted, as scalars or per domain."""

    total: Tensor
    terms: dict[str, Term]


class Pull(NamedTuple):
    """A summand of a loss whose gradient is known: that by `features`, and `factor * <features, gradient>` itself.

    `values` are those of the features, without a graph.
    """

    features: Tensor
    values: Tensor
    gradient: Tensor
    factor: float


class Parts(NamedTuple):
    """A loss of which `value` is one part, with its graph, and the `pull`, if there is one, the other."""

    value: Tensor
    terms: dict[str, Term]
    pull: Pull | None = None

    def whole(self) -> Loss:
        """The same loss with a graph that has all of it."""
        terms: dict[str, Term] = {
            name: term.value if isinstance(term, Product) else term for name, term in self.terms.items()
        }
        if self.pull is None:
            return Loss(self.value, terms)
        features, _, gradient, factor = self.pull
        pull = (features * gradient).sum()
        # The gradient of the first summand, the value of the second.
        return Loss(self.value + (pull - pull.detach()) + factor * pull.detach(), terms)

    def backward(self) -> None:
        """What `backward` of the whole would do, in fewer operations: on a small network a penalty's are felt."""
        if self.pull is None:
            self.value.backward()
        else:
            one = _one(self.value.device, self.value.dtype)
            torch.autograd.backward((self.value, self.pull.features), (one, self.pull.gradient))


@cache
def _one(device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.ones((), device=device, dtype=dtype)


class Method(nn.Module):
    """Maps (network, batch) to named loss terms. Owns no loop, optimiser, device or file.

    Parameters of a method train with the network's, except those under `adversary`, which have their turn alone.
    `processes` that share a batch compute its loss together, each from the network's outputs for all of it; or apart,
    each that of its own rows, and take the mean, which is the same only where a loss is a mean over rows. `paired` asks
    for another view of each input of a batch.
    """

    processes: Literal["together", "apart"] = "together"
    paired: bool = False

    def __init__(self) -> None:
        super().__init__()
        self.adversary: nn.Module | None = None

    def turn(self, step: int) -> Turn:
        """Whose parameters the step updates."""
        return "network"

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """The loss of one batch."""
        raise NotImplementedError

    def parts(self, network: Network, batch: Batch, clock: Clock) -> Parts:
        """The same loss, where some of its gradients are known apart from the rest."""
        return Parts(*self.loss(network, batch, clock))

    def judged(self, loss: Loss) -> Tensor:
        """What of a loss on validation data an epoch is chosen by, where the objective chooses: all of it."""
        return loss.total


Build = Callable[[Any, Network, int], Method]


@dataclass(frozen=True)
class MethodSpec:
    """A row of `METHODS`: everything that the rest of the house needs to know of a method.

    `build(settings, network, domains)` makes it; `matcher` names the match table whose rows it trains on by
    default; `search` holds the grids of the paper by experiment ("slab", "rotated-mnist", …), as settings;
    `adversarial` says that it has an adversary, whose turns leave the network without a gradient. `learns` says
    whether it trains a classifier or, as phase 1 does, a representation for matching. `phase1` are the sections
    of the phase 1 that a method on learnt matches runs first, as `RunSettings.parse` reads them; `phase1_on_images`
    are those that it has besides where the run's network takes images and has no weights from elsewhere; `training`
    are its defaults of the section of that name, where they are others than everybody's.
    """

    label: str
    reference: str
    settings: type[Settings]
    build: Build
    matcher: str = "random"
    search: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    adversarial: bool = False
    learns: Literal["classes", "matches"] = "classes"
    phase1: Mapping[str, Any] | None = None
    phase1_on_images: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


def classification(batch: Batch, logits: Tensor) -> tuple[Tensor, DomainLoss]:
    """Cross-entropy: its mean over the batch, and, for the records, its means per domain. `logits[V, C]`."""
    return cross_entropy(logits, batch.labels), DomainLoss(batch, logits.detach())


def with_penalty(batch: Batch, logits: Tensor, name: str, penalty: Tensor, weight: float) -> Loss:
    """The form of most methods: ERM + weight * penalty."""
    mean, per_domain = classification(batch, logits)
    return Loss(torch.add(mean, penalty, alpha=weight), {"classification": per_domain, name: penalty.detach()})
