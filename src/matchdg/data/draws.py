"""Random numbers that are a function of a key and a position: no state, so no order to keep."""

import hashlib

import numpy as np
import torch
from torch import Tensor

_STEP = np.uint64(0x9E3779B97F4A7C15)


def uniforms(key: tuple[int, ...], positions: Tensor, count: int) -> Tensor:
    """`count` numbers in [0, 1) for each of `positions` [B], as float64 [B, count] on the CPU.

    The same on every machine: two rounds of SplitMix64, of the position and of the number's index.

    >>> bool(torch.equal(uniforms((0, 1), torch.tensor([3, 5]), 2)[1], uniforms((0, 1), torch.tensor([5]), 2)[0]))
    True
    """
    digest = hashlib.sha256("/".join(str(part) for part in key).encode()).digest()
    start = np.frombuffer(digest[:8], dtype="<u8")
    places = positions.cpu().numpy().astype(np.uint64)
    states = _mixed(start + _STEP * places)
    bits = _mixed(states[:, None] + _STEP * np.arange(1, count + 1, dtype=np.uint64))
    return torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
