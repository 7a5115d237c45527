from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from matchdg.data.xray.dicom import read_dicom

pytest.importorskip("pydicom", reason="the extra [xray] is not installed: pip install 'matchdg[xray]'")

Dicom = Callable[..., Path]
RAMP8 = np.arange(256, dtype=np.uint8).reshape(16, 16)
RAMP12 = np.arange(4096, dtype=np.uint16).reshape(64, 64)


def test_eight_bits_are_taken_as_they_are(dicom: Dicom) -> None:
    assert np.array_equal(read_dicom(dicom(RAMP8 // 2)), RAMP8 // 2)


def test_eight_bits_and_an_empty_window_are_taken_as_they_are(dicom: Dicom) -> None:
    pixels = RAMP8 // 2
    assert np.array_equal(read_dicom(dicom(pixels, WindowCenter=None, WindowWidth=None)), pixels)


def test_fewer_bits_are_spread_over_eight(dicom: Dicom) -> None:
    assert read_dicom(dicom(np.array([[0, 7], [15, 3]], np.uint8), bits=4)).tolist() == [[0, 119], [255, 51]]


@pytest.mark.parametrize("bits", [12, 16])
def test_twelve_bits_become_eight(dicom: Dicom, bits: int) -> None:
    expected = np.rint(RAMP12 / 4095 * 255)
    assert np.array_equal(read_dicom(dicom(RAMP12, bits=bits)), expected)


def test_a_part_of_the_range_is_spread_over_all_of_it(dicom: Dicom) -> None:
    assert read_dicom(dicom(np.array([[1000, 1500, 2000]], np.uint16), bits=12)).tolist() == [[0, 128, 255]]


def test_small_is_bright_in_monochrome1(dicom: Dicom) -> None:
    assert np.array_equal(read_dicom(dicom(RAMP8, PhotometricInterpretation="MONOCHROME1")), 255 - RAMP8)
    deep = read_dicom(dicom(RAMP12, bits=12, PhotometricInterpretation="MONOCHROME1"))
    assert np.array_equal(deep, 255 - np.rint(RAMP12 / 4095 * 255))


def test_signed_numbers_have_negative_ones_darkest(dicom: Dicom) -> None:
    assert read_dicom(dicom(np.array([[-1000, 0, 1000]], np.int16), bits=12)).tolist() == [[0, 128, 255]]
    assert read_dicom(dicom(np.array([[-128, 127]], np.int8))).tolist() == [[0, 255]]


def test_a_negative_slope_turns_the_greys_round(dicom: Dicom) -> None:
    pixels = np.array([[0, 100, 200]], np.uint16)
    assert read_dicom(dicom(pixels, bits=12, RescaleSlope=-1, RescaleIntercept=4095)).tolist() == [[255, 128, 0]]


def test_a_window_is_what_is_shown(dicom: Dicom) -> None:
    # Of 1024 around 2048, as PS3.3 C.11.2.1.2 defines: black up to 1536, white above 2559.
    pixels = np.array([[0, 1536, 2047, 2048, 2559, 4095]], np.uint16)
    shown = read_dicom(dicom(pixels, bits=12, WindowCenter=2048, WindowWidth=1024))
    slow = [round(255 * min(1, max(0, (value - 2047.5) / 1023 + 0.5))) for value in pixels[0].tolist()]
    assert shown[0].tolist() == slow
    assert slow[1] == 0
    assert slow[4] == 255


def test_the_first_of_several_windows_counts_and_after_rescaling(dicom: Dicom) -> None:
    window = {"WindowCenter": [0, 40], "WindowWidth": [200, 80], "VOILUTFunction": "LINEAR_EXACT"}
    pixels = np.array([[900, 950, 1100]], np.uint16)
    shown = read_dicom(dicom(pixels, bits=12, RescaleSlope=1, RescaleIntercept=-1000, **window))
    assert shown.tolist() == [[0, 64, 255]]


def test_a_sigmoid_window_has_its_centre_half_bright(dicom: Dicom) -> None:
    window = {"WindowCenter": 2000, "WindowWidth": 400, "VOILUTFunction": "SIGMOID"}
    assert read_dicom(dicom(np.array([[0, 2000, 4000]], np.uint16), bits=12, **window)).tolist() == [[0, 128, 255]]


def test_a_table_is_looked_up(dicom: Dicom) -> None:
    import pydicom

    table = pydicom.Dataset()
    table.add_new("LUTDescriptor", "US", [4, 0, 8])
    table.add_new("LUTData", "US", [255, 10, 5, 0])
    file = dicom(np.array([[0, 1], [2, 3]], np.uint16), bits=12, VOILUTSequence=pydicom.Sequence([table]))
    assert read_dicom(file).tolist() == [[255, 10], [5, 0]]


def test_one_grey_everywhere_is_black_and_no_error(dicom: Dicom) -> None:
    assert read_dicom(dicom(np.full((2, 2), 700, np.uint16), bits=12)).tolist() == [[0, 0], [0, 0]]


def test_colours_become_their_luminance(dicom: Dicom) -> None:
    assert read_dicom(dicom(np.array([[[255, 0, 0], [255, 255, 255]]], np.uint8))).tolist() == [[76, 255]]


def test_jpeg_within_dicom_is_read_as_in_rsna(dicom: Dicom) -> None:
    import pydicom
    from pydicom.encaps import encapsulate
    from pydicom.uid import JPEGBaseline8Bit

    stream = BytesIO()
    Image.fromarray(np.kron(RAMP8, np.ones((4, 4), np.uint8))).save(stream, "JPEG", quality=95)
    path = dicom(np.zeros((64, 64), np.uint8))
    file = pydicom.dcmread(path)
    file.file_meta.TransferSyntaxUID = JPEGBaseline8Bit
    file.PixelData = encapsulate([stream.getvalue()])
    file.save_as(path)
    assert np.array_equal(read_dicom(path), np.asarray(Image.open(stream)))


@pytest.mark.parametrize("content", [b"", b"no DICOM at all", b"\0" * 128 + b"DICM"])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x ray é.dcm"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="it cannot be read as a DICOM image"):
        read_dicom(path)


def test_a_file_cut_short_is_refused(dicom: Dicom) -> None:
    path = dicom(RAMP12, bits=12)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ValueError, match="it cannot be read as a DICOM image"):
        read_dicom(path)


def test_several_frames_are_refused(dicom: Dicom) -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 4, 4\), expected one image \[rows, columns\]"):
        read_dicom(dicom(np.zeros((2, 4, 4), np.uint8)))


def test_another_kind_of_colours_is_refused(dicom: Dicom) -> None:
    with pytest.raises(ValueError, match="is a PALETTE COLOR image, expected one of MONOCHROME1"):
        read_dicom(dicom(np.zeros((4, 4), np.uint8), PhotometricInterpretation="PALETTE COLOR"))
