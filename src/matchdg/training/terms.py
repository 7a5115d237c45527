"""The means of an epoch's loss terms, gathered without work at each step."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from matchdg.methods import DomainLoss, Parts, Product, Term

# Steps whose terms are kept before they are added up: bounds the memory, and spreads the work.
FLUSH = 64


class TermMeans:
    """Collects terms step by step; `means` gives each term's mean over the epoch and over all processes."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.scalars: dict[str, list[Tensor]] = {}
        self.products: dict[str, _Products] = {}
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
        if isinstance(value, Product):
            self.products.setdefault(name, _Products()).add(value)
            return
        self.scalars.setdefault(name, []).append(value if share == 1.0 else value * share)

    def add_loss(self, parts: Parts, share: float = 1.0) -> None:
        """One step's loss, of both its parts."""
        self.add("loss", parts.value.detach(), share)
        if parts.pull is not None:
            _, values, gradient, factor = parts.pull
            self.add("loss", Product(values, gradient, factor))

    def means(self, sources: Sequence[str]) -> dict[str, Any]:
        """A number for each scalar term, and numbers by source domain for the others, of terms that were added."""
        found: dict[str, Any] = {}
        for name, values in self.scalars.items():
            found[name] = self._reduced(torch.stack(values).float().mean(), "mean").item()
        for name, products in self.products.items():
            found[name] = found.get(name, 0.0) + products.mean()
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


class _Products:
    """The mean of an epoch's products; they are multiplied so many at a time."""

    def __init__(self) -> None:
        self.waiting: list[Product] = []
        self.total: Tensor | float = 0.0
        self.count = 0

    def add(self, product: Product) -> None:
        self.waiting.append(product)
        if len(self.waiting) == FLUSH:
            self._flush()

    def mean(self) -> float:
        self._flush()
        return float(self.total) / self.count

    def _flush(self) -> None:
        if self.waiting:
            left = torch.cat([product.left.flatten() for product in self.waiting])
            right = torch.cat([product.right.flatten() for product in self.waiting])
            # All steps of an epoch have the same factor.
            self.total += self.waiting[0].factor * torch.dot(left, right)
            self.count += len(self.waiting)
            self.waiting.clear()
