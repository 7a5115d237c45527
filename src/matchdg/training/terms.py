"""The means of an epoch's loss terms, gathered without work at each step."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from matchdg.methods import DomainLoss, Scaled, Term

# Steps whose terms are kept before they are added up: bounds the memory, and spreads the work.
FLUSH = 64


class TermMeans:
    """Collects terms step by step; `means` gives each term's mean over the epoch and over all processes."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.scalars: dict[str, list[Tensor]] = {}
        self.factors: dict[str, float] = {}
        self.domains: dict[str, list[DomainLoss]] = {}
        self.sums: dict[str, Tensor] = {}

    def add(self, name: str, value: Term, share: float = 1.0) -> None:
        """One step's term; `share` weighs this process's part of the batch."""
        if isinstance(value, DomainLoss):
            waiting = self.domains.setdefault(name, [])
            waiting.append(value)
            if len(waiting) == FLUSH:
                self._flush(name)
            return
        if isinstance(value, Scaled):
            value, self.factors[name] = value
        self.scalars.setdefault(name, []).append(value if share == 1.0 else value * share)

    def means(self, sources: Sequence[str]) -> dict[str, Any]:
        """A number for each scalar term, and numbers by source domain for the others, of terms that were added."""
        found: dict[str, Any] = {}
        for name, values in self.scalars.items():
            mean = self._reduced(torch.stack(values).float().mean(), "mean").item()
            found[name] = mean * self.factors.get(name, 1.0)
        for name in self.domains:
            self._flush(name)
            total, count = self._reduced(self.sums[name], "sum").tolist()
            found[name] = {
                source: total[column] / count[column] if count[column] else math.nan
                for column, source in enumerate(sources)
            }
        return found

    def _flush(self, name: str) -> None:
        if self.domains[name]:
            sums = DomainLoss.sums(self.domains[name])
            self.sums[name] = self.sums[name] + sums if name in self.sums else sums
            self.domains[name].clear()

    def _reduced(self, value: Tensor, how: str) -> Tensor:
        if self.fabric.world_size == 1:
            return value
        reduced: Tensor = self.fabric.all_reduce(value, reduce_op=how)  # type: ignore[assignment]
        return reduced
