"""`DomainDataset`: columns of inputs, labels, domains and objects that every room works on."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import prod
from numbers import Integral
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from matchdg.core.errors import InputError

# A label above this is taken for an identifier that was given for a class by mistake.
MOST_CLASSES = 100_000
_FINGERPRINT_ROWS, _FINGERPRINT_VALUES = 4096, 2**23


class Inputs(Protocol):
    """Anything that gathers a whole batch at once: a tensor, a memory-mapped array, image files."""

    def __len__(self) -> int: ...

    def __getitem__(self, positions: Tensor, /) -> Tensor: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of inputs, then the shape of one."""
        ...


@runtime_checkable
class SubsetInputs(Inputs, Protocol):
    """Inputs that can be cut to some of them without gathering those: images kept as bytes, files on disk."""

    def subset(self, positions: Tensor, /) -> Self:
        """The inputs at `positions`, in that order, kept as they are."""
        ...


@dataclass(frozen=True)
class DomainDataset:
    """Inputs with a label, a domain and, where known, an object each.

    `labels`, `domains` and `objects` are integer tensors of length N; a label or a domain is an index into
    `class_names` or `domain_names`. Objects are any integers; equal ones are views of the same object.

    >>> data = DomainDataset.from_arrays([[0.0], [1.0]], labels=[0, 1], domains=["a", "b"])
    >>> data.domain_names, len(data)
    (('a', 'b'), 2)
    """

    inputs: Inputs
    labels: Tensor
    domains: Tensor
    objects: Tensor | None
    class_names: tuple[str, ...]
    domain_names: tuple[str, ...]

    def __post_init__(self) -> None:
        count = len(self.inputs)
        if count == 0:
            raise InputError("the data set is empty; at least one input is needed")
        columns = {"labels": self.labels, "domains": self.domains}
        if self.objects is not None:
            columns["objects"] = self.objects
        for name, column in columns.items():
            if column.shape != (count,):
                raise InputError(f"{name} has shape {tuple(column.shape)}, expected ({count},): one an input")
            if column.dtype != torch.int64:
                raise InputError(f"{name} must be integers, got {column.dtype}; encode them as 0, 1, 2, …")
        _check_unique("class", self.class_names)
        _check_unique("domain", self.domain_names)
        _check_range("labels", self.labels, self.class_names)
        _check_range("domains", self.domains, self.domain_names)
        if isinstance(self.inputs, Tensor):
            _check_finite(self.inputs)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.inputs.shape[1:])

    @cached_property
    def counts(self) -> Tensor:
        """`counts[domain, class]`: how many inputs each cell has."""
        cells = self.domains * len(self.class_names) + self.labels
        size = len(self.domain_names) * len(self.class_names)
        return torch.bincount(cells, minlength=size).view(len(self.domain_names), -1)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content, the same for equal data on every machine."""
        sha = hashlib.sha256(repr((self.class_names, self.domain_names)).encode())
        # In parts, because the inputs need not fit into memory.
        rows = min(_FINGERPRINT_ROWS, max(1, _FINGERPRINT_VALUES // max(1, prod(self.input_shape))))
        for positions in torch.arange(len(self)).split(rows):
            sha.update(_bytes(self.inputs[positions]))
        for column in (self.labels, self.domains, self.objects):
            if column is not None:
                sha.update(_bytes(column))
        return sha.hexdigest()[:16]

    def select(self, positions: Tensor) -> "DomainDataset":
        """The inputs at `positions`, in that order, with the same names of classes and domains."""
        objects = None if self.objects is None else self.objects[positions]
        inputs = self.inputs
        return DomainDataset(
            inputs.subset(positions) if isinstance(inputs, SubsetInputs) else inputs[positions],
            self.labels[positions],
            self.domains[positions],
            objects,
            self.class_names,
            self.domain_names,
        )

    @classmethod
    def from_arrays(
        cls,
        inputs: Any,
        labels: Any,
        domains: Any,
        objects: Any = None,
        class_names: tuple[str, ...] | None = None,
        domain_names: tuple[str, ...] | None = None,
    ) -> "DomainDataset":
        """Build from arrays, lists or tensors. Labels must be integers; domains and objects may be strings.

        With `domain_names`, domains are indices into them.
        """
        encoded_labels = _as_labels(labels)
        if class_names is None:
            class_names = _numbered_names(encoded_labels)
        encoded_domains, found = _encode("domains", domains, domain_names)
        encoded_objects = None if objects is None else _encode("objects", objects, None)[0]
        return cls(_as_inputs(inputs), encoded_labels, encoded_domains, encoded_objects, class_names, found)


def _as_inputs(inputs: Any) -> Tensor:
    if not isinstance(inputs, Tensor):
        array = np.asarray(inputs)
        if array.dtype.kind not in "buif":
            raise InputError(f"inputs must be numbers, got {array.dtype}; encode them as numbers first")
        # PyTorch takes neither reversed arrays nor those of a machine with the other byte order.
        inputs = torch.from_numpy(np.ascontiguousarray(array, array.dtype.newbyteorder("=")))
    return inputs if inputs.dtype == torch.uint8 else inputs.to(torch.float32)


def _as_labels(labels: Any) -> Tensor:
    array = labels.numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if not np.issubdtype(array.dtype, np.integer):
        shown = array.reshape(-1)[:1].tolist()
        raise InputError(
            f"labels must be integers, got {array.dtype} such as {shown}; encode the classes as 0, 1, 2, …"
        )
    return torch.from_numpy(array.astype(np.int64))


def _numbered_names(labels: Tensor) -> tuple[str, ...]:
    top = int(labels.max()) if len(labels) else 0
    if top >= MOST_CLASSES:
        raise InputError(f"labels go up to {top}; encode the classes as 0, 1, 2, … without gaps")
    return tuple(str(label) for label in range(max(top, 0) + 1))


def _encode(kind: str, column: Any, names: tuple[str, ...] | None) -> tuple[Tensor, tuple[str, ...]]:
    array = _without_gaps(kind, column.numpy() if isinstance(column, Tensor) else np.asarray(column))
    if names is not None:
        if not np.issubdtype(array.dtype, np.integer):
            shown = array.reshape(-1)[:1].tolist()
            raise InputError(
                f"{kind} must be integers, indices into the names given, got {array.dtype} such as {shown}; "
                "leave the names out to use those found"
            )
        return torch.from_numpy(array.astype(np.int64)), names
    values, codes = np.unique(array, return_inverse=True)
    return torch.from_numpy(codes.reshape(-1).astype(np.int64)), tuple(str(value) for value in values)


def _without_gaps(kind: str, array: np.ndarray) -> np.ndarray:
    missing: list[int] = []
    if array.dtype == object:
        values = array.reshape(-1).tolist()
        missing = [row for row, value in enumerate(values) if not isinstance(value, str | Integral)]
        array = array if missing else np.asarray(values)
    elif array.dtype.kind == "f":
        missing = np.isnan(array.reshape(-1)).nonzero()[0].tolist()
    if missing:
        raise InputError(f"{kind}[{missing[0]}] is missing or not a string or integer; every input needs one")
    return array


def _bytes(column: Tensor) -> bytes:
    return np.ascontiguousarray(column.cpu().numpy()).tobytes()


def _check_unique(kind: str, names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        raise InputError(f"a {kind} is named twice: {', '.join(names)}; give each name once")


def _check_range(name: str, column: Tensor, names: tuple[str, ...]) -> None:
    low, high = int(column.min()), int(column.max())
    if low < 0 or high >= len(names):
        wrong = low if low < 0 else high
        row = int((column == wrong).nonzero()[0])
        raise InputError(f"{name}[{row}] is {wrong}, expected 0 to {len(names) - 1} ({', '.join(names)})")


def _check_finite(inputs: Tensor) -> None:
    if not inputs.is_floating_point():
        return
    finite = inputs.isfinite().flatten(1).all(1) if inputs.dim() > 1 else inputs.isfinite()
    if not bool(finite.all()):
        rows = (~finite).nonzero().flatten().tolist()
        shown = ", ".join(str(row) for row in rows[:5]) + (", …" if len(rows) > 5 else "")
        raise InputError(
            f"inputs have NaN or infinite values in {len(rows)} row(s): {shown}; remove or impute them first"
        )
