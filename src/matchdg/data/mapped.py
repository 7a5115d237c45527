"""`MappedInputs`: images that stay on disk, mapped into memory, and become numbers batch by batch."""

import mmap
import warnings
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data.inputs import PixelInputs

# After so many bytes were gathered, what the system has mapped is let go of; it stays in the system's file cache.
_RELEASE_BYTES = 2**27
_BLOCK_BYTES = 2**26


class MappedInputs:
    """uint8 images [count, C, H, W] in a file; `inputs[positions]` gathers float32 in [0, 1], as `PixelInputs` does.

    In the file a pixel's channels lie side by side, [count, H, W, C], and so they do in what is gathered: that is
    what networks of convolutions are fastest on (`channels_last`).
    `rows` are the images' places in the file, in the order in which they are inputs. Neither the floats nor the
    bytes are ever all in memory at once, until `to` moves them to a device. Another process gets the path.
    """

    def __init__(self, path: Path, count: int, image_shape: tuple[int, int, int], rows: Tensor | None = None) -> None:
        self.path, self.count, self.image_shape = path, count, image_shape
        self.rows = torch.arange(count) if rows is None else rows
        if len(self.rows) and not 0 <= int(self.rows.min()) <= int(self.rows.max()) < count:
            raise InputError(
                f"rows go from {int(self.rows.min())} to {int(self.rows.max())}, expected 0 to {count - 1}"
            )
        self._map: mmap.mmap | None = None
        self._pixels: Tensor | None = None
        self._gathered = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, positions: Tensor) -> Tensor:
        return self._gather(positions).to(torch.float32).div_(255)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of images, then the shape of one."""
        return (len(self.rows), *self.image_shape)

    @property
    def device(self) -> torch.device:
        """Where what is gathered will be."""
        return torch.device("cpu")

    @property
    def whole(self) -> "MappedInputs":
        """All images of the file."""
        return MappedInputs(self.path, self.count, self.image_shape)

    @property
    def key(self) -> str:
        """What the file's content is known by: its folder's name."""
        return self.path.parent.name

    def subset(self, positions: Tensor) -> "MappedInputs":
        """The images at `positions`, still on disk."""
        return MappedInputs(self.path, self.count, self.image_shape, self.rows[positions.cpu()])

    def to(self, device: torch.device | str) -> "MappedInputs | PixelInputs":
        """The same images with their bytes in the memory of `device`; on the CPU they stay where they are."""
        if torch.device(device).type == "cpu":
            return self
        pixels = torch.empty(self.shape, dtype=torch.uint8, device=device)
        for part in torch.arange(len(self)).split(max(1, _BLOCK_BYTES // prod(self.image_shape))):
            pixels[int(part[0]) : int(part[-1]) + 1] = self._gather(part).to(device)
        return PixelInputs(pixels)

    def _gather(self, positions: Tensor) -> Tensor:
        pixels = self._open()
        found = pixels.index_select(0, self.rows[positions.cpu()])
        self._gathered += found.numel()
        if self._gathered >= _RELEASE_BYTES and self._map is not None:
            self._gathered = 0
            if hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED)
        return found.permute(0, 3, 1, 2)

    def _open(self) -> Tensor:
        if self._pixels is None:
            try:
                with self.path.open("rb") as stream:
                    self._map = mmap.mmap(stream.fileno(), self.count * prod(self.image_shape), access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                raise InputError(f"{self.path} of the cache is gone or cut short ({error}); start again") from None
            with warnings.catch_warnings():
                # PyTorch says that it may not write there, which nobody does.
                warnings.simplefilter("ignore", UserWarning)
                flat = torch.frombuffer(self._map, dtype=torch.uint8)
            channels, height, width = self.image_shape
            self._pixels = flat.view(self.count, height, width, channels)
        return self._pixels

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_map": None, "_pixels": None, "_gathered": 0}
