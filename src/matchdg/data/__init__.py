"""Data sets, and how they are split into source and target domains."""

from typing import Final

from matchdg.data.arrays import ArraysSettings
from matchdg.data.counter_example import CounterExampleSettings
from matchdg.data.dataset import DomainDataset, Inputs
from matchdg.data.slab import SlabSettings
from matchdg.data.split import DomainSplit, split_by_domain

DatasetSettings = SlabSettings | CounterExampleSettings | ArraysSettings

DATASETS: Final[dict[str, type[DatasetSettings]]] = {
    "slab": SlabSettings,
    "counter-example": CounterExampleSettings,
    "arrays": ArraysSettings,
}

__all__ = ["DATASETS", "DatasetSettings", "DomainDataset", "DomainSplit", "Inputs", "split_by_domain"]
