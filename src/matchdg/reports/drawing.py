"""What all plots share: no style of the user's, no date, so that equal content gives equal files."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from matchdg.core.errors import InputError
from matchdg.core.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# They differ for every common kind of colour blindness.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#56606b"
_METADATA: dict[str, dict[str, None]] = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}


def check_png(path: Path) -> Path:
    """`path`; raises `InputError` unless it is a PNG's."""
    path = Path(path)
    if path.suffix != ".png":
        raise InputError(f"plots are written as a .png, some with an .svg beside it; got the path {path.name!r}")
    return path


@contextmanager
def drawing(width: float, height: float) -> "Iterator[Figure]":
    """A figure of that size in inches, in matplotlib's own style; what a user has set would change the files."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "matchdg"
        figure = Figure(figsize=(width, height), layout="compressed")
        FigureCanvasAgg(figure)
        yield figure


def save(figure: "Figure", path: Path, suffixes: Sequence[str] = (".png", ".svg")) -> None:
    """Write the figure under `path` with each suffix; inside `drawing`."""
    for suffix in suffixes:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], dpi=150, metadata=_METADATA[suffix])
        write_bytes(path.with_suffix(suffix), buffer.getvalue())
