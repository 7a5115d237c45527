"""`MatchTable`: for each anchor, one input per source domain that is taken for the same object."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset

ABSENT = -1


@dataclass(frozen=True)
class MatchTable:
    """`rows[R, K]`: positions into the training data, R anchors by K source domains; -1 where there is none.

    `anchors[R]` is the column that each row starts from.

    >>> table = MatchTable(torch.tensor([[0, 3], [1, -1]]), torch.tensor([0, 0]))
    >>> len(table), table.complete
    (2, False)
    """

    rows: Tensor
    anchors: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def complete(self) -> bool:
        """Whether every anchor has an input in every domain."""
        return bool((self.rows != ABSENT).all())

    def check(self, dataset: DomainDataset) -> None:
        """Raise `InputError` unless every position exists and lies in its column's domain."""
        columns = len(dataset.domain_names)
        if self.rows.dim() != 2 or self.rows.shape[1] != columns:
            raise InputError(f"match table has shape {tuple(self.rows.shape)}, expected (anchors, {columns})")
        if len(self.rows) == 0:
            raise InputError("match table is empty; at least one anchor is needed")
        low, high = int(self.rows.min()), int(self.rows.max())
        if low < ABSENT or high >= len(dataset):
            raise InputError(f"match table has positions from {low} to {high}, expected {ABSENT} to {len(dataset) - 1}")
        domains = dataset.domains[self.rows.clamp(min=0)]
        wrong = (domains != torch.arange(columns)) & (self.rows != ABSENT)
        if bool(wrong.any()):
            row, column = wrong.nonzero()[0].tolist()
            position = int(self.rows[row, column])
            raise InputError(
                f"match table row {row} has position {position} in the column of domain "
                f"{dataset.domain_names[column]!r}, but it lies in {dataset.domain_names[domains[row, column]]!r}"
            )


def base_domains(dataset: DomainDataset) -> Tensor:
    """Per class, the domain with most inputs of it; the first of equals (appendix C.1). Shape [classes]."""
    return dataset.counts.argmax(0)


def anchor_positions(dataset: DomainDataset) -> Tensor:
    """Positions of all anchors: the inputs that lie in the base domain of their class, in order."""
    return (dataset.domains == base_domains(dataset)[dataset.labels]).nonzero().flatten()


def anchors_and_candidates(dataset: DomainDataset) -> list[tuple[Tensor, Tensor]]:
    """Positions of the anchors of a class and of its inputs in another domain, wherever there are both."""
    bases = base_domains(dataset).tolist()
    inside = {
        (label, domain): ((dataset.labels == label) & (dataset.domains == domain)).nonzero().flatten()
        for label in range(len(bases))
        for domain in range(len(dataset.domain_names))
    }
    return [
        (inside[label, bases[label]], candidates)
        for (label, domain), candidates in inside.items()
        if domain != bases[label] and len(candidates)
    ]
