"""What each collection lists: files, whether they show pneumonia, and patients; read by torchxrayvision."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from matchdg.core.errors import InputError
from matchdg.data.xray.collections import CHEXPERT, NIH, RSNA, XrayCollection
from matchdg.data.xray.extra import random_state_kept, xray_module
from matchdg.data.xray.folders import files_by_stem, find_folder, table_of

Negatives = Literal["without-pneumonia", "no-finding"]
Uncertain = Literal["leave-out", "without-pneumonia", "pneumonia"]

UNUSED, WITHOUT, PNEUMONIA = -1, 0, 1
CLASSES: Final = ("no pneumonia", "pneumonia")
"""Class 0 and class 1, as in section 6."""

_UNCERTAIN: Final = {"leave-out": UNUSED, "without-pneumonia": WITHOUT, "pneumonia": PNEUMONIA}
_RSNA_CLASSES: Final = "stage_2_detailed_class_info.csv"


@dataclass(frozen=True)
class Listing:
    """The X-rays of a collection that have a label and a file, in the order of its table. N of them.

    `labels` and `patients` are arrays [N]. `absent` counts those with a label but without a file.
    """

    collection: XrayCollection
    folder: Path
    files: tuple[Path, ...]
    labels: np.ndarray
    patients: np.ndarray
    absent: int


def list_xrays(
    collection: XrayCollection,
    data_dir: Path | None = None,
    negatives: Negatives = "without-pneumonia",
    uncertain: Uncertain = "leave-out",
) -> Listing:
    """Read the collection's own table; where the folder has none, the copy that torchxrayvision brings.

    Frontal X-rays only (PA and AP), of all visits of a patient. `negatives` says what class 0 is: every X-ray that is
    labelled as without pneumonia, whatever else it shows ("Pneumonia (1) or not (0)", section 6), or those without any
    finding. In CheXpert, only an explicit 0 or "No Finding" counts as without pneumonia, and an empty cell as not
    known; `uncertain` says what its -1 counts as.

    Raises `InputError` for a table that is missing columns or cannot be read.
    """
    folder = find_folder(collection, data_dir)
    labels, patients, paths = _READERS[collection.name](folder, negatives, uncertain)
    used = np.flatnonzero(labels != UNUSED)
    there = [(row, path) for row in used.tolist() if (path := paths(row)) is not None]
    rows = np.asarray([row for row, _ in there], dtype=np.int64)
    return Listing(
        collection=collection,
        folder=folder,
        files=tuple(path for _, path in there),
        labels=labels[rows],
        patients=patients[rows],
        absent=len(used) - len(rows),
    )


# Labels [N], patients [N], and the file of a row, or None where it has none.
_Read = tuple[np.ndarray, np.ndarray, Callable[[int], Path | None]]


def _nih(folder: Path, negatives: Negatives, _: Uncertain) -> _Read:
    listed = _listed(NIH, folder, "NIH_Dataset", views=["PA", "AP"], unique_patients=False)
    findings = listed.csv["Finding Labels"]
    pneumonia = listed.labels[:, listed.pathologies.index("Pneumonia")] == 1
    normal = findings.notna() if negatives == "without-pneumonia" else findings == "No Finding"
    names, files = listed.csv["Image Index"].tolist(), files_by_stem(NIH, folder)
    return _labels(pneumonia, normal), listed.csv["patientid"].to_numpy(str), lambda row: files.get(_stem(names[row]))


def _chexpert(folder: Path, negatives: Negatives, uncertain: Uncertain) -> _Read:
    listed = _listed(CHEXPERT, folder, "CheX_Dataset", views=["PA", "AP"], unique_patients=False)
    healthy = (listed.csv["No Finding"] == 1).to_numpy()
    # NaN, which an uncertain label is made as well, is neither.
    column = listed.labels[:, listed.pathologies.index("Pneumonia")]
    labels = _labels(column == 1, column == 0 if negatives == "without-pneumonia" else healthy)
    labels[(listed.csv["Pneumonia"] == -1).to_numpy()] = _UNCERTAIN[uncertain]
    names = listed.csv["Path"].tolist()

    def path_of(row: int) -> Path | None:
        # The table's paths begin with the name of the collection's folder, whatever the user calls it.
        _, part, rest = str(names[row]).partition("train/")
        path = folder / (part + rest)
        return path if path.is_file() else None

    return labels, listed.csv["patientid"].to_numpy(str), path_of


def _rsna(folder: Path, negatives: Negatives, _: Uncertain) -> _Read:
    # Looked for now, so that it is not a file that is called unreadable.
    xray_module("pydicom")
    # All are frontal; which are PA and which AP is known of the original ones only.
    listed = _listed(RSNA, folder, "RSNA_Pneumonia_Dataset", views=["*"], extension=".dcm")
    column = listed.labels[:, listed.pathologies.index("Pneumonia")]
    names = listed.csv["patientid"].to_numpy(str)
    normal = column == 0 if negatives == "without-pneumonia" else np.isin(names, _rsna_normal(folder))
    files = files_by_stem(RSNA, folder)
    return _labels(column == 1, normal), names, lambda row: files.get(str(names[row]))


_READERS: Final = {"NIH": _nih, "CheXpert": _chexpert, "RSNA": _rsna}


def _labels(pneumonia: Any, without: Any) -> np.ndarray:
    return np.where(np.asarray(pneumonia), PNEUMONIA, np.where(np.asarray(without), WITHOUT, UNUSED)).astype(np.int64)


def _stem(name: str) -> str:
    return name.rsplit(".", 1)[0]


def _rsna_normal(folder: Path) -> np.ndarray:
    """The X-rays that RSNA calls normal: the table of labels does not tell them from other findings."""
    path = folder / _RSNA_CLASSES
    if not path.is_file():
        raise InputError(
            f"{path} does not exist; it tells which X-rays of RSNA have no finding. Get it, "
            "or set dataset.negatives=without-pneumonia"
        )
    table = _table(path, ("patientId", "class"))
    return table.loc[table["class"] == "Normal", "patientId"].to_numpy(str)


def _listed(collection: XrayCollection, folder: Path, kind: str, **options: Any) -> Any:
    """torchxrayvision's data set of a collection, for its labels; pixels are read elsewhere."""
    datasets = xray_module("torchxrayvision.datasets")
    table = table_of(collection, folder)
    if table is not None:
        _table(table, collection.columns, rows=0)
        options["csvpath"] = str(table)
    try:
        with random_state_kept():
            listed = getattr(datasets, kind)(imgpath=str(folder), **options)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise InputError(
            f"{table or collection.name} could not be read as the labels of {collection.name} "
            f"({type(error).__name__}: {error}); restore the original file"
        ) from None
    return listed


def _table(path: Path, columns: tuple[str, ...], rows: int | None = None) -> Any:
    pandas = xray_module("pandas")
    try:
        table = pandas.read_csv(path, nrows=rows)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} could not be read as a CSV file ({error}); restore the original file") from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}; expected {', '.join(columns)}, as in the "
            "original file"
        )
    return table
