"""Checkpoints: two generations, each whole or known to be damaged, each tied to the run it belongs to."""

import io
from pathlib import Path
from typing import Any

import torch

from matchdg.core.errors import InputError
from matchdg.core.files import DamagedFileError, read_checked, write_checked


class Checkpoint:
    """The newest state of a run in `folder`, and the one before it, for when the newest is damaged."""

    def __init__(self, folder: Path, run: str) -> None:
        """`run` names the settings; a checkpoint of others is refused."""
        self.newest = folder / "checkpoint.bin"
        self.previous = folder / "checkpoint.previous.bin"
        self.run = run
        self._damaged: set[Path] = set()

    @property
    def whole(self) -> Path | None:
        """The file that `load` would read, if nothing has happened to it since; None where there is none."""
        return next((path for path in (self.newest, self.previous) if self._is_there(path)), None)

    def _is_there(self, path: Path) -> bool:
        return path.exists() and path not in self._damaged

    def save(self, state: dict[str, Any]) -> None:
        """Write `state`; the file that was the newest becomes the previous one, unless it was found damaged."""
        buffer = io.BytesIO()
        torch.save({"run": self.run, "state": state}, buffer)
        if self._is_there(self.newest):
            self.newest.replace(self.previous)
            self._damaged.discard(self.previous)
        write_checked(self.newest, buffer.getvalue())
        self._damaged.discard(self.newest)

    def load(self) -> tuple[dict[str, Any] | None, list[str]]:
        """The newest whole state, or None, and what there is to say about damaged files."""
        said: list[str] = []
        for path in (self.newest, self.previous):
            if not path.exists():
                continue
            try:
                content = torch.load(io.BytesIO(read_checked(path)), weights_only=True)
            except DamagedFileError as error:
                self._damaged.add(path)
                said.append(f"{error}; going back to the last good checkpoint")
                continue
            if content["run"] != self.run:
                raise InputError(
                    f"{path} belongs to run {content['run']}, expected {self.run}: it was written with other "
                    "settings. Choose another output folder, or delete this file to start the run anew"
                )
            return content["state"], said
        if said:
            said.append("no good checkpoint is left; the run starts from the beginning")
        return None, said

    def remove(self) -> None:
        """Delete both generations, once the run is finished."""
        self.newest.unlink(missing_ok=True)
        self.previous.unlink(missing_ok=True)
