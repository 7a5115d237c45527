"""Evaluation: always in `eval()` mode, per domain, summed on the device."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Final

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from matchdg.data import DomainDataset
from matchdg.matching import MatchTable
from matchdg.methods import Batch, Clock
from matchdg.training.objective import Objective

Scores = dict[str, dict[str, float]]

VALUES: Final = 2**23
"""Numbers in the inputs that are passed at a time without gradients; activations are many times as many."""


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """`eval()` and no gradients inside; what was before, after."""
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        module.train(was_training)


def batch_of(input_shape: tuple[int, ...], most: int) -> int:
    """How many inputs are passed at a time: `most`, or fewer large ones, whose activations would fill the memory.

    >>> batch_of((1, 28, 28), 4096), batch_of((3, 224, 224), 4096)
    (4096, 55)
    """
    return max(1, min(most, VALUES // prod(input_shape)))


def evaluate(objective: Objective, dataset: DomainDataset, fabric: Fabric | None = None, batch: int = 4096) -> Scores:
    """Accuracy and mean cross-entropy of each domain of `dataset`; processes share the work.

    A domain without inputs is left out.
    """
    domains = len(dataset.domain_names)
    device = next(objective.parameters()).device
    batch = batch_of(dataset.input_shape, batch)
    sums = torch.zeros(3, domains, dtype=torch.float64, device=device)
    rank, world = (fabric.global_rank, fabric.world_size) if fabric is not None else (0, 1)
    with evaluation_mode(objective):
        for positions in torch.arange(rank, len(dataset), world).split(batch):
            logits = objective.network(dataset.inputs[positions].to(device)).logits.float()
            labels, owners = dataset.labels[positions].to(device), dataset.domains[positions].to(device)
            losses = cross_entropy(logits, labels, reduction="none")
            correct = logits.argmax(1) == labels
            values = torch.stack([torch.ones_like(losses), losses, correct.to(losses.dtype)])
            sums.index_add_(1, owners, values.double())
    if world > 1 and fabric is not None:
        sums = fabric.all_reduce(sums, reduce_op="sum")  # type: ignore[assignment]
    counts, losses, correct = sums.tolist()
    return {
        name: {"accuracy": correct[d] / counts[d], "loss": losses[d] / counts[d]}
        for d, name in enumerate(dataset.domain_names)
        if counts[d] > 0
    }


def matched_objective(
    objective: Objective, dataset: DomainDataset, table: MatchTable, clock: Clock, batch_rows: int
) -> float:
    """The method's own loss, penalty included, on the matched rows of `dataset`, in `eval()` mode.

    Of an adversarial method, what it judges epochs by.
    """
    device = next(objective.parameters()).device
    total, count = torch.zeros((), dtype=torch.float64, device=device), len(table)
    with evaluation_mode(objective):
        for rows in table.rows.split(batch_rows):
            batch = Batch.gather(dataset, rows, table.complete).to(device)
            judged = objective.method.judged(objective(batch, clock))
            total += judged.double() * len(rows) / count
    return float(total)


def mean_of(scores: Scores, key: str) -> float:
    """The mean of `key` over domains, each domain counting alike."""
    return sum(score[key] for score in scores.values()) / len(scores)


def predict_classes(objective: Objective, inputs: Tensor) -> Tensor:
    """The most likely class of each of `inputs[N, …]`, in `eval()` mode."""
    with evaluation_mode(objective):
        return objective.network(inputs).logits.argmax(1)
