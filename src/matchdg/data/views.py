"""Training augmentation: a random view of each image, drawn anew in every epoch."""

from copy import copy
from math import prod
from typing import Final, NamedTuple

import torch
from pydantic import Field, field_validator
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.core.settings import Settings
from matchdg.data import colour, crops
from matchdg.data.dataset import Inputs, SubsetInputs
from matchdg.data.draws import uniforms
from matchdg.data.threads import empty_floats, in_threads

# Which of an image's random numbers are for what.
_FLIP: Final = crops.DRAWS
_COLOURS: Final = _FLIP + 1
_COUNT: Final = _COLOURS + colour.DRAWS
# So many values are worked on at a time on a CPU, so that they stay in its cache.
_BLOCK_VALUES = 2**18


class ViewSettings(Settings):
    """How a random view of a training image differs from it. As they stand, not at all.

    What each draw is distributed like is that of torchvision's RandomResizedCrop, RandomHorizontalFlip, ColorJitter
    and RandomGrayscale, in this order. But the order in which ColorJitter's changes follow each other is drawn for
    all images of an epoch.
    """

    crop_scale: tuple[float, float] = Field((1.0, 1.0), description="least and largest part of an image's area shown")
    crop_ratio: tuple[float, float] = Field(
        (3 / 4, 4 / 3), description="least and largest width by height of what is shown, where it is less than all"
    )
    flip: float = Field(0.0, ge=0, le=1, description="probability of a mirror image, left for right")
    brightness: float = Field(0.0, ge=0, description="brightness is multiplied by 1 plus or minus at most this")
    contrast: float = Field(0.0, ge=0, description="contrast is multiplied by 1 plus or minus at most this")
    saturation: float = Field(0.0, ge=0, description="saturation is multiplied by 1 plus or minus at most this")
    hue: float = Field(0.0, ge=0, le=0.5, description="hue turns by at most this part of the colour circle")
    greyscale: float = Field(0.0, ge=0, le=1, description="probability of losing all colour")

    @field_validator("crop_scale", "crop_ratio")
    @classmethod
    def _check_range(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not 0 < value[0] <= value[1]:
            raise ValueError("expected two positive numbers, the lesser first")
        return value

    @field_validator("crop_scale")
    @classmethod
    def _check_scale(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[1] > 1:
            raise ValueError("expected parts of the image's area, at most 1")
        return value

    @property
    def crops(self) -> bool:
        """Whether less than the whole image may be shown."""
        return self.crop_scale[0] < 1

    @property
    def colours(self) -> bool:
        """Whether colours may change."""
        return max(*self.spans, self.greyscale) > 0

    @property
    def spans(self) -> tuple[float, float, float, float]:
        """How far brightness, contrast, saturation and hue may change."""
        return self.brightness, self.contrast, self.saturation, self.hue

    def shown(self, inputs: Inputs, seed: int, epoch: int, draw: int = 0) -> "ViewedInputs":
        """A random view of each of `inputs`: the same for equal seed, epoch and draw, whatever is asked for first."""
        return ViewedInputs(inputs, self, seed, epoch, draw)


PACS_VIEWS: Final = ViewSettings(
    crop_scale=(0.8, 1.0), flip=0.5, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.4, greyscale=0.1
)
"""What the paper trains on PACS with (appendix C.2)."""

CHEST_XRAY_VIEWS: Final = ViewSettings(crop_scale=(0.7, 1.0), flip=0.5)
"""Chest X-rays: random crops and mirror images (appendix C.1). How much is cropped is not printed."""

VIEWS: Final[dict[str, ViewSettings]] = {
    "none": ViewSettings(),
    "pacs": PACS_VIEWS,
    "chest-xray": CHEST_XRAY_VIEWS,
}


class _Draws(NamedTuple):
    """What was drawn for a batch."""

    mirrored: Tensor
    rows: Tensor
    columns: Tensor
    colours: colour.ColourDraws

    def of(self, part: slice) -> "_Draws":
        """What was drawn for a part of the batch."""
        return _Draws(self.mirrored[part], self.rows[part], self.columns[part], self.colours.of(part))


class ViewedInputs:
    """A random view of each of `inputs`, images [N, C, H, W] with values in [0, 1], made when it is asked for.

    What is drawn for an input depends on `seed`, `epoch`, `draw` and its position alone, so that the order of
    batches, the number of processes and a resumed run change nothing. `draw` tells several views in one epoch apart.
    The draws are the same on every machine and device, the pixels up to rounding.

    >>> views = ViewedInputs(torch.rand(4, 3, 8, 8), ViewSettings(flip=0.5), seed=0, epoch=0)
    >>> views[torch.tensor([2, 0])].shape
    torch.Size([2, 3, 8, 8])
    """

    def __init__(self, inputs: Inputs, settings: ViewSettings, seed: int, epoch: int, draw: int = 0) -> None:
        shape = tuple(inputs.shape)
        if len(shape) != 4:
            raise InputError(f"inputs have shape {shape}, expected images [N, C, H, W]; leave views out for others")
        if shape[1] not in (1, 3) and settings.colours:
            raise InputError(
                f"images have {shape[1]} channels, expected 1 or 3 to change colours; set these parts of views to 0"
            )
        self.inputs, self.settings = inputs, settings
        self.seed, self.epoch, self.draw = seed, epoch, draw
        # Of a number for each view, those below 0 are of no image.
        self.ordering = float(uniforms((seed, epoch, draw), torch.tensor([-1]), 1))
        # The positions that draws go by, where these inputs are some of others.
        self.origins: Tensor | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, positions: Tensor) -> Tensor:
        draws = self._draws(positions)
        if getattr(self.inputs, "device", torch.device("cpu")).type != "cpu":
            return self._view(positions, draws)
        views = empty_floats((len(positions), *self.shape[1:]))

        def fill(part: slice) -> None:
            views[part] = self._view(positions[part], draws.of(part))

        block = max(1, _BLOCK_VALUES // max(1, prod(self.shape[1:])))
        in_threads(fill, [slice(start, start + block) for start in range(0, len(positions), block)])
        return views

    def _draws(self, positions: Tensor) -> "_Draws":
        places = positions.cpu() if self.origins is None else self.origins[positions.cpu()]
        drawn = uniforms((self.seed, self.epoch, self.draw), places, _COUNT)
        height, width = self.shape[-2:]
        mirrored = drawn[:, _FLIP] < self.settings.flip
        boxes = crops.draw_crops(drawn[:, :_FLIP], self.settings.crop_scale, self.settings.crop_ratio, height, width)
        return _Draws(
            mirrored,
            *crops.crop_places(boxes, mirrored, height, width),
            colour.draw_colours(drawn[:, _COLOURS:], self.ordering, self.settings.spans, self.settings.greyscale),
        )

    def _view(self, positions: Tensor, draws: "_Draws") -> Tensor:
        images = self.inputs[positions]
        images = images if images.is_floating_point() else images.to(torch.float32)
        if self.settings.crops:
            images = crops.resize_crops(images, draws.rows.to(images), draws.columns.to(images))
        elif self.settings.flip > 0:
            images = torch.where(draws.mirrored.to(images.device).view(-1, 1, 1, 1), images.flip(-1), images)
        if self.settings.colours:
            images = colour.jitter_colours(images, draws.colours)
        return images

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of images, then the shape of one."""
        return tuple(self.inputs.shape)

    def to(self, device: torch.device | str) -> "ViewedInputs":
        """The same views, of inputs that are on `device` if they are in memory."""
        moved = copy(self)
        move = getattr(self.inputs, "to", None)
        moved.inputs = self.inputs if move is None else move(device)
        return moved

    def subset(self, positions: Tensor) -> "ViewedInputs":
        """The views at `positions`, the same ones as here."""
        some, inputs = copy(self), self.inputs
        some.inputs = inputs.subset(positions) if isinstance(inputs, SubsetInputs) else inputs[positions]
        some.origins = positions.cpu() if self.origins is None else self.origins[positions.cpu()]
        return some
