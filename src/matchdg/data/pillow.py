"""Images by Pillow: whatever it knows, turned upright, as grey or red, green and blue in bytes."""

from io import BytesIO

import numpy as np
from PIL import Image, ImageOps

_WIDE = ("I;16", "I;16L", "I;16B", "I;16N")


def decode_with_pillow(content: bytes) -> np.ndarray:
    """The pixels of an image file's `content`, uint8, [H, W] or [H, W, 3].

    EXIF orientation is applied, transparent pixels show white, CMYK and palettes become RGB, 16 bits become 8. Of
    several frames the first counts. Raises what Pillow does, and `ValueError` for pixels of 32 bits.
    """
    with Image.open(BytesIO(content)) as opened:
        opened.load()
        return _bytes(ImageOps.exif_transpose(opened))


def _bytes(image: Image.Image) -> np.ndarray:
    if image.mode in _WIDE:
        return ((np.asarray(image).astype(np.uint32) + 128) // 257).astype(np.uint8)
    if image.mode in ("I", "F"):
        values = np.asarray(image)
        if image.mode == "F" or values.min() < 0 or values.max() > 65535:
            raise ValueError("its pixels have 32 bits, expected 8 or 16; save it with these")
        return ((values + 128) // 257).astype(np.uint8)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.array(image.convert("L" if image.mode in ("1", "L", "LA", "La") else "RGB"))
