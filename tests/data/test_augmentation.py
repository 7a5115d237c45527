import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2.functional import affine

from matchdg.core.errors import InputError
from matchdg.data.augmentation import AugmentationSettings, self_augment


def _seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


IMAGES = torch.nn.functional.pad(torch.rand(6, 2, 12, 16, generator=_seeded()), (8, 8, 8, 8))
FLAT = torch.randn(4000, 3, generator=_seeded()) * torch.tensor([1.0, 10.0, 0.0]) + 5


@pytest.mark.parametrize("inputs", [IMAGES, FLAT], ids=["images", "flat"])
def test_views_have_the_shape_and_kind_of_the_inputs_and_follow_the_generator(inputs: torch.Tensor) -> None:
    before = inputs.clone()
    first, again, other = (self_augment(inputs, _seeded(seed)) for seed in (1, 1, 2))
    assert first.shape == inputs.shape
    assert first.dtype == inputs.dtype
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(inputs, before)


def test_a_generator_gives_another_view_each_time() -> None:
    generator = _seeded()
    assert not torch.equal(self_augment(IMAGES, generator), self_augment(IMAGES, generator))


@pytest.mark.parametrize("inputs", [IMAGES, FLAT], ids=["images", "flat"])
def test_views_that_may_not_differ_do_not(inputs: torch.Tensor) -> None:
    still = AugmentationSettings(rotation=0, translation=0, scale=0, noise=0)
    assert self_augment(inputs, _seeded(), still) == pytest.approx(inputs, abs=1e-4)


def test_each_image_is_changed_by_amounts_of_its_own() -> None:
    views = self_augment(IMAGES[:1].repeat(5, 1, 1, 1), _seeded())
    assert all(not torch.allclose(views[0], view, atol=0.01) for view in views[1:])


@given(st.integers(0, 1000))
def test_torchvision_s_affine_view_with_the_same_amounts_is_the_same(seed: int) -> None:
    """With images that are not square, so that turning by pixels is tested too."""
    settings = AugmentationSettings()
    turn, grow, right, down = (2 * torch.rand(1, 4, generator=_seeded(seed)) - 1)[0].tolist()
    height, width = IMAGES.shape[-2:]
    expected = affine(
        IMAGES[:1],
        angle=-settings.rotation * turn,  # clockwise there
        translate=[settings.translation * right * width, settings.translation * down * height],
        scale=1 + settings.scale * grow,
        shear=[0.0, 0.0],
        interpolation=InterpolationMode.BILINEAR,
    )
    assert (self_augment(IMAGES[:1], _seeded(seed)) - expected).abs().max() < 1e-3


def test_the_amounts_stay_within_the_settings() -> None:
    """A dot in the middle moves by at most the translation, and by most of it at times."""
    dots = torch.zeros(500, 1, 41, 41)
    dots[:, 0, 20, 20] = 1
    views = self_augment(dots, _seeded(), AugmentationSettings(rotation=0, scale=0, translation=0.2))
    mass = views.sum((1, 2, 3))
    columns = (views.sum((1, 2)) * torch.arange(41.0)).sum(1) / mass - 20
    rows = (views.sum((1, 3)) * torch.arange(41.0)).sum(1) / mass - 20
    for moved in (columns, rows):
        assert moved.abs().max() <= 0.2 * 41 + 1e-3
        assert moved.max() > 0.18 * 41
        assert moved.min() < -0.18 * 41


def test_what_comes_in_from_outside_is_black() -> None:
    views = self_augment(torch.ones(20, 1, 16, 16), _seeded())
    assert views.min() == 0
    assert views.max() == pytest.approx(1)


def test_noise_is_a_tenth_of_each_feature_s_standard_deviation() -> None:
    noise = self_augment(FLAT, _seeded()) - FLAT
    assert noise.std(0).tolist() == pytest.approx([0.1, 1.0, 0.0], rel=0.05)
    assert noise.mean(0).tolist() == pytest.approx([0, 0, 0], abs=0.05)
    assert self_augment(FLAT[:1], _seeded()).tolist() == FLAT[:1].tolist()


def test_bytes_become_numbers() -> None:
    view = self_augment(torch.full((1, 1, 8, 8), 200, dtype=torch.uint8), _seeded())
    assert view.dtype == torch.float32
    assert view[0, 0, 4, 4] == pytest.approx(200)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(2, 3, 4\), expected images \[N, C, H, W\] or flat"):
        self_augment(torch.zeros(2, 3, 4), _seeded())
