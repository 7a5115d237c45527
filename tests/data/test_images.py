"""Image files become squares of bytes, whatever their kind; files that are none are named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from matchdg.core.errors import InputError
from matchdg.data.decoders import decode_common
from matchdg.data.images import read_image

RANDOM = np.random.default_rng(0)
COLOURS = RANDOM.integers(0, 256, (6, 8, 3), np.uint8)
GREYS = RANDOM.integers(0, 256, (6, 8), np.uint8)

Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(array: Any, name: str = "a.png", mode: str | None = None, **options: Any) -> Path:
        path = tmp_path / name
        image = array if isinstance(array, Image.Image) else Image.fromarray(array)
        (image.convert(mode) if mode else image).save(path, **options)
        return path

    return write


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tiff", "a.webp", "a.PNG"])
def test_colours_are_read_as_they_are(save: Save, name: str) -> None:
    path = save(COLOURS, name, **({"lossless": True} if name.endswith("webp") else {}))
    assert np.array_equal(decode_common(path), COLOURS)


def test_an_image_of_the_size_asked_for_is_left_alone(save: Save) -> None:
    square = COLOURS[:, :6]
    assert np.array_equal(read_image(save(square), 6), square.transpose(2, 0, 1))


def test_others_are_resized_as_pillow_does_with_antialiasing(save: Save) -> None:
    large = RANDOM.integers(0, 256, (60, 81, 3), np.uint8)
    for size in (16, 100):
        expected = np.asarray(Image.fromarray(large).resize((size, size), Image.Resampling.BILINEAR))
        found = read_image(save(large), size)
        assert (found.shape, found.dtype) == ((3, size, size), np.uint8)
        assert np.abs(found.transpose(1, 2, 0).astype(int) - expected.astype(int)).max() <= 1


def test_grey_becomes_three_equal_channels_or_stays_one(save: Save) -> None:
    path = save(GREYS[:, :6])
    assert np.array_equal(read_image(path, 6), np.stack([GREYS[:, :6]] * 3))
    assert np.array_equal(read_image(path, 6, channels=1), GREYS[None, :, :6])


def test_colours_become_one_channel_as_pillow_does(save: Save) -> None:
    path = save(COLOURS[:, :6])
    expected = np.asarray(Image.fromarray(COLOURS[:, :6]).convert("L"))
    assert np.array_equal(read_image(path, 6, channels=1)[0], expected)


def test_a_jpeg_is_what_pillow_sees_in_it(save: Save) -> None:
    path = save(np.kron(COLOURS, np.ones((8, 8, 1), np.uint8)), "a.jpg", quality=90)
    with Image.open(path) as image:
        assert np.abs(decode_common(path).astype(int) - np.asarray(image).astype(int)).max() <= 1


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tiff", "a.webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_upright(save: Save, name: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    blocks = np.kron(np.array([[10, 240, 120], [80, 200, 30]], np.uint8), np.ones((16, 16), np.uint8))
    turns = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
             5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE,
             8: Image.Transpose.ROTATE_90}  # fmt: skip
    upright = Image.fromarray(blocks)
    expected = np.asarray(upright.transpose(turns[orientation]) if orientation > 1 else upright)
    found = decode_common(save(blocks, name, exif=exif))
    found = found if found.ndim == 2 else found[..., 0]
    assert found.shape == expected.shape
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 12


def test_sixteen_bits_become_eight(save: Save) -> None:
    wide = np.array([[0, 256, 257, 32768], [65535, 65279, 128, 129]], np.uint16)
    expected = np.rint(wide / 257).astype(np.uint8)
    assert np.array_equal(decode_common(save(wide)), expected)
    assert np.array_equal(decode_common(save(wide, "a.tiff")), expected)


def test_pixels_of_32_bits_are_read_where_16_would_do(save: Save) -> None:
    assert decode_common(save(np.array([[0, 65535]], np.int32), "a.tiff")).tolist() == [[0, 255]]
    for wrong in (np.array([[0, 70000]], np.int32), np.array([[-1, 3]], np.int32), np.array([[0.5]], np.float32)):
        with pytest.raises(InputError, match="its pixels have 32 bits, expected 8 or 16"):
            read_image(save(wrong, "b.tiff"), 4)


def test_a_palette_becomes_its_colours(save: Save) -> None:
    image = Image.fromarray(COLOURS).quantize(48)
    for name in ("a.png", "a.gif"):
        assert np.array_equal(decode_common(save(image, name)), np.asarray(image.convert("RGB")))


def test_a_palette_with_a_transparent_colour_shows_white_there(save: Save) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    found = decode_common(save(image, "a.png", transparency=0))
    assert found.tolist() == [[[255, 255, 255], [0, 0, 255]]]


def test_transparent_pixels_show_white_and_half_transparent_ones_half_of_it(save: Save) -> None:
    rgba = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 0, 0, 128]]], np.uint8)
    assert decode_common(save(rgba)).tolist() == [[[10, 20, 30], [255, 255, 255], [127, 127, 127]]]
    grey = np.array([[[10, 255], [10, 0]]], np.uint8)
    assert decode_common(save(grey))[..., 0].tolist() == [[10, 255]]


def test_one_colour_declared_transparent_shows_white(save: Save) -> None:
    found = decode_common(save(Image.fromarray(np.array([[[9, 9, 9], [1, 2, 3]]], np.uint8)), transparency=(9, 9, 9)))
    assert found.tolist() == [[[255, 255, 255], [1, 2, 3]]]


@pytest.mark.parametrize("name", ["a.jpg", "a.tiff"])
def test_cmyk_becomes_red_green_and_blue(save: Save, name: str) -> None:
    red = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    assert np.abs(decode_common(save(red, name)).astype(int) - np.array([255, 0, 0])).max() <= 3


def test_black_and_white_and_other_colour_spaces(save: Save) -> None:
    assert decode_common(save(Image.fromarray(np.array([[True, False]])), "a.png")).tolist() == [[255, 0]]
    with Image.open(save(Image.new("YCbCr", (16, 16), (200, 128, 128)), "a.jpg")) as image:
        assert np.array_equal(decode_common(Path(str(image.filename))), np.asarray(image))


def test_the_content_counts_and_not_the_suffix(save: Save) -> None:
    path = save(COLOURS)
    assert np.array_equal(decode_common(path.rename(path.with_suffix(".jpg"))), COLOURS)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.gif"])
def test_an_image_of_one_pixel_is_enlarged(save: Save, name: str) -> None:
    found = read_image(save(np.full((1, 1, 3), 77, np.uint8), name), 32)
    assert found.shape == (3, 32, 32)
    assert np.abs(found.astype(int) - 77).max() <= 2


@pytest.mark.parametrize("content", [b"", b"text", b"\xff\xd8\xff\xe0broken", b"\x89PNG\r\n\x1a\nbroken"])
def test_a_file_that_is_no_image_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"notes\.png is not a readable image: \w"):
        read_image(path, 8)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp"])
def test_a_file_cut_short_is_named(save: Save, name: str) -> None:
    path = save(RANDOM.integers(0, 256, (60, 60, 3), np.uint8), name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=f"{name} is not a readable image"):
        read_image(path, 8)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.png is not a readable image: No such file"):
        read_image(tmp_path / "gone.png", 8)


def test_an_image_too_large_to_be_one_is_named(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(COLOURS, "a.bmp")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)
    with pytest.raises(InputError, match=r"a\.bmp is not a readable image: Image size \(48 pixels\) exceeds"):
        read_image(path, 8)


def test_other_files_have_their_own_decoders(tmp_path: Path) -> None:
    path = tmp_path / "a.DCM"
    path.write_bytes(b"7")
    found = read_image(path, 4, decoders={".dcm": lambda path: np.full((2, 2), int(path.read_bytes()), np.uint8)})
    assert (found == 7).all()


def test_two_channels_are_refused(save: Save) -> None:
    with pytest.raises(InputError, match="channels is 2, expected 1"):
        read_image(save(COLOURS), 8, channels=2)
