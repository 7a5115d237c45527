"""Your own arrays: one `.npz` file with inputs, labels, domains and, where known, objects."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from matchdg.core.errors import InputError
from matchdg.core.families import unknown_name
from matchdg.core.settings import Settings
from matchdg.data.dataset import DomainDataset
from matchdg.data.split import DomainSplit, split_by_domain

COLUMNS = ("inputs", "labels", "domains", "objects")
# What NumPy raises for a file that is something else, cut short or changed on the way.
_UNREADABLE = (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)


class ArraysSettings(Settings):
    """Arrays of a `.npz` file: `inputs` [N, …], `labels` [N] integers, `domains` [N], optionally `objects` [N]."""

    path: Path = Field(description="the .npz file")
    targets: tuple[str, ...] = Field(min_length=1, description="domains to hold out for test")
    sources: tuple[str, ...] | None = Field(None, description="domains to train on; default: all others")
    validation_fraction: float = Field(0.2, gt=0, lt=1, description="part of each source domain that selects")

    def build(self, seed: int) -> DomainSplit:
        """Read the file and split it: the targets held out, the sources cut by class with `seed`."""
        columns = self._read()
        for name in COLUMNS[:3]:
            if name not in columns:
                raise InputError(f"{self.path} has no array {name!r}; it has {', '.join(columns) or 'none'}")
        dataset = DomainDataset.from_arrays(**columns)
        return split_by_domain(dataset, self.targets, self.sources, self.validation_fraction, seed)

    def _read(self) -> dict[str, Any]:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                columns = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise InputError(f"{self.path} does not exist; give the path of a .npz file") from None
        except _UNREADABLE as error:
            raise InputError(
                f"{self.path} is not a readable .npz file of plain arrays ({error}); "
                "write it with numpy.savez from arrays of numbers or strings"
            ) from None
        for name in columns:
            if name not in COLUMNS:
                raise InputError(unknown_name(f"array in {self.path}", name, COLUMNS))
        return columns
