"""Chest X-rays of three collections: pneumonia or not, where the sources show those without it further down."""

from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch
from pydantic import Field, field_validator
from torch import Tensor

from matchdg.core.files import digest
from matchdg.data.dataset import DomainDataset
from matchdg.data.image_settings import ImageSettings
from matchdg.data.image_table import ImageTable, read_images
from matchdg.data.split import DomainSplit, restrict
from matchdg.data.views import CHEST_XRAY_VIEWS, ViewSettings
from matchdg.data.xray.collections import XRAYS, XrayName
from matchdg.data.xray.folders import find_folder, fingerprint_of
from matchdg.data.xray.listing import CLASSES, WITHOUT, Listing, Negatives, Uncertain, list_xrays
from matchdg.data.xray.selection import choose_balanced
from matchdg.data.xray.shift import ShiftedInputs

SHIFT_SIZE: Final = 224
"""The size at which shifts count pixels."""

TRAIN, VALIDATION, TEST = range(3)


class ChestXraySettings(ImageSettings):
    """NIH's, CheXpert's and RSNA's chest X-rays, pneumonia or not, from folders that you have (section 6, C.1).

    Every domain has as many X-rays of either class: of the 800, 200 and 400 that are printed for a domain, half each.
    Of a patient one X-ray is used, so that no patient both trains and selects.

    X-rays of class 0 are shown further down in the source domains, in training and in validation, and as they are in
    the target. The paper prints 45, 35 and 15 without a unit or an image size; they are taken as pixels at 224 and
    scaled with `size`. What comes in from above is black.

    Objects are not known: nothing tells that a patient is in two collections. But RSNA's X-rays are some of NIH's,
    labelled anew, so that with one as a source and the other as the target, some of the target may be trained on.
    """

    targets: tuple[XrayName, ...] = Field(
        ("RSNA",), min_length=1, max_length=1, description="the domain to hold out for test; the other two train"
    )
    train_per_domain: int = Field(800, ge=2, multiple_of=2, description="X-rays of a source domain to train on")
    validation_per_domain: int = Field(200, ge=2, multiple_of=2, description="X-rays of a source domain that select")
    test_per_domain: int = Field(400, ge=2, multiple_of=2, description="X-rays of the target domain")
    shifts: tuple[int, int, int] = Field(
        (45, 35, 15), description="how far down a source shows class 0: NIH, CheXpert, RSNA; pixels at size 224"
    )
    negatives: Negatives = Field(
        "without-pneumonia", description="class 0: all X-rays without pneumonia, or only those with no finding at all"
    )
    uncertain: Uncertain = Field("leave-out", description="what CheXpert's uncertain labels (-1) count as")
    strict: bool = Field(
        False, description="whether too few X-rays are an error; if not, there are fewer of each class"
    )
    channels: Literal[1, 3] = Field(3, description="1: grey; 3: the same three times, for networks made for colours")
    views: ViewSettings = Field(
        CHEST_XRAY_VIEWS, description="augmentation of training images: chest-xray, none, or settings"
    )
    data_dir: Path | None = Field(
        None, exclude=True, description="folder with the collections' folders, looked in first; no part of a run's name"
    )

    @field_validator("shifts")
    @classmethod
    def _check_shifts(cls, value: tuple[int, int, int]) -> tuple[int, int, int]:
        if not all(0 <= shift < SHIFT_SIZE for shift in value):
            raise ValueError(f"expected three numbers of pixels from 0 to {SHIFT_SIZE - 1}")
        return value

    @property
    def sources(self) -> tuple[str, ...]:
        """The two domains that are no target."""
        return tuple(name for name in XRAYS if name not in self.targets)

    def find_fingerprint(self) -> str:
        """The fingerprint of the three tables, and of which files are there."""
        return digest([fingerprint_of(one, find_folder(one, self.data_dir)) for one in XRAYS.values()])

    def build(self, seed: int) -> DomainSplit:
        """List the collections, draw balanced parts with `seed`, and read those images."""
        listings = [
            list_xrays(XRAYS[name], self.data_dir, self.negatives, self.uncertain)
            for name in (*self.sources, *self.targets)
        ]
        self.check_fingerprint(", ".join(str(listing.folder) for listing in listings))
        table, remarks = self._choose(listings, seed)
        images = read_images(table, self.size, self.channels, self.on_corrupt, title="chest X-rays")
        data, parts = images.dataset, images.table.extra
        assert parts is not None
        return DomainSplit(
            train=self._shifted(restrict(data, self.sources, parts == TRAIN)),
            validation=self._shifted(restrict(data, self.sources, parts == VALIDATION)),
            test=restrict(data, self.targets, parts == TEST),
            targets=self.targets,
            views=self.views,
            remarks=(*remarks, *images.notices),
        )

    def _choose(self, listings: list[Listing], seed: int) -> tuple[ImageTable, list[str]]:
        """The files of all parts, with the part of each as `extra`; and what to say of too few."""
        files: list[Path] = []
        labels, domains, parts, remarks = [], [], [], []
        wanted = {TRAIN: self.train_per_domain, VALIDATION: self.validation_per_domain}
        for domain, listing in enumerate(listings):
            sizes = wanted if domain < len(self.sources) else {TEST: self.test_per_domain}
            chosen, remark = choose_balanced(listing, tuple(sizes.values()), seed, strict=self.strict)
            remarks += [remark] if remark else []
            for part, positions in zip(sizes, chosen, strict=True):
                files += [listing.files[position] for position in positions.tolist()]
                labels.append(listing.labels[positions])
                domains.append(np.full(len(positions), domain))
                parts.append(np.full(len(positions), part))
        table = ImageTable(
            files=tuple(files),
            labels=_column(labels),
            domains=_column(domains),
            class_names=CLASSES,
            domain_names=(*self.sources, *self.targets),
            extra=_column(parts),
        )
        return table, remarks

    def _shifted(self, data: DomainDataset) -> DomainDataset:
        """`data` with the X-rays of class 0 as far down as their domain has them."""
        amounts = dict(zip(XRAYS, self.shifts, strict=True))
        pixels = torch.tensor([round(amounts[name] * self.size / SHIFT_SIZE) for name in data.domain_names])
        return replace(data, inputs=ShiftedInputs(data.inputs, pixels[data.domains] * (data.labels == WITHOUT)))


def _column(parts: list[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.concatenate(parts).astype(np.int64))
