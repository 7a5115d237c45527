"""Self-augmentation: a mild random view of each input, the true pairs of appendix C.3's stopping rule."""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from matchdg.core.errors import InputError
from matchdg.core.settings import Settings
from matchdg.data.rotation import inverse_affine


class AugmentationSettings(Settings):
    """How far a view may be from its input. The paper says that views are made, and not how."""

    rotation: float = Field(15.0, ge=0, le=180, description="images turn by at most so many degrees")
    translation: float = Field(0.1, ge=0, le=1, description="images move by at most this part of each side")
    scale: float = Field(0.1, ge=0, lt=1, description="images grow or shrink by at most this part")
    noise: float = Field(0.1, ge=0, description="of flat inputs: Gaussian noise, in standard deviations of a feature")


def self_augment(inputs: Tensor, generator: torch.Generator, settings: AugmentationSettings | None = None) -> Tensor:
    """A random view of each of `inputs`: images [N, C, H, W] or flat [N, F]. Same shape and device, floating point.

    Images are turned, scaled and moved in one bilinear interpolation of the whole batch, each by amounts of its
    own drawn uniformly; what comes in from outside is 0. To flat inputs Gaussian noise is added, scaled by each
    feature's standard deviation over the batch. Equal states of `generator` give equal views.
    """
    settings = settings or AugmentationSettings()
    values = inputs if inputs.is_floating_point() else inputs.to(torch.float32)
    if values.dim() == 4:
        return _affine_views(values, generator, settings)
    if values.dim() == 2:
        noise = torch.randn(values.shape, generator=generator, device=generator.device)
        return values + settings.noise * values.std(0, correction=0) * noise.to(values)
    raise InputError(f"inputs have shape {tuple(inputs.shape)}, expected images [N, C, H, W] or flat inputs [N, F]")


def _affine_views(images: Tensor, generator: torch.Generator, settings: AugmentationSettings) -> Tensor:
    draws = 2 * torch.rand((len(images), 4), generator=generator, device=generator.device) - 1
    turn, grow, *_ = draws.to(images.device).unbind(1)
    shift = 2 * settings.translation * draws[:, 2:].to(images.device)
    height, width = images.shape[-2:]
    theta = inverse_affine(settings.rotation * turn, 1 + settings.scale * grow, shift, width / height)
    grid = affine_grid(theta.to(images.dtype), list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
