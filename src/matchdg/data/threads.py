"""Work on parts of a batch in threads of our own, each with one of PyTorch's.

An operation that PyTorch itself shares among threads makes them wait for each other; of an image's many small ones
each would. Here a thread works on an image of its own from the first operation to the last.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

Part = TypeVar("Part")
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_lock = Lock()


def in_threads(work: Callable[[Part], None], parts: Sequence[Part]) -> None:
    """`work` on each part, in as many threads as PyTorch has; what one of them raises is raised here."""
    threads = min(torch.get_num_threads(), len(parts))
    if threads <= 1:
        for part in parts:
            work(part)
        return

    def share(first: int) -> None:
        for part in parts[first::threads]:
            work(part)

    list(_pool(torch.get_num_threads()).map(share, range(threads)))


def empty_floats(shape: tuple[int, ...]) -> Tensor:
    """Memory for a batch. NumPy asks for large pages, and PyTorch does not: ten times as fast to fill."""
    return torch.from_numpy(np.empty(shape, np.float32))


def _pool(threads: int) -> ThreadPoolExecutor:
    # A forked process has no threads but the one that forked.
    key = (os.getpid(), threads)
    with _lock:
        if key not in _pools:
            _pools[key] = single_threads(threads)
        return _pools[key]


def single_threads(count: int) -> ThreadPoolExecutor:
    """A pool whose `count` threads have one of PyTorch's each; this thread keeps its own."""
    before = torch.get_num_threads()
    all_there = Barrier(count)
    pool = ThreadPoolExecutor(count, thread_name_prefix="matchdg", initializer=_be_single)
    list(pool.map(lambda _: all_there.wait(), range(count)))
    # The number is also what threads made later begin with.
    torch.set_num_threads(before)
    return pool


def _be_single() -> None:
    # Asked first, PyTorch takes a new thread's number from the process; later it would forget the one set here.
    torch.get_num_threads()
    torch.set_num_threads(1)
