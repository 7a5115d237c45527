"""Draw matches within groups: inputs of equal class (random matching) or of equal object (perfect matching)."""

import torch
from torch import Tensor

from matchdg.data import DomainDataset
from matchdg.matching.table import ABSENT, MatchTable, anchor_positions


class GroupedCandidates:
    """All valid matches of each anchor: the inputs of the other domains in the anchor's group.

    A draw gives each anchor one of its candidates. Within a group and a domain the candidates are dealt out in
    random order and in turn, so that each is used equally often, give or take one: with equally many anchors
    and candidates a draw is a one-to-one matching, and no input is left out of an epoch.
    """

    def __init__(self, dataset: DomainDataset, groups: Tensor) -> None:
        """`groups[N]`: any integers; inputs with equal ones match."""
        _, group = groups.unique(return_inverse=True)
        columns = len(dataset.domain_names)
        self.cells = group * columns + dataset.domains
        self.counts = torch.bincount(self.cells, minlength=(int(group.max()) + 1) * columns)
        self.starts = self.counts.cumsum(0) - self.counts
        self.anchors = anchor_positions(dataset)
        self.anchor_groups = group[self.anchors]
        self.anchor_domains = dataset.domains[self.anchors]
        self.anchor_cells = self.anchor_groups[:, None] * columns + torch.arange(columns)
        self.needed = self.anchor_domains[:, None] != torch.arange(columns)

    def draw(self, generator: torch.Generator) -> MatchTable:
        """One match per anchor and domain, -1 where the anchor's group has no input in a domain."""
        shuffled = _shuffled_within(self.cells, generator)
        turns = _turns(self.anchor_groups, self.needed, generator)
        counts = self.counts[self.anchor_cells]
        index = self.starts[self.anchor_cells] + turns % counts.clamp(min=1)
        rows = shuffled[index.clamp(max=len(shuffled) - 1)].masked_fill(counts == 0, ABSENT)
        rows[torch.arange(len(rows)), self.anchor_domains] = self.anchors
        return MatchTable(rows, self.anchor_domains)


def _shuffled_within(cells: Tensor, generator: torch.Generator) -> Tensor:
    """Positions sorted by cell, in random order within each."""
    order = torch.randperm(len(cells), generator=generator)
    return order[cells[order].argsort(stable=True)]


def _turns(groups: Tensor, needed: Tensor, generator: torch.Generator) -> Tensor:
    """A random numbering 0, 1, … of the members of each group, in each column of those that `needed[R, K]` marks.

    Views of one object may carry different labels and so start from different base domains: a shared numbering
    would skip the turns of those that need no match in a column, and deal some candidates twice, others never.
    """
    order = _shuffled_within(groups, generator)
    marked = needed[order].long()
    before = marked.cumsum(0) - marked
    counts = torch.bincount(groups)
    first = (counts.cumsum(0) - counts)[groups[order]]
    turns = torch.empty_like(before)
    turns[order] = before - before[first]
    return turns
