"""`ImageTable`: image files with a label and a domain each; and how it becomes a `DomainDataset`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data.cache import cached_images
from matchdg.data.dataset import DomainDataset
from matchdg.data.decoders import DECODERS, Decoder
from matchdg.data.mapped import MappedInputs

OnCorrupt = Literal["error", "skip"]
_SHOWN = 5


@dataclass(frozen=True)
class ImageTable:
    """N files as columns. `labels`, `domains` and `objects` are integer tensors [N], as those of `DomainDataset`.

    `extra` [N, …] is whatever else belongs to a file; nothing here looks at it.
    """

    files: tuple[Path, ...]
    labels: Tensor
    domains: Tensor
    class_names: tuple[str, ...]
    domain_names: tuple[str, ...]
    objects: Tensor | None = None
    extra: Tensor | None = None

    def __post_init__(self) -> None:
        if not self.files:
            raise InputError("there is no image; at least one file is needed")
        for name in ("labels", "domains", "objects", "extra"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.files):
                raise InputError(f"{name} has {len(column)} values, expected {len(self.files)}: one a file")

    def __len__(self) -> int:
        return len(self.files)

    def select(self, positions: Tensor) -> "ImageTable":
        """The files at `positions`, in that order."""
        return replace(
            self,
            files=tuple(self.files[position] for position in positions.tolist()),
            labels=self.labels[positions],
            domains=self.domains[positions],
            objects=None if self.objects is None else self.objects[positions],
            extra=None if self.extra is None else self.extra[positions],
        )


@dataclass(frozen=True)
class LoadedImages:
    """What `read_images` found: the files that could be read, their pixels, and why others could not."""

    table: ImageTable
    inputs: MappedInputs
    problems: tuple[str, ...] = ()

    @property
    def dataset(self) -> DomainDataset:
        """The columns, with the pixels as inputs."""
        table = self.table
        return DomainDataset(
            self.inputs, table.labels, table.domains, table.objects, table.class_names, table.domain_names
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """One sentence about files that were left out, if any."""
        if not self.problems:
            return ()
        return (f"{len(self.problems)} files were left out, as they cannot be read: {_listed(self.problems)}",)


def read_images(
    table: ImageTable,
    size: int,
    channels: int = 3,
    on_corrupt: OnCorrupt = "error",
    decoders: dict[str, Decoder] = DECODERS,
    title: str = "images",
) -> LoadedImages:
    """Decode the files, unless the cache has them, into `size` x `size` pixels of `channels`.

    Of files that cannot be read, "error" raises `InputError` naming them and "skip" leaves them out.
    """
    cached = cached_images(table.files, size, channels, decoders, title)
    problems = tuple(cached.problems[place] for place in sorted(cached.problems))
    rows = torch.tensor(cached.rows)
    if problems and on_corrupt == "error":
        raise InputError(
            f"{len(problems)} of {len(table):,} {title} cannot be read: {_listed(problems)}\n"
            "Replace or remove them, or leave them out with --on-corrupt skip (dataset.on_corrupt=skip)"
        )
    kept = (rows >= 0).nonzero().flatten()
    if len(kept) == 0:
        raise InputError(f"none of {len(table):,} {title} can be read: {_listed(problems)}")
    inputs = MappedInputs(cached.path, cached.count, (channels, size, size), rows[kept])
    return LoadedImages(table.select(kept) if problems else table, inputs, problems)


def load_images(
    table: ImageTable,
    size: int,
    channels: int = 3,
    on_corrupt: OnCorrupt = "error",
    decoders: dict[str, Decoder] = DECODERS,
    title: str = "images",
) -> DomainDataset:
    """The data set of `read_images`, where nothing more is asked."""
    return read_images(table, size, channels, on_corrupt, decoders, title).dataset


def _listed(problems: tuple[str, ...]) -> str:
    more = len(problems) - _SHOWN
    return "; ".join(problems[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
