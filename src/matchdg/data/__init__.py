"""Data sets, and how they are split into source and target domains."""

from typing import Final

from matchdg.data.arrays import ArraysSettings
from matchdg.data.chest_xray import ChestXraySettings
from matchdg.data.counter_example import CounterExampleSettings
from matchdg.data.dataset import DomainDataset, Inputs
from matchdg.data.folder import FolderSettings
from matchdg.data.inputs import PixelInputs
from matchdg.data.mapped import MappedInputs
from matchdg.data.pacs import PacsSettings
from matchdg.data.rotated import RotatedDigitsSettings, RotatedFashionMnistSettings, RotatedMnistSettings
from matchdg.data.slab import SlabSettings
from matchdg.data.split import DomainSplit, split_by_domain

DatasetSettings = (
    SlabSettings
    | CounterExampleSettings
    | RotatedMnistSettings
    | RotatedFashionMnistSettings
    | RotatedDigitsSettings
    | ArraysSettings
    | FolderSettings
    | PacsSettings
    | ChestXraySettings
)

DATASETS: Final[dict[str, type[DatasetSettings]]] = {
    "slab": SlabSettings,
    "counter-example": CounterExampleSettings,
    "rotated-mnist": RotatedMnistSettings,
    "rotated-fashion-mnist": RotatedFashionMnistSettings,
    "rotated-digits": RotatedDigitsSettings,
    "arrays": ArraysSettings,
    "folder": FolderSettings,
    "pacs": PacsSettings,
    "chest-xray": ChestXraySettings,
}

__all__ = [
    "DATASETS",
    "DatasetSettings",
    "DomainDataset",
    "DomainSplit",
    "Inputs",
    "MappedInputs",
    "PixelInputs",
    "split_by_domain",
]
