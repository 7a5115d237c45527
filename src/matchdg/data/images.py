"""One image file as a square of bytes."""

import struct
import zlib
from pathlib import Path
from typing import Final

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor
from torch.nn.functional import interpolate

from matchdg.core.errors import InputError
from matchdg.data.decoders import DECODERS, Decoder, decoder_of

VERSION: Final = 2
"""Part of every cache's name. Raise it whenever the code changes what an image file becomes."""

# What decoders raise for a file that is something else, cut short, too large or out of reach.
_UNREADABLE = (
    OSError, ValueError, SyntaxError, EOFError, TypeError, LookupError, ArithmeticError, RuntimeError, struct.error,
    zlib.error, Image.DecompressionBombError,
)  # fmt: skip
# Red, green and blue in Pillow's conversion to grey.
_GREY = torch.tensor([19595, 38470, 7471], dtype=torch.int32)


def read_image(path: Path, size: int, channels: int = 3, decoders: dict[str, Decoder] = DECODERS) -> np.ndarray:
    """The image at `path` as uint8 [channels, size, size]; `channels` is 1 or 3.

    It is turned upright and brought to that size, whatever its shape, by antialiased bilinear interpolation. Grey
    becomes three equal channels, and colours one grey. Raises `InputError` naming a file that cannot be read.
    """
    return np.ascontiguousarray(read_pixels(path, size, channels, decoders).permute(2, 0, 1).numpy())


def read_pixels(path: Path, size: int, channels: int, decoders: dict[str, Decoder]) -> Tensor:
    """`read_image` as a tensor [size, size, channels], as files have their pixels."""
    if channels not in (1, 3):
        raise InputError(f"channels is {channels}, expected 1 (grey) or 3 (red, green, blue)")
    try:
        pixels = torch.from_numpy(decoder_of(path, decoders)(path))
    except _UNREADABLE as error:
        raise InputError(f"{path} is not a readable image: {_reason(error)}") from None
    if pixels.dim() == 3 and channels == 1:
        pixels = ((pixels.to(torch.int32) * _GREY).sum(-1) + 2**15).div(2**16, rounding_mode="floor").to(torch.uint8)
    if pixels.dim() == 2:
        # Three channels that lie side by side are resized fastest, grey ones too.
        pixels = torch.stack([pixels] * channels, dim=-1)
    if pixels.shape[:2] != (size, size):
        images = pixels[None].permute(0, 3, 1, 2)
        pixels = interpolate(images, (size, size), mode="bilinear", antialias=True)[0].permute(1, 2, 0)
    return pixels.contiguous()


def _reason(error: BaseException) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is of no format that Pillow knows"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text or type(error).__name__).strip().rstrip(".")
