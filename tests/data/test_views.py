"""Views: distributed like torchvision's transforms, and a function of seed, epoch, draw and position alone."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as reference

from matchdg.core.errors import InputError
from matchdg.data import PixelInputs, colour, crops
from matchdg.data.draws import uniforms
from matchdg.data.views import PACS_VIEWS, ViewedInputs, ViewSettings

PIXELS = torch.randint(0, 256, (12, 3, 10, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
IMAGES = PIXELS / 255
ALL = torch.arange(12)


def _views(inputs: Any = IMAGES, seed: int = 0, epoch: int = 0, draw: int = 0, **settings: Any) -> ViewedInputs:
    chosen = ViewSettings.parse(settings, "views") if settings else PACS_VIEWS
    return ViewedInputs(inputs, chosen, seed, epoch, draw)


def test_the_defaults_leave_images_as_they_are() -> None:
    assert torch.equal(ViewedInputs(IMAGES, ViewSettings(), 0, 0)[ALL], IMAGES)


def test_the_paper_s_augmentation_of_pacs() -> None:
    jitter = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.4}
    assert PACS_VIEWS.model_dump() == {
        "crop_scale": (0.8, 1.0), "crop_ratio": (3 / 4, 4 / 3), "flip": 0.5, **jitter, "greyscale": 0.1,
    }  # fmt: skip


def test_a_view_depends_on_nothing_but_seed_epoch_draw_and_position() -> None:
    whole = _views()[ALL]
    order = torch.tensor([7, 0, 11, 7])
    assert torch.equal(_views()[order], whole[order])
    assert torch.equal(torch.cat([_views()[part] for part in ALL.split(5)]), whole)
    for changed in ({"seed": 1}, {"epoch": 1}, {"draw": 1}):
        assert not torch.equal(_views(**changed)[ALL], whole)


def test_no_two_inputs_get_the_same_draw() -> None:
    same = IMAGES[:1].expand(12, -1, -1, -1)
    views = _views(same)[ALL]
    assert len({view.sum().item() for view in views}) == 12


def test_a_subset_shows_the_same_views() -> None:
    whole, chosen = _views()[ALL], torch.tensor([9, 2, 4])
    for inputs in (IMAGES, PixelInputs(PIXELS)):
        some = _views(inputs).subset(chosen)
        assert len(some) == 3
        assert torch.allclose(some[torch.tensor([2, 0])], whole[[4, 9]], atol=1e-6)
        assert torch.allclose(some.subset(torch.tensor([1]))[torch.tensor([0])], whole[[2]], atol=1e-6)


def test_bytes_and_their_numbers_have_the_same_views() -> None:
    assert torch.allclose(_views(PixelInputs(PIXELS))[ALL], _views()[ALL], atol=1e-6)


def test_views_are_of_the_shape_of_their_inputs_with_values_from_0_to_1() -> None:
    views = _views()
    assert (len(views), views.shape) == (12, (12, 3, 10, 12))
    found = views[ALL]
    assert (found.shape, found.dtype) == (IMAGES.shape, torch.float32)
    assert float(found.min()) >= 0
    assert float(found.max()) <= 1


def test_inputs_are_left_alone() -> None:
    before = IMAGES.clone()
    inputs = PixelInputs(PIXELS.clone())
    _views()[ALL], _views(inputs)[ALL]
    assert torch.equal(before, IMAGES)
    assert torch.equal(inputs.pixels, PIXELS)


def test_moved_views_are_the_same() -> None:
    moved = _views(PixelInputs(PIXELS)).to("cpu")
    assert torch.equal(moved[ALL], _views(PixelInputs(PIXELS))[ALL])


def test_flips_are_as_frequent_as_said_and_exact() -> None:
    same = IMAGES[:1].expand(4000, -1, -1, -1)
    views = _views(same, flip=0.3)[torch.arange(4000)]
    mirrored = (views == IMAGES[0].flip(-1)).flatten(1).all(1)
    assert bool((mirrored | (views == IMAGES[0]).flatten(1).all(1)).all())
    assert 0.27 < mirrored.float().mean() < 0.33


def test_a_flip_is_the_same_with_and_without_crops() -> None:
    flipped = _views(flip=0.5)[ALL]
    both = _views(flip=0.5, crop_scale=[0.999999, 1.0], crop_ratio=[1.2, 1.2])[ALL]
    assert torch.allclose(flipped, both, atol=1e-5)


def test_greyscale_is_as_frequent_as_said() -> None:
    views = _views(IMAGES[:1].expand(4000, -1, -1, -1), greyscale=0.1)[torch.arange(4000)]
    grey = (views[:, :1] == views).flatten(1).all(1)
    assert 0.08 < grey.float().mean() < 0.12
    expected = reference.rgb_to_grayscale(IMAGES[0], num_output_channels=3)
    assert torch.allclose(views[grey][0], expected, atol=1e-6)
    assert torch.equal(views[~grey][0], IMAGES[0])


def test_crops_are_those_of_torchvision_for_the_same_boxes() -> None:
    drawn = uniforms((1,), ALL, crops.DRAWS)
    boxes = crops.draw_crops(drawn, (0.3, 1.0), (3 / 4, 4 / 3), 10, 12)
    mirrored = ALL % 2 == 0
    found = crops.resize_crops(IMAGES, *crops.crop_places(boxes, mirrored, 10, 12))
    for index, box in enumerate(boxes.tolist()):
        expected = reference.resized_crop(IMAGES[index], *box, size=[10, 12], antialias=True)
        expected = expected.flip(-1) if mirrored[index] else expected
        assert torch.allclose(found[index], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("scale", "ratio", "height", "width"),
    [((0.8, 1.0), (3 / 4, 4 / 3), 50, 50), ((0.1, 0.5), (0.5, 2.0), 40, 80), ((0.9, 1.0), (3 / 4, 4 / 3), 20, 90)],
)
def test_boxes_are_distributed_like_torchvision_s(
    scale: tuple[float, float], ratio: tuple[float, float], height: int, width: int
) -> None:
    count = 3000
    found = crops.draw_crops(uniforms((5,), torch.arange(count), crops.DRAWS), scale, ratio, height, width).double()
    torch.manual_seed(0)
    image = torch.empty(1, height, width)
    drawn = [v2.RandomResizedCrop.make_params(v2.RandomResizedCrop(8, scale, ratio), [image]) for _ in range(count)]
    expected = torch.tensor([[box["top"], box["left"], box["height"], box["width"]] for box in drawn]).double()
    spread = expected.std(0) + 0.01
    assert bool(((found.mean(0) - expected.mean(0)).abs() < 0.1 * spread + 0.01).all())
    assert bool(((found.std(0) - expected.std(0)).abs() < 0.1 * spread + 0.01).all())
    assert bool((found[:, 0] + found[:, 2] <= height).all())
    assert bool((found[:, 1] + found[:, 3] <= width).all())


@pytest.mark.parametrize(
    ("change", "torchvision_s", "factor"),
    [
        (colour.scale_brightness, reference.adjust_brightness, 1.4),
        (colour.scale_contrast, reference.adjust_contrast, 0.6),
        (colour.scale_saturation, reference.adjust_saturation, 1.4),
        (colour.shift_hue, reference.adjust_hue, 0.37),
        (colour.shift_hue, reference.adjust_hue, -0.4),
    ],
)
def test_changes_of_colour_are_those_of_torchvision(change: Any, torchvision_s: Any, factor: float) -> None:
    edge = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [1.0, 0.0, 0.0], [0.2, 0.2, 0.1]])
    images = torch.cat([IMAGES, edge.T.reshape(1, 3, 1, 5).expand(1, 3, 10, 5).repeat(1, 1, 1, 3)[..., :12]])
    found = change(images, torch.full((13, 1, 1, 1), factor))
    assert torch.allclose(found, torchvision_s(images, factor), atol=1e-5)


@pytest.mark.parametrize("ordering", [0.0, 0.4, 0.999])
def test_a_jittered_image_has_its_own_factors(ordering: float) -> None:
    settings = ViewSettings(brightness=0.4, contrast=0.3, saturation=0.6, hue=0.2, greyscale=0.3)
    drawn = uniforms((3,), ALL, colour.DRAWS)
    draws = colour.draw_colours(drawn, ordering, settings.spans, settings.greyscale)
    found = colour.jitter_colours(IMAGES.clone(), draws)
    for index in range(12):
        expected = _jittered(IMAGES[index], drawn[index].tolist(), colour.ORDERS[int(24 * ordering)])
        assert torch.allclose(found[index], expected, atol=1e-5)


def _jittered(image: Tensor, drawn: list[float], order: tuple[int, ...]) -> Tensor:
    changes = [
        (reference.adjust_brightness, 1 + 0.4 * (2 * drawn[0] - 1)),
        (reference.adjust_contrast, 1 + 0.3 * (2 * drawn[1] - 1)),
        (reference.adjust_saturation, 1 + 0.6 * (2 * drawn[2] - 1)),
        (reference.adjust_hue, 0.2 * (2 * drawn[3] - 1)),
    ]
    for step in order:
        change, factor = changes[step]
        image = change(image, factor)
    return reference.rgb_to_grayscale(image, 3) if drawn[4] < 0.3 else image


def test_every_epoch_has_an_order_of_changes_of_its_own() -> None:
    orders = {_views(epoch=epoch).ordering for epoch in range(200)}
    assert len({int(24 * order) for order in orders}) == 24


def test_threads_change_nothing() -> None:
    images = torch.rand(40, 3, 120, 120)
    before = torch.get_num_threads()
    alone = _views(images)[torch.arange(40)]
    try:
        torch.set_num_threads(3)
        together = _views(images)[torch.arange(40)]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert torch.allclose(alone, together, atol=1e-6)


def test_images_of_one_channel_have_no_colour_to_change() -> None:
    grey = IMAGES[:, :1]
    assert torch.equal(_views(grey, saturation=0.4, hue=0.4, greyscale=1)[ALL], grey)
    assert not torch.equal(_views(grey, brightness=0.4)[ALL], grey)
    assert not torch.equal(_views(grey, contrast=0.4)[ALL], grey)


def test_other_numbers_of_channels_keep_their_colours_or_are_refused() -> None:
    assert _views(IMAGES[:, :2], crop_scale=[0.5, 1.0], flip=0.5)[ALL].shape == (12, 2, 10, 12)
    with pytest.raises(InputError, match="images have 2 channels, expected 1 or 3"):
        _views(IMAGES[:, :2])


def test_views_of_anything_but_images_are_refused() -> None:
    with pytest.raises(InputError, match=r"inputs have shape \(4, 3\), expected images"):
        _views(torch.zeros(4, 3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crop_scale": [0.9, 0.8]}, "crop_scale: expected two positive numbers, the lesser first"),
        ({"crop_scale": [0.9, 1.1]}, "at most 1"),
        ({"crop_ratio": [0, 1]}, "expected two positive numbers"),
        ({"flip": 1.5}, "views.flip"),
        ({"hue": 0.6}, "views.hue"),
        ({"grayscale": 0.1}, "did you mean 'greyscale'?"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        ViewSettings.parse(settings, "views")


def test_draws_are_uniform_and_the_same_on_every_machine() -> None:
    drawn = uniforms((0, 0, 0), torch.arange(20_000), 3)
    assert drawn[0].tolist() == pytest.approx(FIRST, abs=1e-15)
    assert float(drawn.min()) >= 0
    assert float(drawn.max()) < 1
    assert torch.allclose(drawn.mean(0), torch.full((3,), 0.5).double(), atol=0.01)
    assert torch.allclose(drawn.std(0), torch.full((3,), 12**-0.5).double(), atol=0.01)
    assert float(drawn.T.corrcoef().fill_diagonal_(0).abs().max()) < 0.03
    near = torch.stack([drawn[:-1, 0], drawn[1:, 0]])
    assert abs(float(near.corrcoef()[0, 1])) < 0.03


FIRST = [0.6082814999346866, 0.7394014084750293, 0.192534076021178]
