"""Which epoch's weights are kept: what is measured on validation data after each epoch, and the value to minimise."""

from dataclasses import replace
from typing import Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor

from matchdg.data import DomainDataset, DomainSplit
from matchdg.data.augmentation import AugmentedInputs
from matchdg.matching import MatchTable, RepresentationSettings
from matchdg.matching.quality import augmentation_overlap, mutual_share
from matchdg.methods import Clock
from matchdg.training.embed import embed
from matchdg.training.evaluate import Scores, evaluate, matched_objective, mean_of
from matchdg.training.objective import Objective
from matchdg.training.seeds import stream
from matchdg.training.settings import TrainingSettings

AUGMENTATION, NEIGHBOURS = "augmentation", "neighbours"


class Criterion(Protocol):
    """Measures an objective after an epoch."""

    def __call__(self, objective: Objective, epoch: int) -> tuple[Scores, float]:
        """Scores for the records, and the value of which the kept epoch has the least; NaN is never kept."""
        ...


class ClassCriterion:
    """Loss or accuracy of each source domain's validation data, the method's own objective there, or the last epoch."""

    def __init__(
        self, split: DomainSplit, settings: TrainingSettings, fabric: Fabric, table: MatchTable | None = None
    ) -> None:
        """`table` are matches of the validation data, for the criterion 'objective'."""
        self.split, self.settings, self.fabric, self.table = split, settings, fabric, table
        self.validation = on_device(split.validation, fabric.device)

    def __call__(self, objective: Objective, epoch: int) -> tuple[Scores, float]:
        """Scores by source domain."""
        validation = evaluate(objective, self.validation, self.fabric)
        return validation, self._value(objective, epoch, validation)

    def _value(self, objective: Objective, epoch: int, validation: Scores) -> float:
        keep = self.settings.keep
        if keep == "last":
            return -float(epoch)
        if keep == "objective":
            assert self.table is not None
            clock = _final_clock(objective, self.settings)
            return matched_objective(objective, self.validation, self.table, clock, self.settings.batch_rows)
        scores = validation
        if self.settings.selection == "target":
            tested = evaluate(objective, self.split.test, self.fabric)
            scores = {name: tested[name] for name in self.split.targets}
        return mean_of(scores, "loss") if keep == "loss" else -mean_of(scores, "accuracy")


class MatchCriterion:
    """How good matches of validation inputs are, as far as that can be told without knowing objects.

    Either how well inputs find their own augmentations, true pairs that everyone has (appendix C.3), or the share
    of nearest neighbours over domains that are mutual.
    """

    def __init__(
        self,
        split: DomainSplit,
        settings: TrainingSettings,
        fabric: Fabric,
        measured: RepresentationSettings,
        seed: int,
    ) -> None:
        self.split, self.settings, self.fabric, self.measured = split, settings, fabric, measured
        self.labels, self.domains = split.validation.labels, split.validation.domains
        self.originals = on_device(split.validation, fabric.device)
        self.augmented = on_device(augmented(split, seed), fabric.device)

    def __call__(self, objective: Objective, epoch: int) -> tuple[Scores, float]:
        """Overlap, top-10 overlap (percent) and mean rank of the augmentations; the share of mutual neighbours."""
        first, second = (self._features(objective, part) for part in (self.originals, self.augmented))
        found = augmentation_overlap(first, second, self.labels, self.domains)
        mutual = mutual_share(first, self.split.validation)
        scores = {AUGMENTATION: found, NEIGHBOURS: {"mutual": mutual}}
        keep = self.settings.keep
        if keep == "last":
            return scores, -float(epoch)
        # Where the chosen measure is at its end, the mean rank goes on telling epochs apart.
        tie = found["mean_rank"] * 1e-6
        values = {
            "top10-overlap": -found["top10_overlap"] + tie,
            "overlap": -found["overlap"] + tie,
            "mean-rank": found["mean_rank"],
            "mutual": -mutual + tie,
        }
        return scores, values[keep]

    def _features(self, objective: Objective, dataset: DomainDataset) -> Tensor:
        layer, statistics = self.measured.layer, self.measured.statistics
        return self.measured.prepare(embed(objective.network, dataset, layer, statistics, self.fabric), dataset)


def augmented(split: DomainSplit, seed: int) -> DomainDataset:
    """The validation data as random views of themselves, the same ones for a seed."""
    views = AugmentedInputs(split.validation.inputs, stream(seed, "validation augmentation"), split.augmentation)
    return replace(split.validation, inputs=views)


def on_device(dataset: DomainDataset, device: torch.device) -> DomainDataset:
    """The data where training happens, if they are in memory; match tables stay positions either way."""
    move = getattr(dataset.inputs, "to", None)
    if device.type == "cpu" or move is None:
        return dataset
    return DomainDataset(
        move(device),
        dataset.labels.to(device),
        dataset.domains.to(device),
        None,
        dataset.class_names,
        dataset.domain_names,
    )


def _final_clock(objective: Objective, settings: TrainingSettings) -> Clock:
    """The end of training, in the network's turn: full penalties, so that epochs are comparable."""
    step = next(step for step in range(1024) if objective.method.turn(step) == "network")
    return Clock(step, settings.epochs - 1, settings.epochs)
