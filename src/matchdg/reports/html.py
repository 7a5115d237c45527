"""HTML pages: one file with everything in it, no script and no request to anywhere."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchdg.core.errors import InputError
from matchdg.core.files import write_text
from matchdg.reports import cells

_KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}

Figure = tuple[str, Path, str]


@dataclass(frozen=True)
class Report:
    """A page that was written, and what of it an index shows."""

    page: Path
    title: str
    summary: list[str]
    figures: list[Figure]


def write_html(template: str, values: dict[str, Any], path: Path) -> None:
    """Fill the template of that name in this folder and write it to `path`. Values are text, never markup."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    surroundings = Environment(
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    write_text(Path(path), surroundings.get_template(template).render(values))


def embedded(figures: Sequence[Figure]) -> list[dict[str, str]]:
    """Figures (title, image file, caption) with their images inside.

    Raises `InputError` for a figure that cannot be read or is of no known kind.
    """
    return [
        {"title": cells.one_line(title), "source": data_uri(Path(image)), "caption": cells.one_line(caption)}
        for title, image, caption in figures
    ]


def data_uri(image: Path) -> str:
    """The content of an image file as an address."""
    kind = _KINDS.get(image.suffix.lower())
    if kind is None:
        raise InputError(f"figure {image.name!r} is of no known kind; expected one of {', '.join(_KINDS)}")
    try:
        content = image.read_bytes()
    except OSError as error:
        raise InputError(f"figure {image} could not be read: {error.strerror}; draw it first") from error
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
