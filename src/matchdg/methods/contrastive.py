"""The contrastive loss of phase 1 (the paper's eq. 4): matched inputs are near, others are far."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import normalize, softplus

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, MethodSpec, ramp
from matchdg.methods.batch import Batch
from matchdg.networks import Layer, Network

Negatives = Literal["other-classes", "other-rows"]


def contrastive_loss(features: Tensor, batch: Batch, temperature: float, negatives: Negatives) -> Tensor:
    r"""Mean of $-\log \frac{e^{s_{jk}/\tau}}{e^{s_{jk}/\tau} + \sum_{i \in N_j} e^{s_{ji}/\tau}}$ over matched (j, k).

    s is the cosine similarity. $N_j$ are the inputs of another class than j's (eq. 4), or all inputs of other
    rows, those of j's class included, but for j itself where several rows have it. Computed as
    softplus(logsumexp of the negatives - positive), in float32, so that a small temperature overflows in no
    precision. Zero where there is no matched pair.

    `features[V, D]`.
    """
    # Mixed precision would round the products, and a small temperature would blow that up.
    with torch.autocast(features.device.type, enabled=False):
        return _contrastive_loss(normalize(features.float(), dim=1), batch, temperature, negatives)


def _contrastive_loss(unit: Tensor, batch: Batch, temperature: float, negatives: Negatives) -> Tensor:
    grid = batch.grid(unit)
    scores = unit @ unit.T / temperature
    row = _rows(batch)
    group = row if negatives == "other-rows" else batch.labels
    # Not minus infinity: where an input has no negative, the gradient would not be a number.
    lowest = torch.finfo(scores.dtype).min / 4
    spared = group[:, None] == group[None, :]
    if negatives == "other-rows" and batch.positions is not None:
        spared |= batch.positions[:, None] == batch.positions[None, :]
    repelled = scores.masked_fill(spared, lowest).logsumexp(1)
    attracted = grid @ grid.transpose(1, 2) / temperature
    losses = softplus(batch.grid(repelled[:, None]) - attracted)
    present = torch.ones(grid.shape[:2], device=grid.device) if batch.mask is None else batch.mask.to(losses.dtype)
    pairs = present[:, :, None] * present[:, None, :]
    pairs = pairs * (1 - torch.eye(batch.columns, device=pairs.device))
    return (losses * pairs).sum() / pairs.sum().clamp(min=1)


def _rows(batch: Batch) -> Tensor:
    """The row of each input, [V]."""
    device = batch.labels.device
    cells = torch.arange(batch.rows * batch.columns, device=device) if batch.cells is None else batch.cells
    return cells % batch.rows


class ContrastiveSettings(Settings):
    """The temperature, what repels, and the layer that is learnt."""

    temperature: float = Field(0.05, ge=0.001, description="tau, which similarities are divided by")
    negatives: Negatives = Field(
        "other-classes",
        description="what an input is pushed away from: inputs of other classes (the paper), or of all other rows",
    )
    negatives_from: int = Field(
        0, ge=0, description="the epoch from which 'other-rows' holds; before, inputs of other classes alone repel"
    )
    warm_up: float = Field(
        0.0, ge=0, le=1, description="share of the epochs over which the loss's weight rises linearly to one"
    )
    layer: Layer = Field("representation", description="the layer that is learnt")


class Contrastive(Method):
    """Phase 1 of MatchDG: the contrastive loss alone, no classification."""

    def __init__(self, settings: ContrastiveSettings) -> None:
        super().__init__()
        self.settings = settings

    def negatives(self, clock: Clock) -> Negatives:
        """What repels in this epoch."""
        early = clock.epoch < self.settings.negatives_from
        return "other-classes" if early else self.settings.negatives

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """The contrastive loss of the matched rows."""
        features = network(batch.inputs).at(self.settings.layer)
        total = contrastive_loss(features, batch, self.settings.temperature, self.negatives(clock))
        return Loss(total * ramp(self.settings.warm_up, clock), {"contrastive": total.detach()})


SPEC = MethodSpec(
    label="MatchDG phase 1",
    reference="Mahajan, Tople, Sharma (2021), Domain generalization using causal matching, eq. 4",
    settings=ContrastiveSettings,
    build=lambda settings, network, domains: Contrastive(settings),
    matcher="nearest",
    learns="matches",
)
