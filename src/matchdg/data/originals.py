"""`Originals`: a whole collection of upright images, before any rotation."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from matchdg.data.catalogue import FILES, collection_of
from matchdg.data.fetch import fetch
from matchdg.data.idx import read_idx
from matchdg.data.sources import cache_folder, search


@dataclass(frozen=True)
class Originals:
    """Upright images, uint8 [N, H, W], with labels int64 [N]; the last `official_test` are the official test set."""

    title: str
    images: Tensor
    labels: Tensor
    class_names: tuple[str, ...]
    official_test: int = 0


@cache
def bundled_digits() -> Originals:
    """scikit-learn's 1,797 digits of 8x8 pixels: no file and no network needed. Their 0..16 becomes 0..255."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = np.floor(digits.images * (255 / 16) + 0.5).astype(np.uint8)
    labels = torch.from_numpy(digits.target.astype(np.int64))
    return Originals("digits", torch.from_numpy(images), labels, tuple(str(digit) for digit in range(10)))


def read_collection(name: str, data_dir: Path | None = None) -> Originals:
    """The whole collection: training images, then test images. Fetches it into the cache where it is nowhere.

    Raises `InputError` for a wrong file, or, where nothing works, with every place and why it failed.
    """
    collection = collection_of(name)
    found, tried = search(collection, data_dir)
    files = found.files if found else fetch(collection, cache_folder(collection), tried)
    arrays = [read_idx(files[file], collection.checksums[file]) for file in FILES]
    return Originals(
        collection.title,
        torch.from_numpy(np.concatenate(arrays[0::2])),
        torch.from_numpy(np.concatenate(arrays[1::2]).astype(np.int64)),
        collection.class_names,
        official_test=len(arrays[2]),
    )
