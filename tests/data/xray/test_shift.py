import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import PixelInputs
from matchdg.data.views import ViewSettings
from matchdg.data.xray.shift import ShiftedInputs, move_down

IMAGES = torch.rand((5, 3, 8, 6), generator=torch.Generator().manual_seed(0))
SHIFTS = torch.tensor([0, 3, 1, 8, 20])


def test_every_row_comes_from_as_far_above_as_its_image_is_shifted() -> None:
    shown = move_down(IMAGES, SHIFTS)
    for image, shift, moved in zip(IMAGES, SHIFTS.tolist(), shown, strict=True):
        for row in range(8):
            expected = image[:, row - shift] if row >= shift else torch.zeros(3, 6)
            assert torch.equal(moved[:, row], expected)


def test_no_shift_changes_nothing_and_the_images_themselves_stay_as_they_are() -> None:
    before = IMAGES.clone()
    assert torch.equal(move_down(IMAGES, torch.zeros(5, dtype=torch.int64)), IMAGES)
    move_down(IMAGES, SHIFTS)
    assert torch.equal(IMAGES, before)


def test_a_batch_has_each_image_s_own_shift_whatever_the_order() -> None:
    inputs = ShiftedInputs(IMAGES, SHIFTS)
    positions = torch.tensor([4, 1, 1, 0])
    assert torch.equal(inputs[positions], move_down(IMAGES, SHIFTS)[positions])
    assert inputs.shape == (5, 3, 8, 6)
    assert len(inputs) == 5


def test_a_subset_keeps_its_images_as_they_are_kept_and_its_shifts() -> None:
    pixels = PixelInputs((255 * IMAGES).to(torch.uint8))
    inputs = ShiftedInputs(pixels, SHIFTS)
    some = inputs.subset(torch.tensor([3, 1])).to("cpu")
    assert isinstance(some.inputs, PixelInputs)
    assert torch.equal(some[torch.tensor([0, 1])], inputs[torch.tensor([3, 1])])


@pytest.mark.parametrize("shifts", [torch.zeros(4, dtype=torch.int64), torch.zeros(5), torch.tensor([0, 0, 0, 0, -1])])
def test_shifts_that_do_not_fit_are_refused(shifts: torch.Tensor) -> None:
    with pytest.raises(InputError, match="expected 5 from 0 up"):
        ShiftedInputs(IMAGES, shifts)


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(InputError, match="expected images"):
        ShiftedInputs(torch.zeros(5, 2), SHIFTS)


def test_images_and_shifts_move_together() -> None:
    moved = ShiftedInputs(IMAGES, SHIFTS).to("meta")
    assert moved.device == moved.shifts.device == torch.device("meta")
    assert ShiftedInputs(IMAGES, SHIFTS).to("cpu").device == torch.device("cpu")


def test_views_are_of_the_shifted_images() -> None:
    inputs = ShiftedInputs(PixelInputs((255 * IMAGES).to(torch.uint8)), SHIFTS)
    views = ViewSettings(flip=1.0).shown(inputs, 0, 0)
    assert torch.equal(views[torch.arange(5)], inputs[torch.arange(5)].flip(-1))
