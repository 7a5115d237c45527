from dataclasses import replace

import pytest
import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset, PixelInputs, dataset

PIXELS = torch.arange(4 * 2 * 3 * 3).view(4, 2, 3, 3).mul(3).to(torch.uint8)


class NeverGathered(PixelInputs):
    def __getitem__(self, positions: Tensor) -> Tensor:
        raise AssertionError("images were made floats")


def _data(inputs: PixelInputs | Tensor) -> DomainDataset:
    columns = DomainDataset.from_arrays(PIXELS, [0, 1, 0, 1], ["a", "a", "b", "b"], [5, 6, 5, 6])
    return replace(columns, inputs=inputs)


def test_pixels_become_numbers_from_0_to_1_in_the_order_asked_for() -> None:
    gathered = PixelInputs(PIXELS)[torch.tensor([3, 0, 3])]
    assert gathered.dtype == torch.float32
    assert torch.equal(gathered, PIXELS[[3, 0, 3]].float() / 255)
    extremes = PixelInputs(torch.tensor([[[[0, 255]]]], dtype=torch.uint8))
    assert extremes[torch.tensor([0])].flatten().tolist() == [0.0, 1.0]


def test_gathering_leaves_the_pixels_alone() -> None:
    inputs = PixelInputs(PIXELS.clone())
    inputs[torch.arange(4)].zero_()
    assert torch.equal(inputs.pixels, PIXELS)


def test_length_and_shape_are_of_the_images() -> None:
    inputs = PixelInputs(PIXELS)
    assert (len(inputs), inputs.shape) == (4, (4, 2, 3, 3))
    assert _data(inputs).input_shape == (2, 3, 3)


def test_moving_moves_the_pixels() -> None:
    moved = PixelInputs(PIXELS).to("meta")
    assert moved.device == torch.device("meta")
    assert moved.shape == (4, 2, 3, 3)
    assert moved.pixels.dtype == torch.uint8


def test_a_part_of_a_data_set_keeps_its_images_as_bytes() -> None:
    part = _data(NeverGathered(PIXELS)).select(torch.tensor([2, 1]))
    assert isinstance(part.inputs, PixelInputs)
    assert part.inputs.pixels.dtype == torch.uint8
    assert torch.equal(part.inputs.pixels, PIXELS[[2, 1]])
    assert part.labels.tolist() == [0, 1]
    assert torch.equal(part.inputs[torch.tensor([0])], PIXELS[[2]].float() / 255)


def test_inputs_without_subset_are_gathered_as_before() -> None:
    part = _data(PIXELS.float()).select(torch.tensor([3]))
    assert isinstance(part.inputs, Tensor)


def test_the_fingerprint_is_that_of_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _data(PIXELS.float() / 255).fingerprint
    assert _data(PixelInputs(PIXELS)).fingerprint == expected
    changed = PIXELS.clone()
    changed[3, 1, 2, 2] += 1
    assert _data(PixelInputs(changed)).fingerprint != expected
    monkeypatch.setattr(dataset, "_FINGERPRINT_VALUES", 1)
    assert _data(PixelInputs(PIXELS)).fingerprint == expected


def test_inputs_without_values_have_a_fingerprint_too() -> None:
    data = DomainDataset.from_arrays(torch.zeros(2, 0), [0, 1], ["a", "b"])
    assert len(data.fingerprint) == 16


@pytest.mark.parametrize("pixels", [PIXELS.float(), PIXELS[0]], ids=["floats", "one image"])
def test_anything_but_uint8_images_is_refused(pixels: Tensor) -> None:
    with pytest.raises(InputError, match=r"expected uint8 images \[N, C, H, W\]"):
        PixelInputs(pixels)
