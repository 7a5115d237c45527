"""What a one-to-one matching of large sets costs, and that its result is the best one.

Points of two sides, 512 features, of two kinds: `pairs` are noisy views of the same objects, as from a network that
has learnt; `unrelated` have nothing in common but their distribution, the harder case. Each size runs in a process of
its own: `seconds` of the whole assignment, `extra_gib` by how much the process grew beyond the features, `searches` of
all pairs that it took, and `bound`, how much more than the best matching it costs at most, as prices prove it. Sizes
up to `--dense` are also solved on the table of all costs: `dense_seconds`, and `above_dense`, the relative difference
of the two costs.

    python benchmarks/one_to_one.py [--sizes N ...] [--dense N] [--threads N] [--out FILE]
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from matchdg.core.files import write_json
from matchdg.matching import sparse
from matchdg.matching.assign import assign
from matchdg.matching.search import MEMORY
from matchdg.training.run import versions

KINDS, FEATURES = ("pairs", "unrelated"), 512


def points(kind: str, count: int) -> tuple[Tensor, Tensor]:
    """Both sides [count, FEATURES], the second one in another order."""
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(count, FEATURES, generator=generator) for _ in range(2))
    if kind == "pairs":
        right.mul_(0.5).add_(left)
    return left, right[torch.randperm(count, generator=generator)]


def one(kind: str, count: int, dense: bool) -> dict[str, float]:
    """One matching of `count` points a side."""
    queries, candidates = points(kind, count)
    assign(*points(kind, 100), "one-to-one", limit=0)  # what is loaded once is not the matching's
    before = peak_gib()
    began = time.perf_counter()
    found, proof = sparse.solve(queries, candidates, MEMORY)
    result = {
        "seconds": time.perf_counter() - began,
        "extra_gib": peak_gib() - before,
        "searches": proof.searches,
        "bound": proof.excess,
    }
    if dense:
        began = time.perf_counter()
        best = assign(queries, candidates, "one-to-one", limit=count)
        result["dense_seconds"] = time.perf_counter() - began
        result["ratio"] = result["seconds"] / result["dense_seconds"]
        result["above_dense"] = cost(queries, candidates, found) / cost(queries, candidates, best) - 1
    return result


def cost(queries: Tensor, candidates: Tensor, found: Tensor) -> float:
    return float((queries - candidates[found]).double().square().sum())


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def in_own_process(kind: str, count: int, dense: bool, threads: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--threads", str(threads), "--kind", kind, "--sizes", str(count)]
    command += ["--dense", str(count if dense else 0)]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {key: float(f"{value:.4g}") for key, value in result.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 20_000, 50_000])
    parser.add_argument("--dense", type=int, default=5000, help="points up to which the dense way is timed too")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, help="one matching of that kind, in this process")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.kind:
        count = arguments.sizes[0]
        print(json.dumps(one(arguments.kind, count, count <= arguments.dense)))
        return
    result: dict[str, Any] = {"threads": arguments.threads, "features": FEATURES}
    for kind in KINDS:
        result[kind] = {
            str(count): in_own_process(kind, count, count <= arguments.dense, arguments.threads)
            for count in arguments.sizes
        }
    print(json.dumps(result, indent=2))
    if arguments.out:
        write_json(arguments.out, {**result, "versions": versions()})


if __name__ == "__main__":
    main()
