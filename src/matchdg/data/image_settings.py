"""What the settings of data sets of images share."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from matchdg.core.errors import InputError
from matchdg.core.families import choose
from matchdg.core.settings import Settings
from matchdg.data.image_table import OnCorrupt
from matchdg.data.views import VIEWS, ViewSettings


class ImageSettings(Settings):
    """Size, augmentation, and what to do with files that cannot be read.

    A run is named by its images' content: settings made without a fingerprint take that of the files that are found.
    """

    size: int = Field(224, ge=8, le=2048, description="pixels a side, whatever shape the files have")
    views: ViewSettings = Field(
        ViewSettings(), description=f"augmentation of training images: {', '.join(VIEWS)}, or settings of its own"
    )
    on_corrupt: OnCorrupt = Field("error", description="files that cannot be read: an error, or left out (skip)")
    fingerprint: str | None = Field(
        None, description="what the files' content must have; null: that of the files found when the run is named"
    )

    @field_validator("views", mode="before")
    @classmethod
    def _name_views(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"name": value}
        if not (isinstance(value, Mapping) and "name" in value):
            return value
        changes = {key: own for key, own in value.items() if key != "name"}
        return {**choose("views", value["name"], VIEWS).model_dump(), **changes}

    @model_validator(mode="after")
    def _take_fingerprint(self) -> "ImageSettings":
        if self.fingerprint is None:
            try:
                # The one place that changes settings, while they are being made.
                object.__setattr__(self, "fingerprint", self.find_fingerprint())
            except InputError:
                # Settings of data that are elsewhere are settings still; `build` says what is wrong.
                return self
        return self

    def find_fingerprint(self) -> str:
        """The fingerprint of the files as they are now."""
        raise NotImplementedError

    def check_fingerprint(self, where: object) -> None:
        """Raise `InputError` where the files are not those that the settings name."""
        found = self.find_fingerprint()
        if self.fingerprint not in (None, found):
            raise InputError(
                f"the images in {where} have the fingerprint {found}, expected {self.fingerprint}: they are not those "
                f"that this run is named by; give it those, or set dataset.fingerprint={found} for a run of its own"
            )
