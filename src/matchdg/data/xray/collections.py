"""The three collections of chest X-rays, and how each is laid out on disk."""

from dataclasses import dataclass
from typing import Final, Literal

XrayName = Literal["NIH", "CheXpert", "RSNA"]


@dataclass(frozen=True)
class XrayCollection:
    """A collection: its name as a domain, what its folder and its table of labels are called, what else it has.

    `columns` are those that its table must have; `example` is how its files lie.
    """

    name: XrayName
    folders: tuple[str, ...]
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    suffixes: tuple[str, ...]
    example: str


NIH: Final = XrayCollection(
    name="NIH",
    folders=("NIH", "nih", "ChestX-ray14", "chestxray14", "CXR8", "nih-chest-xrays"),
    tables=("Data_Entry_2017.csv", "Data_Entry_2017_v2020.csv"),
    columns=("Image Index", "Finding Labels", "Patient ID", "Patient Age", "View Position"),
    suffixes=(".png", ".jpg", ".jpeg"),
    example="NIH/Data_Entry_2017.csv and NIH/images/00000001_000.png, also in folders of parts",
)
CHEXPERT: Final = XrayCollection(
    name="CheXpert",
    folders=("CheXpert-v1.0-small", "CheXpert-v1.0", "CheXpert", "chexpert", "Chex", "chex"),
    tables=("train.csv",),
    columns=("Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", "No Finding", "Pneumonia"),
    suffixes=(".jpg", ".jpeg", ".png"),
    example="CheXpert-v1.0-small/train.csv and CheXpert-v1.0-small/train/patient00001/study1/view1_frontal.jpg",
)
RSNA: Final = XrayCollection(
    name="RSNA",
    folders=("RSNA", "rsna", "rsna-pneumonia-detection-challenge", "kaggle", "Kaggle"),
    tables=("stage_2_train_labels.csv",),
    columns=("patientId", "x", "y", "width", "height", "Target"),
    suffixes=(".dcm", ".png", ".jpg", ".jpeg"),
    example="RSNA/stage_2_train_labels.csv and RSNA/stage_2_train_images/0004cfab-….dcm",
)

XRAYS: Final[dict[str, XrayCollection]] = {one.name: one for one in (NIH, CHEXPERT, RSNA)}
