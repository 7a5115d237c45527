"""Tiny look-alikes of NIH, CheXpert and RSNA, in the layouts in which they are distributed."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

NIH_COLUMNS = (
    "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    "OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y]"
)
CHEXPERT_COLUMNS = (
    "Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Enlarged Cardiomediastinum,Cardiomegaly,Lung Opacity,Lung Lesion,"
    "Edema,Consolidation,Pneumonia,Atelectasis,Pneumothorax,Pleural Effusion,Pleural Other,Fracture,Support Devices"
)
RSNA_COLUMNS = "patientId,x,y,width,height,Target"


@pytest.fixture
def dicom(tmp_path: Path) -> Callable[..., Path]:
    """Write a DICOM file of `pixels`; keyword arguments are its other elements."""

    def write(
        pixels: np.ndarray, path: Path = tmp_path / "image.dcm", bits: int | None = None, **elements: Any
    ) -> Path:
        import pydicom
        from pydicom.dataset import FileMetaDataset
        from pydicom.uid import ComputedRadiographyImageStorage, ExplicitVRLittleEndian, generate_uid

        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = ComputedRadiographyImageStorage
        meta.MediaStorageSOPInstanceUID = generate_uid()
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        file = pydicom.Dataset()
        file.file_meta = meta
        file.SOPClassUID, file.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
        file.PatientID, file.Modality, file.ViewPosition = path.stem, "CR", "PA"
        file.PhotometricInterpretation, file.SamplesPerPixel = "MONOCHROME2", 1
        if pixels.ndim == 3 and pixels.shape[-1] == 3:
            file.PhotometricInterpretation, file.SamplesPerPixel, file.PlanarConfiguration = "RGB", 3, 0
        elif pixels.ndim == 3:
            file.NumberOfFrames = len(pixels)
        file.Rows, file.Columns = pixels.shape[:2] if file.SamplesPerPixel == 3 else pixels.shape[-2:]
        file.BitsAllocated = 8 * pixels.itemsize
        file.BitsStored = bits or file.BitsAllocated
        file.HighBit = file.BitsStored - 1
        file.PixelRepresentation = int(pixels.dtype.kind == "i")
        file.PixelData = pixels.tobytes() + b"\0" * (pixels.nbytes % 2)
        for name, value in elements.items():
            setattr(file, name, value)
        path.parent.mkdir(parents=True, exist_ok=True)
        file.save_as(path, enforce_file_format=True)
        return path

    return write


def table(path: Path, header: str, rows: Iterable[Sequence[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        stream.write(header + "\n")
        csv.writer(stream).writerows(rows)
    return path


def body(pneumonia: bool, seed: int, shape: tuple[int, int] = (32, 32)) -> np.ndarray:
    """A bright band in the middle half, brighter on the left with pneumonia; black above and below."""
    pixels = np.zeros(shape, np.uint8)
    top, bottom = shape[0] // 4, 3 * shape[0] // 4
    pixels[top:bottom] = 100 + seed % 50
    if pneumonia:
        pixels[top:bottom, : shape[1] // 2] = 250
    return pixels


@pytest.fixture
def nih(tmp_path: Path) -> Callable[..., Path]:
    """NIH as it is distributed: one table, PNG files in folders of parts. A row is (findings, patient)."""

    def write(rows: Sequence[tuple[str, int]], root: Path = tmp_path) -> Path:
        folder, visits, lines = root / "NIH", {}, []
        for number, (findings, patient) in enumerate(rows):
            visits[patient] = visits.get(patient, -1) + 1
            name = f"{patient:08d}_{visits[patient]:03d}.png"
            lines.append((name, findings, visits[patient], patient, 50, "M", "PA", 2682, 2749, 0.143, 0.143))
            place = folder / f"images_{number % 2 + 1:03d}" / "images"
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(body("Pneumonia" in findings, number)).save(place / name)
        table(folder / "Data_Entry_2017.csv", NIH_COLUMNS, lines)
        return root

    return write


@pytest.fixture
def chexpert(tmp_path: Path) -> Callable[..., Path]:
    """CheXpert as it is distributed: `train.csv` and a tree of JPEG files. A row is (no finding, pneumonia, patient),
    and a view if it is not frontal.
    """

    def write(rows: Sequence[tuple[Any, ...]], root: Path = tmp_path) -> Path:
        folder, visits, lines = root / "CheXpert-v1.0-small", {}, []
        for number, (healthy, pneumonia, patient, *other) in enumerate(rows):
            visits[patient] = visits.get(patient, 0) + 1
            view = other[0] if other else "frontal"
            path = f"train/patient{patient:05d}/study{visits[patient]}/view1_{view}.jpg"
            kind = ("Frontal", "AP") if view == "frontal" else ("Lateral", "")
            lines.append((f"CheXpert-v1.0-small/{path}", "Female", 68, *kind, healthy, *[""] * 6, pneumonia, *[""] * 6))
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(body(pneumonia == "1.0", number, (36, 30))).save(folder / path)
        table(folder / "train.csv", CHEXPERT_COLUMNS, lines)
        return root

    return write


@pytest.fixture
def rsna(tmp_path: Path, dicom: Callable[..., Path]) -> Callable[..., Path]:
    """RSNA as it is distributed: two tables, one row a box, and DICOM files. A row is the class of an X-ray."""

    def write(
        classes: Sequence[str],
        root: Path = tmp_path,
        transform: Callable[[np.ndarray], np.ndarray] = np.asarray,
        **elements: Any,
    ) -> Path:
        folder, boxes, lines = root / "rsna-pneumonia-detection-challenge", [], []
        for number, name in enumerate(classes):
            identity = f"0004cfab-14fd-4e49-80ba-{number:012x}"
            # As many rows as boxes: two in every X-ray with pneumonia.
            found = [(8, 8, 4, 4, 1), (20, 8, 4, 4, 1)] if name == "Lung Opacity" else [("", "", "", "", 0)]
            boxes += [(identity, *box) for box in found]
            lines += [(identity, name)] * len(found)
            pixels = transform(body(name == "Lung Opacity", number, (40, 40)))
            dicom(pixels, folder / "stage_2_train_images" / f"{identity}.dcm", **elements)
        table(folder / "stage_2_train_labels.csv", RSNA_COLUMNS, boxes)
        table(folder / "stage_2_detailed_class_info.csv", "patientId,class", lines)
        return root

    return write


@pytest.fixture
def three(nih: Callable[..., Path], chexpert: Callable[..., Path], rsna: Callable[..., Path]) -> Callable[..., Path]:
    """All three, with as many X-rays of each class as asked for, each of a patient of its own."""

    def write(each: int = 10) -> Path:
        numbers = range(1, each + 1)
        nih([(kind, 2 * n + b) for n in numbers for b, kind in enumerate(("No Finding", "Infiltration|Pneumonia"))])
        chexpert([(*kind, 2 * n + b) for n in numbers for b, kind in enumerate((("1.0", ""), ("", "1.0")))])
        return rsna(["Normal", "Lung Opacity"] * each)

    return write
