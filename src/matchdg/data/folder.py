"""Your own images: a folder with one folder a domain, in it one a class."""

from dataclasses import replace
from pathlib import Path

from pydantic import Field

from matchdg.data.image_settings import ImageSettings
from matchdg.data.image_table import read_images
from matchdg.data.split import DomainSplit, split_by_domain
from matchdg.data.tree import fingerprint_of, read_tree


class FolderSettings(ImageSettings):
    """Image files in folders DOMAIN/CLASS: any format that Pillow knows, decoded once into the user's cache."""

    path: Path = Field(description="the folder that has the domains' folders")
    targets: tuple[str, ...] = Field(min_length=1, description="domains to hold out for test")
    sources: tuple[str, ...] | None = Field(None, description="domains to train on; default: all others")
    validation_fraction: float = Field(0.2, gt=0, lt=1, description="part of each source domain that selects")

    def find_fingerprint(self) -> str:
        """The fingerprint of all images under the path."""
        root = self.path.expanduser()
        return fingerprint_of(root, read_tree(root).files)

    def build(self, seed: int) -> DomainSplit:
        """Read the images and split them: the targets held out, the sources cut by class with `seed`."""
        root = self.path.expanduser()
        table = read_tree(root)
        self.check_fingerprint(root)
        images = read_images(table, self.size, on_corrupt=self.on_corrupt, title=f"images of {root.name}")
        split = split_by_domain(images.dataset, self.targets, self.sources, self.validation_fraction, seed)
        return replace(split, views=self.views, remarks=images.notices)
