"""Records: one JSON line an epoch, appended as it ends, rewound to the checkpoint on resume."""

import json
import math
from pathlib import Path
from typing import Any

from matchdg.core.errors import OutputError
from matchdg.core.files import write_text

Record = dict[str, Any]


class Records:
    """The records of a run, in memory and, with a path, in a JSONL file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lines: list[Record] = []

    def append(self, record: Record) -> None:
        """Add one epoch's record; numbers that JSON has no word for become null."""
        clean = without_nan(record)
        self.lines.append(clean)
        if self.path is None:
            return
        try:
            with self.path.open("a") as file:
                file.write(json.dumps(clean, allow_nan=False) + "\n")
        except OSError as error:
            raise OutputError(
                f"could not write {self.path}: {error.strerror or error}; make room and run the same command again"
            ) from error

    def rewind(self, epochs: int) -> None:
        """Keep the records of the first `epochs` epochs, and drop what came after them or is incomplete."""
        if self.path is None:
            self.lines = self.lines[:epochs]
            return
        self.lines = [record for record in read_records(self.path) if record["epoch"] < epochs]
        write_text(self.path, "".join(json.dumps(record) + "\n" for record in self.lines))


def read_records(path: Path) -> list[Record]:
    """The complete records of a JSONL file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text().splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


def without_nan(value: Any) -> Any:
    """`value` with null for every number that JSON has no word for.

    >>> without_nan({"loss": float("nan"), "epoch": 1})
    {'loss': None, 'epoch': 1}
    """
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
