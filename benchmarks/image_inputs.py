"""What images cost on the way into a network: augmented batches, building the cache, and memory; on PACS.

`views`: augmented batches of 224x224 from the cache, in as many threads as the other has workers, against torchvision's
`ImageFolder` and a `DataLoader` that decodes the same files with the same transforms: resized crop, flip, jitter,
greyscale. Both show the same images in a random order; the two take turns, so that a change of the machine's speed
meets both. `cache`: seconds to build the cache, reading, decoding, resizing and writing, against Pillow decoding every
file in two processes, and against the same with Pillow's resizing to 224. `memory`: by how much a process grows that
goes through an epoch of augmented training images, the validation and the test images, beyond what its libraries take.

PACS is looked for in MATCHDG_DATA.

    python benchmarks/image_inputs.py [--rounds N] [--images N] [--threads N] [--out FILE]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

from matchdg.core.files import write_json
from matchdg.data import DATASETS
from matchdg.data.cache import cached_images
from matchdg.data.image_table import read_images
from matchdg.data.pacs import DOMAINS, find_pacs, look_for_pacs
from matchdg.data.tree import read_tree
from matchdg.data.views import PACS_VIEWS
from matchdg.training.run import versions

SIZE, BATCH, PARTS = 224, 64, 80


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def views(rounds: int, images: int, threads: int) -> dict[str, float]:
    """Images a second of both, and the median of their paired ratios."""
    root = find_pacs()
    inputs = read_images(read_tree(root, DOMAINS), SIZE).inputs
    own = PACS_VIEWS
    same = transforms.Compose(
        [
            transforms.RandomResizedCrop(SIZE, own.crop_scale, own.crop_ratio),
            transforms.RandomHorizontalFlip(own.flip),
            transforms.ColorJitter(*own.spans),
            transforms.RandomGrayscale(own.greyscale),
            transforms.ToTensor(),
        ]
    )
    folder = datasets.ImageFolder(str(root), same)  # its classes are our domains, which changes nothing here
    chosen = torch.randperm(len(folder), generator=torch.Generator().manual_seed(0))[:images]
    loader = DataLoader(
        Subset(folder, chosen.tolist()), BATCH, shuffle=True, num_workers=threads, persistent_workers=True
    )
    torch.set_num_threads(threads)

    def cached(epoch: int) -> None:
        shown = own.shown(inputs, 0, epoch)
        for positions in chosen[torch.randperm(len(chosen))].split(BATCH):
            shown[positions].sum()

    def decoded() -> None:
        for batch, _ in loader:
            batch.sum()

    rates: dict[str, list[float]] = {"cached": [], "decoded": []}
    for index in range(rounds + 1):
        works: dict[str, Callable[[], None]] = {"cached": partial(cached, index), "decoded": decoded}
        for name, work in works.items():
            spent = seconds(work)
            if index:
                rates[name].append(len(chosen) / spent)
    ratios = [fast / slow for fast, slow in zip(rates["cached"], rates["decoded"], strict=True)]
    return {
        "images": len(chosen),
        **{f"{name}_images_a_second": statistics.median(found) for name, found in rates.items()},
        "ratio": statistics.median(ratios),
        "least_ratio": min(ratios),
    }


def decode(files: list[Path], size: int | None) -> None:
    for file in files:
        with Image.open(file) as opened:
            image = opened.convert("RGB")
            np.asarray(image if size is None else image.resize((size, size), Image.Resampling.BILINEAR))


def cache(rounds: int, threads: int) -> dict[str, float]:
    """Median seconds of all three, and the medians of the paired ratios."""
    root = find_pacs()
    files = list(read_tree(root, DOMAINS).files)
    parts = [files[start::PARTS] for start in range(PARTS)]
    found: dict[str, list[float]] = {"build": [], "pillow": [], "pillow_resizing": []}
    kept = os.environ.get("MATCHDG_CACHE")

    def build() -> None:
        cached_images(files, SIZE)

    def pillow(size: int | None) -> None:
        with get_context("fork").Pool(threads) as pool:
            pool.starmap(decode, [(part, size) for part in parts], 1)

    decode(files, None)  # so that all files are in the system's cache
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["MATCHDG_CACHE"] = folder
            found["build"].append(seconds(build))
        found["pillow"].append(seconds(partial(pillow, None)))
        found["pillow_resizing"].append(seconds(partial(pillow, SIZE)))
    os.environ.pop("MATCHDG_CACHE")
    if kept is not None:
        os.environ["MATCHDG_CACHE"] = kept
    return {
        "files": len(files),
        **{f"{name}_seconds": statistics.median(spent) for name, spent in found.items()},
        "ratio": statistics.median(a / b for a, b in zip(found["build"], found["pillow"], strict=True)),
        "ratio_resizing": statistics.median(
            a / b for a, b in zip(found["build"], found["pillow_resizing"], strict=True)
        ),
    }


def memory() -> dict[str, float]:
    """MiB that an epoch of views and the validation and test images take, and those of the libraries before."""
    settings = DATASETS["pacs"].parse({"size": SIZE, "targets": ["sketch"]}, "dataset")
    torch.nn.functional.grid_sample(torch.zeros(1, 3, 8, 8), torch.zeros(1, 8, 8, 2), align_corners=False)
    libraries = resident_mib()
    split = settings.build(0)
    shown = PACS_VIEWS.shown(split.train.inputs, 0, 0)
    for inputs in (shown, split.validation.inputs, split.test.inputs):
        for positions in torch.randperm(len(inputs)).split(BATCH):
            inputs[positions].sum()
    return {"libraries_mib": libraries, "inputs_mib": peak_mib() - libraries}


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def in_own_process(part: str, arguments: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--part", part, "--rounds", str(arguments.rounds)]
    command += ["--images", str(arguments.images), "--threads", str(arguments.threads)]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(ran.stdout)
    return {key: round(value, 3) for key, value in result.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=1920, help="images a round of the augmented batches")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--part", choices=["views", "cache", "memory"], help="that alone, in this process")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    parts: dict[str, Callable[[], dict[str, float]]] = {
        "views": lambda: views(arguments.rounds, arguments.images, arguments.threads),
        "cache": lambda: cache(arguments.rounds, arguments.threads),
        "memory": memory,
    }
    if arguments.part:
        print(json.dumps(parts[arguments.part]()))
        return
    if look_for_pacs() is None:
        print("skipped: PACS is not in the folder that MATCHDG_DATA names")
        return
    result: dict[str, Any] = {"threads": arguments.threads, "rounds": arguments.rounds}
    result |= {name: in_own_process(name, arguments) for name in parts}
    print(json.dumps(result, indent=2))
    if arguments.out:
        write_json(arguments.out, {**result, "versions": versions()})


if __name__ == "__main__":
    main()
