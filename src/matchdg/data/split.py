"""`DomainSplit`: what trains, what selects, what tests; and the checks that keep the target domains out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.core.families import unknown_name
from matchdg.data.augmentation import AugmentationSettings
from matchdg.data.dataset import DomainDataset, Inputs


class Views(Protocol):
    """How training inputs are augmented."""

    def shown(self, inputs: Inputs, seed: int, epoch: int, draw: int, /) -> Inputs:
        """A random view of each of `inputs`: the same for equal seed, epoch and draw, whatever is asked for first."""
        ...


@dataclass(frozen=True)
class DomainSplit:
    """`train` and `validation` hold source domains only; `test` holds targets, and sources where there are any.

    Positions, labels and domain indices are each data set's own; class names are shared. `augmentation` is how an
    input of this data is augmented to make true pairs for phase 1's stopping rule (appendix C.3). `views` is how
    training inputs are augmented, anew in each epoch; None: they are not. `remarks` are sentences that the user
    should see, on what was found in files that are as they are.
    """

    train: DomainDataset
    validation: DomainDataset
    test: DomainDataset
    targets: tuple[str, ...]
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    views: Views | None = None
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sources = self.sources
        if len(sources) < 2:
            raise InputError(
                f"domain generalization needs at least two source domains, got {len(sources)}: "
                f"{', '.join(sources) or 'none'}"
            )
        both = sorted(set(sources) & set(self.targets))
        if both:
            raise InputError(f"{', '.join(both)}: a target domain must not be a source domain as well")
        if not self.targets:
            raise InputError("no target domain was named; name at least one that is not a source")
        if self.validation.domain_names != sources:
            raise InputError(f"validation domains {self.validation.domain_names} are not the sources {sources}")
        missing = sorted(set(self.targets) - set(self.test.domain_names))
        if missing:
            raise InputError(unknown_name("target domain", missing[0], self.test.domain_names))
        _check_filled(self.train, sources)
        _check_filled(self.test, self.targets)
        self._check_classes()

    def _check_classes(self) -> None:
        for part in (self.validation, self.test):
            if part.class_names != self.train.class_names:
                raise InputError(
                    f"class names differ: {self.train.class_names} in training, {part.class_names} elsewhere; "
                    "give all parts the same class_names"
                )
        trained = self.train.counts.sum(0) > 0
        tested = self.test.counts.sum(0) > 0
        for label in (tested & ~trained).nonzero().flatten().tolist():
            name = self.train.class_names[label]
            raise InputError(
                f"class {name!r} is in the target but in no source domain, so it cannot be learnt; "
                "add source inputs of it or remove it from the target"
            )

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the source domains, in the order of the match table's columns."""
        return self.train.domain_names

    @property
    def notices(self) -> tuple[str, ...]:
        """What is unusual about the data, one sentence each: remarks, and classes that a source domain lacks."""
        absent = ((self.train.counts == 0) & (self.train.counts.sum(0) > 0)).nonzero().tolist()
        return self.remarks + tuple(
            f"source domain {self.sources[domain]!r} has no input of class {self.train.class_names[label]!r}; "
            "its matches are left out there"
            for domain, label in absent
        )


def split_by_domain(
    dataset: DomainDataset,
    targets: Sequence[str],
    sources: Sequence[str] | None = None,
    validation_fraction: float = 0.2,
    seed: int = 0,
) -> DomainSplit:
    """Hold out `targets` for test; split each (source domain, class) into training and validation.

    `sources` defaults to every other domain. Every cell with two inputs or more gives at least one to
    validation and keeps at least one for training.
    """
    names = dataset.domain_names
    for role, given in (("targets", targets), ("sources", sources)):
        if isinstance(given, str):
            raise InputError(f"{role} is {given!r}, expected a list of domain names; write [{given!r}]")
    for name in [*targets, *(sources or ())]:
        if name not in names:
            raise InputError(unknown_name("domain", name, names))
    if sources is None:
        sources = [name for name in names if name not in targets]
    if not 0 < validation_fraction < 1:
        raise InputError(f"validation_fraction is {validation_fraction}, expected a number between 0 and 1")
    if len(sources) < 2 or set(sources) & set(targets):
        # The same checks as DomainSplit's, before anything is cut to pieces.
        overlap = ", ".join(sorted(set(sources) & set(targets)))
        if overlap:
            raise InputError(f"{overlap}: a target domain must not be a source domain as well")
        raise InputError(f"domain generalization needs at least two source domains, got {len(sources)}")
    held_out = _validation_mask(dataset, validation_fraction, seed)
    return DomainSplit(
        train=restrict(dataset, sources, ~held_out),
        validation=restrict(dataset, sources, held_out),
        test=restrict(dataset, targets, torch.ones(len(dataset), dtype=torch.bool)),
        targets=tuple(targets),
    )


def _check_filled(dataset: DomainDataset, names: Sequence[str]) -> None:
    for name in names:
        if not bool(dataset.counts[dataset.domain_names.index(name)].any()):
            raise InputError(f"domain {name!r} has no inputs; add some or leave it out")


def _validation_mask(dataset: DomainDataset, fraction: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.zeros(len(dataset), dtype=torch.bool)
    cells = dataset.domains * len(dataset.class_names) + dataset.labels
    for cell in cells.unique().tolist():
        positions = (cells == cell).nonzero().flatten()
        if len(positions) == 1:
            continue
        order = torch.randperm(len(positions), generator=generator)
        taken = min(max(1, round(fraction * len(positions))), len(positions) - 1)
        mask[positions[order[:taken]]] = True
    return mask


def restrict(dataset: DomainDataset, names: Sequence[str], mask: Tensor) -> DomainDataset:
    """The inputs in `mask` [N] of the domains called `names`, which are its domains, in that order."""
    lookup = torch.full((len(dataset.domain_names),), -1)
    for index, name in enumerate(names):
        lookup[dataset.domain_names.index(name)] = index
    positions = ((lookup[dataset.domains] >= 0) & mask).nonzero().flatten()
    if len(positions) == 0:
        raise InputError(f"no inputs are left in {', '.join(names)}; every domain needs at least two a class")
    part = dataset.select(positions)
    return DomainDataset(part.inputs, part.labels, lookup[part.domains], part.objects, part.class_names, tuple(names))
