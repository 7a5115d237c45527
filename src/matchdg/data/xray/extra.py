"""What `matchdg[xray]` brings, imported when it is needed, because that takes seconds."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import numpy as np

from matchdg.core.errors import InputError


def xray_module(name: str) -> ModuleType:
    """A module of the extra; raises `InputError` that names the extra where it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != name.split(".", maxsplit=1)[0]:
            raise
        raise InputError(
            f"chest X-rays need {name.split('.', maxsplit=1)[0]}, which is not installed; "
            "install it: pip install 'matchdg[xray]'"
        ) from None


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Leave NumPy's global generator as it was: torchxrayvision seeds it whenever it lists a collection."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
