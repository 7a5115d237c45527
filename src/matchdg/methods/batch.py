"""`Batch`: rows of a match table as flat inputs, and the way back to the grid of rows by domains."""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import torch
from torch import Tensor

from matchdg.data import DomainDataset, Inputs


# Not frozen, and nor is `Batch`: Fabric refuses frozen ones among the arguments of what it wraps.
@dataclass
class Part:
    """What a process has of a batch that several share: the places [E] of its inputs, and how much they count.

    `share` is its rows by all rows, times the number of processes, so that the processes' mean is that of the rows.
    """

    places: Tensor
    share: float


@dataclass
class Batch:
    """B rows of a match table over K source domains; V inputs are present, V = B K where none is absent.

    Inputs are flat, domain by domain, so that the network sees present inputs only: a placeholder for an absent
    one would enter BatchNorm's statistics. Labels are one an input, not one a row: views of one object may carry
    different labels where labels are noisy.

    `inputs[V, …]`, `labels[V]`; `cells[V]` indexes the flattened grid [K B], None where every cell is present.
    `positions[V]` are the inputs' places in the data: where matches are not one-to-one, rows share inputs.
    `extra` are inputs [E, …] and labels [E] beside the rows, which get the classification loss alone. `paired` are
    other views of `inputs`, for methods that ask for them. Where several processes share the batch, `inputs`, `paired`
    and `extra` are those of this one's `part`, and all else is of the whole batch.
    """

    inputs: Tensor
    labels: Tensor
    rows: int
    columns: int
    classes: int
    cells: Tensor | None = None
    extra: tuple[Tensor, Tensor] | None = None
    part: Part | None = None
    positions: Tensor | None = None
    paired: Tensor | None = None

    @classmethod
    def gather(
        cls,
        dataset: DomainDataset,
        rows: Tensor,
        complete: bool,
        extra: Tensor | None = None,
        views: Inputs | None = None,
    ) -> "Batch":
        """The inputs and labels at `rows[B, K]`; `complete` promises that there is no -1 among them.

        `extra[E]` are the positions of the extra part; `views` are other views of the data set's inputs, to pair.
        """
        positions, cells = _positions(rows, complete)
        return cls._of(dataset, rows, positions, cells, extra, views=views)

    @classmethod
    def gather_part(
        cls,
        dataset: DomainDataset,
        rows: Tensor,
        complete: bool,
        own: slice,
        processes: int,
        extra: Tensor | None,
        views: Inputs | None = None,
    ) -> "Batch":
        """The same for one of `processes` that share the batch, whose rows are `own`; the inputs are these rows'."""
        positions, cells = _positions(rows, complete)
        numbers = (torch.arange(len(positions), device=rows.device) if cells is None else cells) % len(rows)
        places = ((numbers >= own.start) & (numbers < own.stop)).nonzero().flatten()
        batch = cls._of(dataset, rows, positions, cells, extra, places, views)
        return replace(batch, part=Part(places, (own.stop - own.start) * processes / len(rows)))

    @classmethod
    def _of(
        cls,
        dataset: DomainDataset,
        rows: Tensor,
        positions: Tensor,
        cells: Tensor | None,
        extra: Tensor | None,
        places: Tensor | None = None,
        views: Inputs | None = None,
    ) -> "Batch":
        own = positions if places is None else positions[places]
        return cls(
            dataset.inputs[own],
            dataset.labels[positions],
            len(rows),
            rows.shape[1],
            len(dataset.class_names),
            cells,
            None if extra is None else (dataset.inputs[extra], dataset.labels[extra]),
            positions=positions,
            paired=None if views is None else views[own],
        )

    def to(self, device: torch.device) -> "Batch":
        """The same batch on `device`."""
        cells = None if self.cells is None else self.cells.to(device)
        inputs, labels = self.inputs.to(device), self.labels.to(device)
        extra = None if self.extra is None else (self.extra[0].to(device), self.extra[1].to(device))
        positions = None if self.positions is None else self.positions.to(device)
        paired = None if self.paired is None else self.paired.to(device)
        return replace(self, inputs=inputs, labels=labels, cells=cells, extra=extra, positions=positions, paired=paired)

    @cached_property
    def domains(self) -> Tensor:
        """The column of each input. Shape [V]."""
        if self.cells is not None:
            return self.cells // self.rows
        return _domains_of_complete(self.rows, self.columns, self.labels.device)

    @cached_property
    def mask(self) -> Tensor | None:
        """Which cells are present, [B, K]; None where all are."""
        if self.cells is None:
            return None
        flat = torch.zeros(self.rows * self.columns, dtype=torch.bool, device=self.labels.device)
        return flat.index_fill(0, self.cells, True).view(self.columns, self.rows).T

    def grid(self, values: Tensor) -> Tensor:
        """`values[V, D]` as [B, K, D], zero where absent."""
        if self.cells is None:
            return values.view(self.columns, self.rows, -1).transpose(0, 1)
        flat = values.new_zeros(self.rows * self.columns, values.shape[-1])
        return flat.index_copy(0, self.cells, values).view(self.columns, self.rows, -1).transpose(0, 1)

    def domain_means(self, values: Tensor) -> Tensor:
        """Mean of `values[V]` per domain, [K]; NaN for a domain with no input in this batch."""
        if self.cells is None:
            return values.view(self.columns, self.rows).mean(1)
        sums = values.new_zeros(self.columns).index_add(0, self.domains, values)
        return sums / torch.bincount(self.domains, minlength=self.columns)


def _positions(rows: Tensor, complete: bool) -> tuple[Tensor, Tensor | None]:
    """Positions of the inputs, domain by domain, and the cells of the grid that they fill."""
    positions = rows.T.flatten()
    if complete:
        return positions, None
    cells = (positions >= 0).nonzero().flatten()
    return positions[cells], cells


@cache
def _domains_of_complete(rows: int, columns: int, device: torch.device) -> Tensor:
    return torch.arange(columns, device=device).repeat_interleave(rows)
