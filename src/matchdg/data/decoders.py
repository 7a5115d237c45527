"""How files become pixels: a decoder for each kind of file, by suffix, and one that knows all common images."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torchvision.io import ImageReadMode, decode_jpeg, decode_png

from matchdg.data.pillow import decode_with_pillow
from matchdg.data.xray.dicom import read_dicom

Decoder = Callable[[Path], np.ndarray]
"""A file's pixels upright, uint8, [H, W] or [H, W, 3]. Raises what it likes for a file that it cannot read."""

DECODERS: Final[dict[str, Decoder]] = {".dcm": read_dicom}
"""Decoders by suffix in lower case. All other files go to `decode_common`.

A decoder is known to the cache by the name of its function, so one that changes what it gives needs a new name.
"""

_JPEG, _PNG = b"\xff\xd8", b"\x89PNG\r\n\x1a\n"


def decoder_of(path: Path, decoders: dict[str, Decoder]) -> Decoder:
    """The decoder for `path`, by its suffix."""
    return decoders.get(path.suffix.lower(), decode_common)


def decode_common(path: Path) -> np.ndarray:
    """Any image that Pillow knows; plain JPEGs and PNGs by torchvision, which is faster. The suffix does not matter."""
    content = path.read_bytes()
    pixels = _plain(content)
    return decode_with_pillow(content) if pixels is None else pixels


def _plain(content: bytes) -> np.ndarray | None:
    """Of a JPEG or PNG without alpha, palette or CMYK the pixels, else None; None too for one that is damaged."""
    # The copy is what PyTorch may write to, or else it warns.
    raw = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
    try:
        if content.startswith(_JPEG):
            image = decode_jpeg(raw, ImageReadMode.UNCHANGED, apply_exif_orientation=True)
        elif content.startswith(_PNG) and _is_plain(content):
            image = decode_png(raw, ImageReadMode.UNCHANGED, apply_exif_orientation=True)
        else:
            return None
    except RuntimeError:
        return None
    return _as_array(image) if len(image) in (1, 3) else None


def _is_plain(png: bytes) -> bool:
    """Whether there are grey values or red, green and blue, of 8 or 16 bits, and no colour declared transparent."""
    depth, colours = png[24:26] if len(png) > 26 else (0, 0)
    return depth in (8, 16) and colours in (0, 2) and b"tRNS" not in png[: png.find(b"IDAT")]


def _as_array(image: Tensor) -> np.ndarray:
    """[H, W] or [H, W, 3] of [C, H, W]; of 16 bits the upper ones, rounded."""
    array = image.permute(1, 2, 0).numpy() if len(image) == 3 else image[0].numpy()
    return array if array.dtype == np.uint8 else ((array.astype(np.uint32) + 128) // 257).astype(np.uint8)
