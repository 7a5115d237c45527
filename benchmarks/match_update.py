"""What a match update costs (search only, given features), against a loop over the anchors and the matrix product.

`update`: matches of 10,000 points in each of 5 domains, 512 features, 10 classes, against the loop that one would
write by hand, and that the reference code has: for each class, domain and anchor all distances, a full sort, the
first. The loop is timed on some anchors of each class and domain, evenly taken, and scaled to all. It runs in a
process of its own, as what the search leaves in the memory allocator would speed it up; the two take turns, so that
a change of the machine's speed meets both. `search` is the rate of the same search in terms of its matrix products, as
a share of the rate of one large product: PyTorch's own, and oneDNN's, which is faster on some machines and used here.
`--large` matches 100,000 points in each of 5 domains in a process of its own, and gives by how much that grew.

    python benchmarks/match_update.py [--large] [--rounds N] [--threads N] [--out FILE]
"""

import argparse
import json
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
LOOP_ANCHORS = 10  # of each class and domain


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
    """Seconds of the loop over all anchors, those of base domain 0, from a sample; the matches must be those found."""
    features, labels, domains = points(count)
    cells = {
        (label, domain): ((labels == label) & (domains == domain)).nonzero().flatten()
        for label in range(CLASSES)
        for domain in range(DOMAINS)
    }
    spent, asked, matches = 0.0, 0, []
    for (label, domain), positions in cells.items():
        if domain == 0:
            continue
        own = cells[label, 0]
        base, candidates = features[own], features[positions]
        for index in range(0, len(own), max(1, len(own) // LOOP_ANCHORS)):
            began = time.perf_counter()
            distances = torch.sum((candidates - base[index]) ** 2, dim=1)
            _, order = torch.sort(distances, dim=0)
            match = positions[order[0]].item()
            spent += time.perf_counter() - began
            asked += 1
            matches.append((int(own[index]), domain, match))
    rows = match_rows(features, labels, domains, DOMAINS, torch.zeros(CLASSES, dtype=torch.int64))
    wrong = sum(int(rows[anchor, domain] != match) for anchor, domain, match in matches)
    if wrong > 0.001 * asked:
        raise SystemExit(f"the loop disagrees with the search on {wrong} of {asked} matches")
    return {"seconds": spent * count * (DOMAINS - 1) / asked}


def update(count: int, rounds: int, threads: int) -> dict[str, float]:
    """Median seconds of both and the median of their paired ratios."""
    features, labels, domains = points(count)
    bases = torch.zeros(CLASSES, dtype=torch.int64)

    def match() -> Tensor:
        return match_rows(features, labels, domains, DOMAINS, bases)

    match()
    fast, slow = [], []
    for _ in range(rounds):
        fast.append(statistics.median(seconds(match) for _ in range(5)))
        slow.append(in_own_process("loop", count, threads)["seconds"])
    return {
        "points_a_domain": count,
        "update_seconds": statistics.median(fast),
        "loop_seconds_extrapolated": statistics.median(slow),
        "ratio": statistics.median(own / other for own, other in zip(fast, slow, strict=True)),
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


def in_own_process(part: str, count: int, threads: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--threads", str(threads), "--part", part, "--points", str(count)]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 5) for key, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--large", action="store_true", help="also 100,000 points a domain")
    parser.add_argument("--part", choices=["loop", "large"], help="that alone, in this process")
    parser.add_argument("--points", type=int, default=100_000, help="points a domain of that part")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.part:
        print(json.dumps({"loop": loop, "large": large}[arguments.part](arguments.points)))
        return
    result: dict[str, Any] = {
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "update": rounded(update(10_000, arguments.rounds, arguments.threads)),
        "search": {str(size): rounded(search(size, arguments.rounds)) for size in (1000, 10_000)},
    }
    if arguments.large:
        result["large"] = rounded(in_own_process("large", 100_000, arguments.threads))
    print(json.dumps(result, indent=2))
    if arguments.out:
        write_json(arguments.out, {**result, "versions": versions()})


if __name__ == "__main__":
    main()
