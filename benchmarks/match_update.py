"""What a match update costs (search only, given features), against a loop over the anchors and the matrix product.

`update`: matches of 10,000 points in each of 5 domains, 512 features, 10 classes, against the loop over all anchors
that the paper's published code (`get_matched_pairs`) has. For each domain and class it finds the class's points in
the base domain and in this one and gathers their features; then for each anchor it takes

1. the anchor's difference to all points of its class there, squared, summed over the features;
2. a full sort of these distances, with positions;
3. the position of the first point of the sort, out of its tensor and into the list of the anchor's matches.

What that code does besides is left out on both sides: loading the data anew, the network's features, and, in the same
loop where the true matches are known, the true match's place in the sort. The search must find the loop's matches.

The two take turns, each in a process of its own, for each number of threads asked for. The loop allocates two tables
of 2 MB for each anchor, and its time depends on where they come from: `default` is the memory allocator as it comes,
which may hand memory back to the system and fetch it anew for each anchor; with `kept` (glibc) it is told to keep it,
the best case for the loop, and near its arithmetic alone. `faults` are the pages that were fetched anew, for each
anchor of the loop and domain. The update's time is the median of five after one that is not counted.

`search` is the rate of the same search in terms of its matrix products, as a share of the rate of one large product:
PyTorch's own, and oneDNN's, which is faster on some machines and used here. `--large` matches 100,000 points in each
of 5 domains in a process of its own, and gives by how much that grew. Both on the first number of threads.

    python benchmarks/match_update.py [--large] [--rounds N] [--threads N ...] [--out FILE]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from matchdg.core.files import write_json
from matchdg.matching.route import match_rows
from matchdg.matching.search import nearest
from matchdg.training.run import versions

DOMAINS, CLASSES, FEATURES = 5, 10, 512
ALLOCATORS = {
    "default": {},
    "kept": {"MALLOC_TRIM_THRESHOLD_": str(2**32), "MALLOC_MMAP_THRESHOLD_": str(2**25)},
}


def points(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Features, labels and domains of `count` points a domain, all classes of equal size."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(DOMAINS * count, FEATURES, generator=generator)
    labels = (torch.arange(count) % CLASSES).repeat(DOMAINS)
    return features, labels, torch.arange(DOMAINS).repeat_interleave(count)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def loop(count: int) -> dict[str, float]:
    """Seconds of the loop over all anchors, those of base domain 0, and pages fetched for each of its searches."""
    features, labels, domains = points(count)
    matches: list[list[list[int]]] = [[[] for _ in range(DOMAINS)] for _ in range(count)]
    faults, began = page_faults(), time.perf_counter()
    for domain in range(DOMAINS):
        row = 0
        for label in range(CLASSES):
            own = ((labels == label) & (domains == 0)).nonzero()[:, 0]
            if domain == 0:
                for index in range(len(own)):
                    matches[row][domain].append(int(own[index]))
                    row += 1
                continue
            positions = ((labels == label) & (domains == domain)).nonzero()[:, 0]
            base, candidates = features[own], features[positions]
            for index in range(len(own)):
                distances = torch.sum((candidates - base[index]) ** 2, dim=1)
                _, order = torch.sort(distances, dim=0)
                for match in positions[order[:1]]:
                    matches[row][domain].append(int(match))
                row += 1
    spent, fetched = time.perf_counter() - began, page_faults() - faults
    found = match_rows(features, labels, domains, DOMAINS, torch.zeros(CLASSES, dtype=torch.int64))
    expected = torch.tensor(matches)[:, :, 0]
    wrong = int((found[expected[:, 0]] != expected).sum())
    if wrong > 0.001 * expected.numel():
        raise SystemExit(f"the loop disagrees with the search on {wrong} of {expected.numel()} matches")
    return {"seconds": spent, "faults": fetched / (count * (DOMAINS - 1))}


def match(count: int) -> dict[str, float]:
    """Seconds of the update, the median of five, and pages fetched."""
    features, labels, domains = points(count)
    bases = torch.zeros(CLASSES, dtype=torch.int64)

    def work() -> Tensor:
        return match_rows(features, labels, domains, DOMAINS, bases)

    work()
    faults = page_faults()
    spent = statistics.median(seconds(work) for _ in range(5))
    return {"seconds": spent, "faults": (page_faults() - faults) / 5 / (count * (DOMAINS - 1))}


def update(count: int, rounds: int, threads: int, allocator: str) -> dict[str, float]:
    """Median seconds of both and the median of their paired ratios."""
    turns = [
        {part: in_own_process(part, count, threads, allocator) for part in ("match", "loop")} for _ in range(rounds)
    ]

    def middle(part: str, key: str) -> float:
        return statistics.median(turn[part][key] for turn in turns)

    return {
        "update_seconds": middle("match", "seconds"),
        "loop_seconds": middle("loop", "seconds"),
        "ratio": statistics.median(turn["match"]["seconds"] / turn["loop"]["seconds"] for turn in turns),
        "loop_faults": middle("loop", "faults"),
        "update_faults": middle("match", "faults"),
    }


def search(size: int, rounds: int) -> dict[str, float]:
    """Products a second of PyTorch and oneDNN, 4,096 square, and the share of them that `nearest` has among `size`."""
    generator = torch.Generator().manual_seed(0)
    queries, candidates = (torch.randn(size, FEATURES, generator=generator) for _ in range(2))
    left, right = (torch.randn(4096, FEATURES, generator=generator) for _ in range(2))
    out = torch.empty(4096, 4096)
    packed_left, packed_right = left.to_mkldnn(), right.to_mkldnn()
    repeats = max(1, 10_000_000 // size**2)
    works: dict[str, tuple[Callable[[], object], float]] = {
        "pytorch": (lambda: torch.mm(left, right.T, out=out), 4096**2),
        "onednn": (lambda: linear(packed_left, packed_right), 4096**2),
        "search": (lambda: [nearest(queries, candidates) for _ in range(repeats)], size**2 * repeats),
    }
    rates: dict[str, list[float]] = {name: [] for name in works}
    for index in range(rounds + 1):
        for name, (work, products) in works.items():
            spent = seconds(work)
            if index:
                rates[name].append(2e-9 * FEATURES * products / spent)
    shares = {
        f"share_of_{name}": statistics.median(
            own / other for own, other in zip(rates["search"], rates[name], strict=True)
        )
        for name in ("pytorch", "onednn")
    }
    return {**{f"{name}_gflops": statistics.median(own) for name, own in rates.items()}, **shares}


def large(count: int) -> dict[str, float]:
    """Seconds of an update, and how many GiB the process grew by beyond features and result."""
    features, labels, domains = points(count)
    small = points(100)
    match_rows(*small, DOMAINS, torch.zeros(CLASSES, dtype=torch.int64))  # what is loaded once is not the update's
    before = peak_gib()
    spent = seconds(lambda: match_rows(features, labels, domains, DOMAINS, torch.zeros(CLASSES, dtype=torch.int64)))
    return {"points_a_domain": count, "update_seconds": spent, "extra_gib": peak_gib() - before}


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def in_own_process(part: str, count: int, threads: int, allocator: str = "default") -> dict[str, float]:
    command = [sys.executable, __file__, "--threads", str(threads), "--part", part, "--points", str(count)]
    environment = os.environ | ALLOCATORS[allocator]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 5) for key, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--large", action="store_true", help="also 100,000 points a domain")
    parser.add_argument("--part", choices=["loop", "match", "large"], help="that alone, in this process")
    parser.add_argument("--points", type=int, default=10_000, help="points a domain of the update")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads[0])
    if arguments.part:
        print(json.dumps({"loop": loop, "match": match, "large": large}[arguments.part](arguments.points)))
        return
    result: dict[str, Any] = {
        "rounds": arguments.rounds,
        "points_a_domain": arguments.points,
        "update": {
            f"threads {threads}": {
                allocator: rounded(update(arguments.points, arguments.rounds, threads, allocator))
                for allocator in ALLOCATORS
            }
            for threads in arguments.threads
        },
        "search": {str(size): rounded(search(size, arguments.rounds)) for size in (1000, 10_000)},
    }
    if arguments.large:
        result["large"] = rounded(in_own_process("large", 100_000, arguments.threads[0]))
    print(json.dumps(result, indent=2))
    if arguments.out:
        write_json(arguments.out, {**result, "versions": versions()})


if __name__ == "__main__":
    main()
