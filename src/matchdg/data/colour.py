"""Random changes of colour of a whole batch, each image by amounts of its own."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Final, NamedTuple

import torch
from torch import Tensor

# The weights of red, green and blue in what an eye takes for brightness (ITU-R BT.601), as torchvision has them.
GREY: Final = (0.2989, 0.587, 0.114)
DRAWS: Final = 5
ORDERS: Final = tuple(permutations(range(4)))


class ColourDraws(NamedTuple):
    """What was drawn for B images: factors [B, 4] of `CHANGES`, their order, and which images lose all colour."""

    factors: Tensor
    order: tuple[int, ...]
    grey: list[bool]

    def of(self, rows: slice) -> "ColourDraws":
        """What was drawn for some of the images."""
        return ColourDraws(self.factors[rows], self.order, self.grey[rows])


def draw_colours(drawn: Tensor, ordering: float, spans: Sequence[float], greyscale: float) -> ColourDraws:
    """Factors and losses of colour from `drawn` [B, DRAWS], and one order from `ordering`; uniform in [0, 1).

    `spans` are how far brightness, contrast, saturation and hue may change: those that may not at all are not in the
    order. `greyscale` is the probability of losing all colour. Images of one call share the order, so that they can
    be worked on together; torchvision draws it for each image that it is given alone.
    """
    factors = torch.tensor(spans, dtype=drawn.dtype) * (2 * drawn[:, :4] - 1)
    factors[:, :3] = (1 + factors[:, :3]).clamp(min=0)
    order = tuple(index for index in ORDERS[int(ordering * len(ORDERS))] if spans[index] > 0)
    return ColourDraws(factors.float(), order, (drawn[:, 4] < greyscale).tolist())


def jitter_colours(images: Tensor, draws: ColourDraws) -> Tensor:
    """`images` [B, C, H, W] in [0, 1], C 1 or 3, changed as ColorJitter and RandomGrayscale change colours.

    Grey images have neither saturation nor hue. `images` may be overwritten.
    """
    factors = draws.factors.to(images.device)[..., None, None, None]
    for index in draws.order:
        if images.shape[1] == 3 or CHANGES[index] not in (scale_saturation, shift_hue):
            images = CHANGES[index](images, factors[:, index])
    if images.shape[1] == 3:
        for row, grey in enumerate(draws.grey):
            if grey:
                images[row] = to_grey(images[row : row + 1])
    return images


def scale_brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Every value times `factor` [B, 1, 1, 1], at most 1."""
    return (images * factor).clamp_(0, 1)


def scale_contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Every value's distance from the image's mean grey times `factor`."""
    mean = to_grey(images).flatten(1).mean(1).view(-1, 1, 1, 1)
    return _blend(images, mean, factor)


def scale_saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Every pixel's distance from its own grey times `factor`."""
    return _blend(images, to_grey(images), factor)


def _blend(images: Tensor, others: Tensor, factor: Tensor) -> Tensor:
    return (images * factor).add_(others * (1 - factor)).clamp_(0, 1)


def shift_hue(images: Tensor, turn: Tensor) -> Tensor:
    r"""Every pixel's hue turned by `turn` of the circle; its largest and smallest value stay as they are.

    A conversion to HSV and back in one, without branches. With smallest value $m$, chroma $c$ and hue $h$ in [-3, 3],
    red being 0, green 2 and blue -2: $h = \pm (1 + (g + b - r - m) / c)$ with the sign of $g - b$, and a colour whose
    own hue is $k$ has the value $m - c + c \min(2, \max(1, ||h - k| - 3|))$.
    """
    red, green, blue = images.unbind(1)
    low = torch.minimum(torch.minimum(red, green), blue)
    chroma = torch.maximum(torch.maximum(red, green), blue).sub_(low)
    # Grey has no hue, and any serves: its chroma is 0.
    slope = chroma.clamp(min=1e-12).reciprocal_()
    hue = (green + blue).sub_(red).sub_(low).mul_(slope).add_(1).copysign_(green - blue)
    hue.add_(turn[:, 0], alpha=6)
    hue.sub_(torch.mul(hue, 1 / 6).round_(), alpha=6)
    weights = torch.stack([hue, hue - 2, hue + 2], dim=1).abs_().sub_(3).abs_().clamp_(1, 2)
    return weights.mul_(chroma[:, None]).add_(low.sub_(chroma)[:, None])


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
