"""`PixelInputs`: images that stay bytes in memory and become numbers batch by batch."""

import torch
from torch import Tensor

from matchdg.core.errors import InputError


class PixelInputs:
    """uint8 images [N, C, H, W]; `inputs[positions]` gathers [B, C, H, W] as float32 in [0, 1], pixels / 255.

    A quarter of the memory of float images, and never all of them as floats at once.

    >>> images = PixelInputs(torch.tensor([[[[0, 51]]], [[[102, 255]]]], dtype=torch.uint8))
    >>> images[torch.tensor([1, 0])].flatten(1).tolist()
    [[0.4000000059604645, 1.0], [0.0, 0.20000000298023224]]
    >>> images.shape
    (2, 1, 1, 2)
    """

    def __init__(self, pixels: Tensor) -> None:
        if pixels.dtype != torch.uint8 or pixels.dim() != 4:
            raise InputError(
                f"pixels are {pixels.dtype} of shape {tuple(pixels.shape)}, expected uint8 images [N, C, H, W]"
            )
        self.pixels = pixels

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, positions: Tensor) -> Tensor:
        return self.subset(positions).pixels.to(torch.float32).div_(255)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of images, then the shape of one."""
        return tuple(self.pixels.shape)

    @property
    def device(self) -> torch.device:
        """Where the pixels are, and where what is gathered will be."""
        return self.pixels.device

    def to(self, device: torch.device | str) -> "PixelInputs":
        """The same images on `device`."""
        return PixelInputs(self.pixels.to(device))

    def subset(self, positions: Tensor) -> "PixelInputs":
        """The images at `positions`, still bytes."""
        return PixelInputs(self.pixels[positions.to(self.device)])
