"""Files of weights: read without running what may be in them, and known by their content."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from matchdg.core.errors import InputError

SUFFIXES: Final = (".pth", ".pt", ".safetensors")
# Around the names of a distributed network's weights, and of those that a finished run leaves.
_AROUND: Final = ("module.", "featurizer.", "body.")


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a `.pth`, `.pt` or `.safetensors` file by name, on the CPU.

    A `state_dict` within the file is found, and what a distributed network or a finished run's puts before names is
    taken off. Nothing but tensors is unpickled. Raises `InputError` for any other file.
    """
    state = _read(path)
    if isinstance(state, Mapping) and isinstance(state.get("state_dict"), Mapping):
        state = state["state_dict"]
    tensors = isinstance(state, Mapping) and all(isinstance(value, Tensor) for value in state.values())
    if not tensors or not state:
        raise InputError(f"{path} holds no tensors by name, as `torch.save(network.state_dict(), path)` writes them")
    return {_bare(str(name)): value for name, value in state.items()}


def content_digest(path: Path) -> str:
    """SHA-256 of the file, as hexadecimal digits; a file that did not change since is not read again."""
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"network.weights is {str(path)!r}, expected 'imagenet' or the path of a {', '.join(SUFFIXES)} file"
        )
    try:
        found = path.stat()
        return _content_digest(path, found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise InputError(f"weights {path} could not be read: {error.strerror or error}") from None


@lru_cache(maxsize=64)
def _content_digest(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(path: Path) -> Any:
    from pickle import UnpicklingError

    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"weights {path} could not be read: {error.strerror or error}") from None
    except (SafetensorError, UnpicklingError, RuntimeError, ValueError, EOFError, KeyError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(
            f"weights {path} are not a readable file of tensors alone ({first}); files that would run code when they "
            "are loaded are refused. Write the tensors with `torch.save(network.state_dict(), path)` or as safetensors"
        ) from None


def _bare(name: str) -> str:
    for part in _AROUND:
        name = name.removeprefix(part)
    return name
