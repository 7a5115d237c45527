"""Rotated MNIST, Fashion-MNIST and digits: every domain shows the same kind of image at an angle of its own."""

import math
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from matchdg.core.settings import Settings
from matchdg.data.augmentation import AugmentationSettings
from matchdg.data.dataset import DomainDataset
from matchdg.data.division import divide
from matchdg.data.inputs import PixelInputs
from matchdg.data.originals import Originals, bundled_digits, read_collection
from matchdg.data.rotation import rotate
from matchdg.data.split import DomainSplit

_TRAIN = 'images of a source domain to train on, or "all": share out everything there is'
_SIZE = "pixels a side, enlarged and rotated in one interpolation from the original pixels"
_TEST = "images of a target domain; null: all that are left"
_DATA_DIR = "folder with the data files, looked in first; no part of a run's name, because their content is verified"


class RotatedSettings(Settings):
    """What the rotated data sets share. Angles are degrees counter-clockwise, and as text the domains' names.

    The object is the upright image, numbered through the whole collection, so every domain of a part shows the
    same objects. Which images go where: see `divide`.
    """

    sources: tuple[float, ...] = Field((15, 30, 45, 60, 75), description="angles of the source domains")
    targets: tuple[float, ...] = Field((0, 90), min_length=1, description="angles of the target domains")
    size: int = Field(28, ge=8, le=1024, description=_SIZE)
    train_per_domain: int | Literal["all"] = Field(2000, description=_TRAIN)
    validation_per_domain: int | None = Field(
        None, ge=1, description="images of a source domain that select; null: 20 % of those to train on"
    )
    test_per_domain: int | None = Field(2000, ge=1, description=_TEST)
    digits: Literal["separate", "same"] = Field(
        "separate",
        description="whether the targets show images of their own, or those of training, which leaks (appendix C.1)",
    )

    @field_validator("train_per_domain", mode="before")
    @classmethod
    def _check_train(cls, value: Any) -> Any:
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not whole and value != "all":
            raise ValueError('expected a whole number from 1 up, or "all"')
        return value

    @model_validator(mode="after")
    def _check_angles(self) -> "RotatedSettings":
        angles = (*self.sources, *self.targets)
        wrong = [angle for angle in angles if not -360 <= angle <= 360]
        if wrong:
            raise ValueError(f"angles are degrees from -360 to 360, not {wrong[0]:g}")
        if len(self.sources) < 2:
            raise ValueError(f"domain generalization needs at least two source domains, not {len(self.sources)}")
        turns = [angle % 360 for angle in angles]
        both = [domain_name(angle) for angle in self.targets if angle % 360 in turns[: len(self.sources)]]
        if both:
            raise ValueError(f"{', '.join(both)}: a target domain must not be a source domain as well")
        twice = [domain_name(angle) for angle, turn in zip(angles, turns, strict=True) if turns.count(turn) > 1]
        if twice:
            raise ValueError(f"the same rotation is given twice: {', '.join(twice)}; give each angle once")
        return self

    def rotated(self, originals: Originals, seed: int) -> DomainSplit:
        """Divide the originals with `seed`, and show them at the angles of the sources and of the targets."""
        parts = divide(
            originals,
            self.train_per_domain,
            self.validation_per_domain,
            self.test_per_domain,
            self.digits,
            seed,
        )
        return DomainSplit(
            train=_views(originals, parts.train, self.sources, self.size),
            validation=_views(originals, parts.validation, self.sources, self.size),
            test=_views(originals, parts.test, self.targets, self.size),
            targets=tuple(domain_name(angle) for angle in self.targets),
            # These data's own augmentation: a turn by as much as the source domains differ.
            augmentation=AugmentationSettings(
                rotation=min(180.0, max(self.sources) - min(self.sources)), translation=0, scale=0
            ),
        )


class RotatedMnistSettings(RotatedSettings):
    """MNIST's handwritten digits, each domain rotated by an angle of its own (section 6, appendix C.1)."""

    data_dir: Path | None = Field(None, exclude=True, description=_DATA_DIR)

    def build(self, seed: int) -> DomainSplit:
        """Find the files, or fetch them; divide and rotate. Equal seeds give equal data on every machine."""
        return self.rotated(read_collection("mnist", self.data_dir), seed)


class RotatedFashionMnistSettings(RotatedSettings):
    """Fashion-MNIST's articles, each domain rotated by an angle of its own (section 6, appendix C.1)."""

    train_per_domain: int | Literal["all"] = Field(10_000, description=_TRAIN)
    data_dir: Path | None = Field(None, exclude=True, description=_DATA_DIR)

    def build(self, seed: int) -> DomainSplit:
        """Find the files, or fetch them; divide and rotate. Equal seeds give equal data on every machine."""
        return self.rotated(read_collection("fashion-mnist", self.data_dir), seed)


class RotatedDigitsSettings(RotatedSettings):
    """scikit-learn's bundled 8x8 digits, enlarged and rotated: needs no data file and no network."""

    size: int = Field(32, ge=8, le=1024, description=_SIZE)
    train_per_domain: int | Literal["all"] = Field(1000, description=_TRAIN)
    test_per_domain: int | None = Field(None, ge=1, description=_TEST)

    def build(self, seed: int) -> DomainSplit:
        """Divide and rotate. Equal seeds give equal data on every machine."""
        return self.rotated(bundled_digits(), seed)


def domain_name(degrees: float) -> str:
    """An angle as text.

    >>> domain_name(15.0), domain_name(22.5), domain_name(-0.0)
    ('15', '22.5', '0')
    """
    return str(int(degrees)) if degrees == math.floor(degrees) else repr(degrees)


def _views(originals: Originals, chosen: Tensor, angles: tuple[float, ...], size: int) -> DomainDataset:
    """The chosen originals at every angle, domain after domain."""
    pixels = torch.empty((len(angles), len(chosen), size, size), dtype=torch.uint8)
    for domain, degrees in enumerate(angles):
        pixels[domain] = rotate(originals.images[chosen], degrees, size)
    return DomainDataset(
        PixelInputs(pixels.view(-1, 1, size, size)),
        originals.labels[chosen].repeat(len(angles)),
        torch.arange(len(angles)).repeat_interleave(len(chosen)),
        chosen.repeat(len(angles)),
        originals.class_names,
        tuple(domain_name(angle) for angle in angles),
    )
