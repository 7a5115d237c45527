"""PACS: photos, art paintings, cartoons and sketches of seven classes (section 6.2 of the paper)."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import torch
from pydantic import Field, model_validator

from matchdg.core.errors import InputError
from matchdg.data.image_settings import ImageSettings
from matchdg.data.image_table import LoadedImages, read_images
from matchdg.data.kfold import LISTS, complete_lists, find_lists, read_lists
from matchdg.data.sources import DATA_DIR, VARIABLE, cache_root
from matchdg.data.split import DomainSplit, restrict, split_by_domain
from matchdg.data.tree import fingerprint_of, read_tree
from matchdg.data.views import PACS_VIEWS, ViewSettings

Domain = Literal["photo", "art_painting", "cartoon", "sketch"]
DOMAINS: Final[tuple[Domain, ...]] = ("photo", "art_painting", "cartoon", "sketch")
FOLDERS: Final = ("PACS", "pacs")
VALIDATION_FRACTION, SPLIT_SEED = 0.1, 0


class PacsSettings(ImageSettings):
    """Photos, art paintings, cartoons and sketches of seven classes, from a folder that you have.

    The official lists `DOMAIN_train_kfold.txt` and `DOMAIN_crossval_kfold.txt` say what trains and what validates
    where they are found; else a tenth of each class and domain validates, always the same one. All of a target
    domain tests.
    """

    targets: tuple[Domain, ...] = Field(("sketch",), min_length=1, description="domains to hold out for test")
    views: ViewSettings = Field(PACS_VIEWS, description="augmentation of training images: pacs, none, or settings")
    data_dir: Path | None = Field(
        None, exclude=True, description="folder to look in first; no part of a run's name, because the fingerprint is"
    )

    @model_validator(mode="after")
    def _check_targets(self) -> "PacsSettings":
        if len(set(self.targets)) < len(self.targets):
            raise ValueError("a domain is named twice")
        if len(self.sources) < 2:
            raise ValueError(f"at least two domains must be left to train on, not {len(self.sources)}")
        return self

    @property
    def sources(self) -> tuple[Domain, ...]:
        """The domains that are no targets."""
        return tuple(name for name in DOMAINS if name not in self.targets)

    def find_fingerprint(self) -> str:
        """The fingerprint of all four domains' images, and of the lists where there are any."""
        root = find_pacs(self.data_dir)
        lists = [path.read_bytes() for path in find_lists(root, DOMAINS).values()]
        return fingerprint_of(root, read_tree(root, DOMAINS).files, lists)

    def build(self, seed: int) -> DomainSplit:
        """Find and read the images; what trains and what validates does not depend on `seed`."""
        root = find_pacs(self.data_dir)
        table = read_tree(root, DOMAINS)
        self.check_fingerprint(root)
        images = read_images(table, self.size, on_corrupt=self.on_corrupt, title="images of PACS")
        lists = complete_lists(root, self.sources)
        split = self._split_by_lists(images, root, lists) if lists else self._split_by_seed(images)
        return replace(split, views=self.views, remarks=images.notices + split.remarks)

    def _split_by_lists(self, images: LoadedImages, root: Path, lists: dict[tuple[str, str], Path]) -> DomainSplit:
        parts = read_lists(root, lists, images.table.class_names)
        names = [path.relative_to(root).as_posix() for path in images.table.files]
        train, validation = (torch.tensor([name in parts[part] for name in names]) for part in LISTS)
        data = images.dataset
        return DomainSplit(
            train=restrict(data, self.sources, train),
            validation=restrict(data, self.sources, validation),
            test=restrict(data, self.targets, torch.ones(len(data), dtype=torch.bool)),
            targets=self.targets,
            remarks=("training and validation images are those of the official lists",),
        )

    def _split_by_seed(self, images: LoadedImages) -> DomainSplit:
        split = split_by_domain(images.dataset, self.targets, self.sources, VALIDATION_FRACTION, SPLIT_SEED)
        note = (
            "no official lists (DOMAIN_train_kfold.txt) were found: one tenth of each class and source domain "
            f"validates, drawn with seed {SPLIT_SEED} whatever the run's"
        )
        return replace(split, remarks=(note,))


def find_pacs(data_dir: Path | None = None) -> Path:
    """The folder that has PACS's four domains: in what the user named, else in the cache."""
    found = look_for_pacs(data_dir)
    if found is not None:
        return found[0]
    tried = [
        f"  {folder} ({why}): has no folder {' or '.join(FOLDERS)} with {', '.join(DOMAINS)}"
        for folder, why in _named(data_dir)
    ]
    raise InputError(
        "PACS was not found. Tried:\n" + "\n".join(tried) + f"\nIt cannot be fetched: name a folder that has it with "
        f"{DATA_DIR}, dataset.data_dir or {VARIABLE}, as DOMAIN/CLASS/FILE"
    )


def look_for_pacs(data_dir: Path | None = None) -> tuple[Path, str] | None:
    """The first folder that has the four domains, and who named it; None where there is none."""
    for folder, why in _named(data_dir):
        for place in _places(folder):
            if all((place / name).is_dir() for name in DOMAINS):
                return place, why
    return None


def _named(data_dir: Path | None) -> list[tuple[Path, str]]:
    variable = os.environ.get(VARIABLE)
    named = [] if data_dir is None else [(data_dir.expanduser().absolute(), f"{DATA_DIR} or dataset.data_dir")]
    named += [(Path(variable).expanduser().absolute(), VARIABLE)] if variable else []
    return [*named, (cache_root(), "cache")]


def _places(folder: Path) -> Sequence[Path]:
    """Where in a folder PACS may be; the official archive has its images in a folder kfold."""
    return [root / inner for root in (*(folder / name for name in FOLDERS), folder) for inner in ("", "kfold")]
