"""Self-augmentation: a mild random view of each input, the true pairs of appendix C.3's stopping rule."""

from copy import copy

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from matchdg.core.errors import InputError
from matchdg.core.settings import Settings
from matchdg.data.dataset import Inputs
from matchdg.data.rotation import inverse_affine


class AugmentationSettings(Settings):
    """How far a view may be from its input. The paper says that views are made, and not how."""

    rotation: float = Field(15.0, ge=0, le=180, description="images turn by at most so many degrees")
    translation: float = Field(0.1, ge=0, le=1, description="images move by at most this part of each side")
    scale: float = Field(0.1, ge=0, lt=1, description="images grow or shrink by at most this part")
    noise: float = Field(0.1, ge=0, description="of flat inputs: Gaussian noise, in standard deviations of a feature")


class AugmentedInputs:
    """A random view of each of `inputs`, made when it is asked for, so that images stay what they are in memory.

    Images are turned, scaled and moved in one bilinear interpolation of a whole batch, each by amounts of its own
    drawn uniformly; what comes in from outside is 0. To flat inputs Gaussian noise is added, scaled by each feature's
    standard deviation. An input's view is always the same one, and equal states of `generator` give equal views.
    """

    def __init__(
        self, inputs: Inputs, generator: torch.Generator, settings: AugmentationSettings | None = None
    ) -> None:
        self.inputs, self.settings = inputs, settings or AugmentationSettings()
        self.shape = inputs.shape
        if len(self.shape) == 4:
            self.draws = 2 * torch.rand((len(inputs), 4), generator=generator, device=generator.device) - 1
        elif len(self.shape) == 2:
            noise = torch.randn(tuple(self.shape), generator=generator, device=generator.device)
            values = _floating(inputs[torch.arange(len(inputs))])
            self.draws = self.settings.noise * values.std(0, correction=0) * noise.to(values)
        else:
            raise InputError(
                f"inputs have shape {tuple(self.shape)}, expected images [N, C, H, W] or flat inputs [N, F]"
            )

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, positions: Tensor) -> Tensor:
        values = _floating(self.inputs[positions])
        draws = self.draws[positions.to(self.draws.device)].to(values.device)
        return _affine_views(values, draws, self.settings) if values.dim() == 4 else values + draws

    def to(self, device: torch.device | str) -> "AugmentedInputs":
        """The same views, of inputs that are on `device` if they are in memory."""
        moved = copy(self)
        move = getattr(self.inputs, "to", None)
        moved.inputs = self.inputs if move is None else move(device)
        return moved


def self_augment(inputs: Tensor, generator: torch.Generator, settings: AugmentationSettings | None = None) -> Tensor:
    """The `AugmentedInputs` of all `inputs`: [N, C, H, W] or [N, F], of the same shape and device, floating point."""
    return AugmentedInputs(inputs, generator, settings)[torch.arange(len(inputs), device=inputs.device)]


def _floating(values: Tensor) -> Tensor:
    return values if values.is_floating_point() else values.to(torch.float32)


def _affine_views(images: Tensor, draws: Tensor, settings: AugmentationSettings) -> Tensor:
    turn, grow, *_ = draws.unbind(1)
    shift = 2 * settings.translation * draws[:, 2:]
    height, width = images.shape[-2:]
    theta = inverse_affine(settings.rotation * turn, 1 + settings.scale * grow, shift, width / height)
    grid = affine_grid(theta.to(images.dtype), list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
