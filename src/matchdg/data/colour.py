"""Random changes of colour of a whole batch, each image by amounts of its own and in an order of its own."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Final

import torch
from torch import Tensor

# The weights of red, green and blue in what an eye takes for brightness (ITU-R BT.601), as torchvision has them.
GREY: Final = (0.2989, 0.587, 0.114)
DRAWS: Final = 6
ORDERS: Final = tuple(permutations(range(4)))
# So many values are worked on at a time on a CPU, so that they stay in its cache.
_BLOCK_VALUES = 2**17


def jitter_colours(images: Tensor, drawn: Tensor, spans: Sequence[float], greyscale: float) -> Tensor:
    """`images` [B, C, H, W] in [0, 1], C 1 or 3, changed in place as ColorJitter and RandomGrayscale change colours.

    `spans` are how far brightness, contrast, saturation and hue may change, `greyscale` is the probability of losing
    all colour. `drawn` [B, DRAWS], uniform in [0, 1): the four factors, their order, and whether all colour goes.
    """
    factors = [
        (1 + span * (2 * part - 1)).clamp(min=0) if change is not shift_hue else span * (2 * part - 1)
        for change, span, part in zip(CHANGES, spans, drawn.T, strict=False)
    ]
    numbers = torch.stack(factors, dim=1).to(images)
    orders = (drawn[:, 4] * len(ORDERS)).long()
    grey = drawn[:, 5] < greyscale
    chosen = [index for index, span in enumerate(spans) if span > 0 and (images.shape[1] == 3 or index < 2)]
    for order, rows in _groups(orders if len(chosen) > 1 else torch.zeros_like(orders), images):
        part = images[rows]
        for index in ORDERS[order]:
            if index in chosen:
                part = CHANGES[index](part, numbers[rows, index].view(-1, 1, 1, 1))
        images[rows] = part
    if images.shape[1] == 3 and bool(grey.any()):
        rows = grey.nonzero().flatten().to(images.device)
        images[rows] = to_grey(images[rows]).expand(-1, 3, -1, -1)
    return images


def _groups(orders: Tensor, images: Tensor) -> list[tuple[int, Tensor]]:
    """Rows of the same order together; on a CPU no more than its cache holds."""
    block = max(1, _BLOCK_VALUES // images[0].numel()) if images.device.type == "cpu" else len(orders)
    return [
        (order, rows.to(images.device))
        for order in orders.unique().tolist()
        for rows in (orders == order).nonzero().flatten().split(block)
    ]


def scale_brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Every value times `factor` [B, 1, 1, 1], at most 1."""
    return (images * factor).clamp_(0, 1)


def scale_contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Every value's distance from the image's mean grey times `factor`."""
    mean = to_grey(images).mean((1, 2, 3), keepdim=True)
    return torch.lerp(mean, images, factor).clamp_(0, 1)


def scale_saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Every pixel's distance from its own grey times `factor`."""
    return torch.lerp(to_grey(images), images, factor).clamp_(0, 1)


def shift_hue(images: Tensor, turn: Tensor) -> Tensor:
    r"""Every pixel's hue turned by `turn` of the circle; its largest and smallest value stay as they are.

    With hue $h$ in [0, 6), smallest value $m$ and chroma $c$, red is $m + c\,[|h - 3| - 1]$, green
    $m + c\,[2 - |h - 2|]$ and blue $m + c\,[2 - |h - 4|]$, the brackets cut to [0, 1]: a conversion to HSV and back
    in one.
    """
    red, green, blue = images.unbind(1)
    high = torch.maximum(torch.maximum(red, green), blue)
    low = torch.minimum(torch.minimum(red, green), blue)
    chroma = high - low
    # Grey has no hue, and any serves: its chroma is 0.
    slope = 1 / chroma.clamp(min=1e-12)
    hue = torch.where(
        high == red,
        (green - blue) * slope,
        torch.where(high == green, (blue - red).mul_(slope).add_(2), (red - green).mul_(slope).add_(4)),
    )
    hue = hue.add_(6 * turn[:, :, 0]).remainder_(6)
    weights = torch.stack([hue - 3, hue - 2, hue - 4], dim=1).abs_()
    weights[:, 0].sub_(1)
    weights[:, 1:].neg_().add_(2)
    return torch.addcmul(low[:, None], chroma[:, None], weights.clamp_(0, 1))


def to_grey(images: Tensor) -> Tensor:
    """The grey of each pixel, [B, 1, H, W]."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(1)
    return (red * GREY[0]).add_(green, alpha=GREY[1]).add_(blue, alpha=GREY[2])[:, None]


CHANGES: Final[tuple[Callable[[Tensor, Tensor], Tensor], ...]] = (
    scale_brightness,
    scale_contrast,
    scale_saturation,
    shift_hue,
)
