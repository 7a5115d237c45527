"""What a method's step costs over a bare one (forward, cross-entropy, backward, optimiser), as ratios of one run.

Both steps run on the same network, batch and optimiser in alternation, so that a change of the machine's
speed meets both; a ratio is the median over rounds of paired times. `whole` also counts what the trainer
adds: gathering the batch from the data by its match-table rows, and keeping the terms for the records.

    python benchmarks/step_overhead.py [--rounds N] [--threads N] [--out FILE]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from matchdg.core.files import write_json
from matchdg.data import DomainDataset, DomainSplit
from matchdg.matching import MATCHERS
from matchdg.methods import METHODS, Batch, Clock
from matchdg.networks import NETWORKS, Network
from matchdg.training.display import Silent
from matchdg.training.loop import Trainer
from matchdg.training.objective import Objective
from matchdg.training.records import Records
from matchdg.training.run import versions
from matchdg.training.settings import TrainingSettings
from matchdg.training.terms import TermMeans

Step = Callable[[], None]


def random_split(shape: tuple[int, ...], rows: int, domains: int, classes: int) -> DomainSplit:
    """`rows` objects, each seen once in every domain."""
    torch.manual_seed(0)
    labels = (torch.arange(rows) % classes).repeat(domains)
    owners = torch.arange(domains).repeat_interleave(rows)
    names = tuple(f"domain {index}" for index in range(domains))
    data = DomainDataset(
        torch.randn(rows * domains, *shape),
        labels,
        owners,
        torch.arange(rows).repeat(domains),
        tuple(str(index) for index in range(classes)),
        names,
    )
    target = DomainDataset(
        data.inputs[torch.arange(rows)],
        labels[:rows],
        torch.zeros(rows, dtype=torch.long),
        None,
        data.class_names,
        ("target",),
    )
    return DomainSplit(data, data, target, ("target",))


def steps(network: Network, split: DomainSplit, name: str, rows: int) -> dict[str, Step]:
    """The bare step, the method's step on the same batch, and the trainer's whole step."""
    spec = METHODS[name]
    settings = spec.settings()
    objective = Objective(network, spec.build(settings, network, len(split.sources)))
    trainer = Trainer(
        split=split,
        objective=objective,
        matcher=MATCHERS["perfect"]().build(split.train),
        validation_matcher=None,
        settings=TrainingSettings(batch_rows=rows, learning_rate=1e-4),
        seed=0,
        fabric=Fabric(accelerator="cpu", devices=1),
        display=Silent(),
        records=Records(),
    )
    plain = trainer.optimizers["network"]
    table = trainer.table
    batch = Batch.gather(split.train, table.rows[:rows], table.complete)
    clock = Clock(0, 0, 1)
    logged = TermMeans(trainer.fabric)

    def bare() -> None:
        loss = cross_entropy(network(batch.inputs).logits, batch.labels)
        plain.zero_grad()
        loss.backward()
        plain.step()

    def method() -> None:
        trainer.step_on(batch, clock)

    def whole() -> None:
        gathered = Batch.gather(trainer.train_data, table.rows[:rows], table.complete)
        _, terms = trainer.step_on(gathered, clock)
        for term, value in terms.items():
            logged.add(term, value)

    return {"bare": bare, "method": method, "whole": whole}


def ratios(candidates: dict[str, Step], rounds: int, repeats: int) -> dict[str, float]:
    """Median seconds a bare step, and the medians of the paired ratios to it."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates)
    for index in range(rounds + 3):
        for name in order if index % 2 else reversed(order):
            began = time.perf_counter()
            for _ in range(repeats):
                candidates[name]()
            if index >= 3:
                times[name].append((time.perf_counter() - began) / repeats)
    bare = times["bare"]
    result = {"bare_ms": 1000 * statistics.median(bare)}
    for name, own in times.items():
        if name != "bare":
            result[name] = statistics.median(mine / theirs for mine, theirs in zip(own, bare, strict=True))
    return {key: round(value, 4) for key, value in result.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = {}
    slab = random_split((2,), 1000, 2, 2)
    for rows in (64, 128):
        network = NETWORKS["slab"]().build((2,), 2)
        found = ratios(steps(network, slab, "perfmatch", rows), options.rounds, 20)
        results[f"perfmatch, slab network, {rows} rows x 2 domains"] = found
    images = random_split((1, 64, 64), 80, 5, 10)
    for name in ("perfmatch", "c-mmd", "c-coral"):
        network = NETWORKS["resnet18"]().build((1, 64, 64), 10)
        found = ratios(steps(network, images, name, 16), max(5, options.rounds // 10), 1)
        results[f"{name}, ResNet-18, 16 rows x 5 domains at 64x64"] = found
    print(f"threads {options.threads}")
    for label, found in results.items():
        print(f"{label:<55}", "  ".join(f"{key} {value:.3f}" for key, value in found.items()))
    if options.out:
        write_json(options.out, {"threads": options.threads, "versions": versions(), "results": results})
        print(json.dumps({"written": str(options.out)}))


if __name__ == "__main__":
    main()
