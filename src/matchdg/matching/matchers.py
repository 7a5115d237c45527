"""Where matches come from: at random within a class, from known objects, or partly so."""

from typing import Protocol

import torch
from pydantic import Field
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.core.settings import Settings
from matchdg.data import DomainDataset
from matchdg.matching.grouped import GroupedCandidates
from matchdg.matching.table import MatchTable


class Matcher(Protocol):
    """Gives a match table; drawn anew each time where an anchor has several valid matches."""

    def draw(self, generator: torch.Generator) -> MatchTable:
        """One match per anchor and source domain."""
        ...


class RandomSettings(Settings):
    """Any two inputs of the same class in different domains match (RandMatch, and the batches of the baselines)."""

    def build(self, dataset: DomainDataset) -> Matcher:
        """The matcher for `dataset`."""
        return GroupedCandidates(dataset, dataset.labels)


class PerfectSettings(Settings):
    """Inputs of the same object in different domains match (PerfMatch, the oracle); one is drawn if several do."""

    same_class: bool = Field(
        False, description="match only inputs whose labels agree too; matters where labels are noisy"
    )

    def build(self, dataset: DomainDataset) -> Matcher:
        """The matcher for `dataset`, whose objects must be known."""
        return GroupedCandidates(dataset, _object_groups(dataset, self.same_class))


class PartlyPerfectSettings(Settings):
    """A fraction of the anchors gets its true match, the others a random one of their class (appendix D.3)."""

    fraction: float = Field(
        0.5, ge=0, le=1, description="share of anchors with a true match; the paper: 0.25, 0.5, 0.75"
    )
    same_class: bool = Field(False, description="true matches need equal labels too")
    seed: int = Field(0, description="which anchors get a true match; they are the same in every epoch")

    def build(self, dataset: DomainDataset) -> Matcher:
        """The matcher for `dataset`, whose objects must be known."""
        return _PartlyPerfect(
            GroupedCandidates(dataset, _object_groups(dataset, self.same_class)),
            GroupedCandidates(dataset, dataset.labels),
            self.fraction,
            self.seed,
        )


class _PartlyPerfect:
    def __init__(self, true: GroupedCandidates, random: GroupedCandidates, fraction: float, seed: int) -> None:
        self.true, self.random = true, random
        count = len(true.anchors)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
        self.is_true = torch.zeros(count, dtype=torch.bool)
        self.is_true[order[: round(fraction * count)]] = True

    def draw(self, generator: torch.Generator) -> MatchTable:
        true, random = self.true.draw(generator), self.random.draw(generator)
        return MatchTable(torch.where(self.is_true[:, None], true.rows, random.rows), true.anchors)


def _object_groups(dataset: DomainDataset, same_class: bool) -> Tensor:
    if dataset.objects is None:
        raise InputError(
            "perfect matching needs known objects, and this data set has none; "
            "give an object column or use the matcher 'random'"
        )
    _, objects = dataset.objects.unique(return_inverse=True)
    return objects * len(dataset.class_names) + dataset.labels if same_class else objects


MatcherSettings = RandomSettings | PerfectSettings | PartlyPerfectSettings
