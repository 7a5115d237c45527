"""Random resized crops of a whole batch: a box for each image, shown at the size of the whole, mirrored or not."""

import math
from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

ATTEMPTS: Final = 10
DRAWS: Final = 2 * ATTEMPTS + 2


def draw_crops(
    drawn: Tensor, scale: tuple[float, float], ratio: tuple[float, float], height: int, width: int
) -> Tensor:
    """Boxes (top, left, height, width) as whole numbers, [B, 4], distributed like torchvision's RandomResizedCrop.

    `drawn` [B, DRAWS] are uniform in [0, 1): `ATTEMPTS` times an area and a ratio of which the first that fits counts,
    and a place. Where none fits, the largest central box with a ratio in the range.
    """
    attempts = drawn[:, : 2 * ATTEMPTS].reshape(-1, ATTEMPTS, 2)
    areas = height * width * (scale[0] + (scale[1] - scale[0]) * attempts[..., 0])
    low, high = math.log(ratio[0]), math.log(ratio[1])
    ratios = (low + (high - low) * attempts[..., 1]).exp()
    widths, heights = (areas * ratios).sqrt().round(), (areas / ratios).sqrt().round()
    fits = (widths >= 1) & (widths <= width) & (heights >= 1) & (heights <= height)
    first = fits.to(torch.uint8).argmax(1, keepdim=True)
    none, size = ~fits.any(1), _largest(ratio, height, width)
    box_height = torch.where(none, size[0], heights.gather(1, first).flatten())
    box_width = torch.where(none, size[1], widths.gather(1, first).flatten())
    places = drawn[:, 2 * ATTEMPTS :]
    top, left = (
        torch.where(none, ((whole - part) / 2).floor(), (place * (whole - part + 1)).floor())
        for place, whole, part in zip(places.T, (height, width), (box_height, box_width), strict=True)
    )
    return torch.stack([top, left, box_height, box_width], dim=1).to(torch.int64)


def _largest(ratio: tuple[float, float], height: int, width: int) -> tuple[float, float]:
    if width / height < ratio[0]:
        return float(max(1, round(width / ratio[0]))), float(width)
    if width / height > ratio[1]:
        return float(height), float(max(1, round(height * ratio[1])))
    return float(height), float(width)


def crop_places(boxes: Tensor, mirrored: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Where views' pixels lie in their images: rows [B, H] and columns [B, W], in [-1, 1] as `grid_sample` counts.

    Places between a box's outermost pixels' centres and its edge are those pixels', so that nothing beyond a box is
    seen. `mirrored` [B] flips left and right.
    """
    top, left, box_height, box_width = boxes.to(torch.float64).unbind(1)
    columns = _places(left, box_width, width)
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    return _places(top, box_height, height).float(), columns.float()


def resize_crops(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """What `images` [B, C, H, W] have at those rows [B, H] and columns [B, W], bilinearly: [B, C, H, W].

    The same as cutting boxes out, `interpolate` and `flip` one by one.
    """
    grid = images.new_empty((len(images), rows.shape[1], columns.shape[1], 2))
    grid[..., 0] = columns[:, None, :]
    grid[..., 1] = rows[:, :, None]
    return grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _places(start: Tensor, length: Tensor, size: int) -> Tensor:
    """Where `size` pixels of a view lie along one side of the image: [B, size], in [-1, 1]."""
    steps = (torch.arange(size, dtype=torch.float64) + 0.5) / size
    pixels = (steps * length[:, None] - 0.5).clamp(min=0).minimum(length[:, None] - 1) + start[:, None]
    return (2 * pixels + 1) / size - 1
