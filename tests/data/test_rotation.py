import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2.functional import rotate as rotate_by_torchvision

from matchdg.data import rotation
from matchdg.data.rotation import inverse_affine, rotate

RANDOM = torch.randint(0, 256, (5, 28, 28), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
# With the zero border that digits have, so that nothing is cut off.
DIGITS = torch.nn.functional.pad(RANDOM[:, :14, :14], (7, 7, 7, 7))


def _slow(image: np.ndarray, degrees: float, size: int) -> np.ndarray:
    """Pixel by pixel: where the centre of each new pixel came from, and the four old ones around that place."""
    height = len(image)
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    out = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            x, y = (2 * column + 1) / size - 1, (2 * row + 1) / size - 1
            u = ((cosine * x - sine * y + 1) * height - 1) / 2
            v = ((sine * x + cosine * y + 1) * height - 1) / 2
            left, top = math.floor(u), math.floor(v)
            for r, c in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
                if 0 <= r < height and 0 <= c < height:
                    out[row, column] += image[r, c] * (1 - abs(u - c)) * (1 - abs(v - r))
    return out


def test_0_degrees_is_exactly_the_original() -> None:
    assert torch.equal(rotate(RANDOM, 0, 28), RANDOM)


@pytest.mark.parametrize(("degrees", "turns"), [(90, 1), (180, 2), (270, 3), (360, 0), (-90, 3), (-360, 0)])
def test_quarter_turns_are_exact(degrees: float, turns: int) -> None:
    assert torch.equal(rotate(RANDOM, degrees, 28), torch.rot90(RANDOM, turns, (1, 2)))


def test_a_positive_angle_is_counter_clockwise() -> None:
    image = torch.zeros(1, 9, 9, dtype=torch.uint8)
    image[0, 4, 8] = 255  # in the middle of the right edge
    turned = rotate(image, 90, 9)[0]
    assert turned[0, 4] == 255  # in the middle of the top edge
    assert int(turned.sum()) == 255
    upper_right = rotate(image, 45, 9)[0].float()
    assert upper_right[:4, 5:].sum() > 0
    assert upper_right[5:].sum() == 0


@pytest.mark.parametrize("degrees", [15, 30, 77.5, -40])
def test_torchvision_s_rotation_is_the_same_but_for_rounding(degrees: float) -> None:
    theirs = rotate_by_torchvision(DIGITS.float(), degrees, InterpolationMode.BILINEAR)
    assert (rotate(DIGITS, degrees, 28).float() - theirs).abs().max() <= 0.51


@settings(max_examples=25, deadline=None)
@given(st.floats(-360, 360), st.integers(8, 14), st.integers(0, 10_000))
def test_every_pixel_is_the_slow_reference_s(degrees: float, size: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (8, 8), np.uint8)
    rotated = rotate(torch.from_numpy(image)[None], degrees, size)[0].numpy()
    assert np.abs(rotated - _slow(image, degrees, size)).max() <= 0.5 + 1e-5


def test_ties_are_rounded_up_on_every_machine() -> None:
    image = torch.tensor([0] * 4 + [4] * 4, dtype=torch.uint8).repeat(1, 8, 1)
    # Four new columns a pixel, so the step is 0.5, 1.5, 2.5, 3.5; at the right edge 3.5, 2.5 again, towards black.
    expected = [0] * 14 + [1, 2, 3, 4] + [4] * 12 + [4, 3]
    assert rotate(image, 0, 32)[0, 16].tolist() == expected


def test_blocks_do_not_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rotate(RANDOM, 33, 40)
    monkeypatch.setattr(rotation, "_BLOCK_VALUES", 2 * 40 * 40)
    assert torch.equal(rotate(RANDOM, 33, 40), whole)
    monkeypatch.setattr(rotation, "_BLOCK_VALUES", 1)
    assert torch.equal(rotate(RANDOM, 33, 40), whole)


def test_enlarging_keeps_a_plain_surface_plain() -> None:
    plain = torch.full((1, 8, 8), 200, dtype=torch.uint8)
    assert set(rotate(plain, 0, 32)[0, 2:-2, 2:-2].unique().tolist()) == {200}
    # What lies outside is black, and a corner that turns leaves it to be seen.
    assert rotate(plain, 45, 32)[0, 0, 0] == 0


def test_the_map_by_hand() -> None:
    one = torch.ones(1, dtype=torch.float64)
    still = inverse_affine(0 * one, one, torch.zeros(1, 2, dtype=torch.float64))
    assert still[0].tolist() == [[1, 0, 0], [0, 1, 0]]
    # Enlarged twice and moved right by a quarter of the image: the centre shows what was 1/4 of it to the left.
    moved = inverse_affine(0 * one, 2 * one, torch.tensor([[0.5, 0.0]], dtype=torch.float64))
    assert moved[0].tolist() == [[0.5, 0, -0.25], [0, 0.5, 0]]
    # In an image twice as wide as high, a quarter turn takes 1 to the side for 2 up.
    turned = inverse_affine(90 * one, one, torch.zeros(1, 2, dtype=torch.float64), aspect=2.0)
    assert turned[0] == pytest.approx(np.array([[0, -0.5, 0], [2, 0, 0]]), abs=1e-12)
