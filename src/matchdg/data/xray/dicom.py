"""DICOM files as greyscale images of 8 bits, whatever the depth, the sign and the direction of their numbers."""

from pathlib import Path
from typing import Any

import numpy as np

from matchdg.data.xray.extra import xray_module

PHOTOMETRIC = ("MONOCHROME1", "MONOCHROME2", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_RCT", "YBR_ICT")
# Of the colours red, green and blue, as in ITU-R 601.
LUMINANCE = (0.299, 0.587, 0.114)


def read_dicom(path: Path) -> np.ndarray:
    """The image of a DICOM file as uint8 [H, W], 0 black and 255 white.

    Stored numbers become values of the modality (`RescaleSlope`, `RescaleIntercept` or a table), and those become
    grey. By what the file says, in this order: its table (`VOILUTSequence`); its window (`WindowCenter` and
    `WindowWidth`, the first if there are several; DICOM PS3.3 C.11.2.1.2); else, up to 8 bits, unsigned and not
    rescaled, as they are, so that 8-bit files lose nothing; else the least value is black and the greatest white,
    because files of 10 to 16 bits seldom use the whole range. MONOCHROME1, where small is bright, is inverted.
    Colours become their luminance.

    Raises `ValueError` for a file that is no DICOM image, has several frames, or is compressed in a way that the
    installed packages do not read; whoever reads files names it.
    """
    pydicom = xray_module("pydicom")
    try:
        file = pydicom.dcmread(path)
        stored = np.asarray(file.pixel_array)
        photometric = str(file.PhotometricInterpretation)
        values = _modality(file, stored) if photometric.startswith("MONOCHROME") else stored
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # pydicom lets through what its parsers and decoders happen to raise.
        raise ValueError(f"it cannot be read as a DICOM image ({_first_line(error)})") from None
    if photometric not in PHOTOMETRIC:
        raise ValueError(f"it is a {photometric} image, expected one of {', '.join(PHOTOMETRIC)}")
    if stored.ndim != (2 if photometric.startswith("MONOCHROME") else 3) or not stored.size:
        raise ValueError(f"it has pixels of shape {stored.shape}, expected one image [rows, columns]")
    if not photometric.startswith("MONOCHROME"):
        depth = 2 ** int(file.BitsStored) - 1
        return _bytes(values @ np.asarray(LUMINANCE) / depth)
    grey = _grey(file, stored, values)
    return 255 - grey if photometric == "MONOCHROME1" else grey


def _modality(file: Any, stored: np.ndarray) -> np.ndarray:
    return np.asarray(xray_module("pydicom.pixels").apply_modality_lut(stored, file))


def _grey(file: Any, stored: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of the modality [H, W] as uint8, small ones dark."""
    if file.get("VOILUTSequence"):
        table = file.VOILUTSequence[0]
        shown = xray_module("pydicom.pixels").apply_voi(values, file)
        return _bytes(np.asarray(shown, np.float64) / (2 ** int(table.LUTDescriptor[2]) - 1))
    width = _first(file.get("WindowWidth"))
    centre = _first(file.get("WindowCenter"))
    if centre is not None and width is not None and width > 0:
        return _bytes(_window(values, centre, width, str(file.get("VOILUTFunction", "LINEAR"))))
    if stored.dtype == np.uint8 and np.array_equal(values, stored):
        # Fewer than 8 bits are spread over 8.
        return stored if int(file.BitsStored) == 8 else _bytes(stored / (2 ** int(file.BitsStored) - 1))
    low, high = float(values.min()), float(values.max())
    return _bytes((values - low) / max(high - low, np.finfo(np.float64).tiny))


def _window(values: np.ndarray, centre: float, width: float, function: str) -> np.ndarray:
    """Grey in [0, 1], as DICOM PS3.3 C.11.2.1.2 and C.11.2.1.3 define it."""
    if function == "SIGMOID":
        return 1 / (1 + np.exp(-4 * (values - centre) / width))
    if function == "LINEAR_EXACT" or width <= 1:
        return np.asarray((values - centre) / width + 0.5)
    return np.asarray((values - (centre - 0.5)) / (width - 1) + 0.5)


def _bytes(grey: np.ndarray) -> np.ndarray:
    return np.rint(255 * np.clip(grey, 0, 1)).astype(np.uint8)


def _first(value: Any) -> float | None:
    if value is None or value == "":
        return None
    return float(value[0] if hasattr(value, "__len__") and not isinstance(value, str) else value)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
