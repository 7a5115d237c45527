"""Random streams: one a purpose and epoch, from the run's seed, so that a resumed run draws what it would have."""

import hashlib
from typing import Any

import torch

from matchdg.core.errors import InputError

HIGHEST = 2**63 - 1


def stream(seed: int, purpose: str, epoch: int = 0) -> torch.Generator:
    """A generator for `purpose` in `epoch`; the same on every machine and in every process.

    >>> a, b = stream(0, "matches", 1), stream(0, "matches", 1)
    >>> bool((torch.rand(3, generator=a) == torch.rand(3, generator=b)).all())
    True
    """
    digest = hashlib.sha256(f"{seed}/{purpose}/{epoch}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


def check_seed(seed: Any) -> None:
    """Raise `InputError` unless `seed` is a whole number that generators take."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= HIGHEST:
        raise InputError(f"seed is {seed!r}, expected a whole number from 0 to {HIGHEST}")
