"""What a method's step costs over a bare one (forward, cross-entropy, backward, optimiser), as ratios of one run.

Both steps run on the same network (so in the trainer's memory format), batch and optimiser in alternation, so
that a change of the machine's speed meets both; a ratio is the median over rounds of paired times. `whole` also
counts what the trainer adds: gathering the batch from the data by its match-table rows, and keeping the terms for
the records. The bare step of phase 1, which has no cross-entropy, takes the mean of the representation instead;
with an extra part, the bare step has rows and extra inputs in one batch.

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
from matchdg.methods import METHODS, PHASE1_METHODS, Batch, Clock
from matchdg.networks import NETWORKS, Network
from matchdg.training.criteria import ClassCriterion
from matchdg.training.display import Silent
from matchdg.training.loop import Trainer
from matchdg.training.objective import Objective
from matchdg.training.records import Records
from matchdg.training.run import versions
from matchdg.training.settings import Extra, TrainingSettings
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


def steps(network: Network, split: DomainSplit, name: str, rows: int, extra: Extra = "none") -> dict[str, Step]:
    """The bare step, the method's step on the same batch, and the trainer's whole step."""
    spec = {**METHODS, **PHASE1_METHODS}[name]
    settings = TrainingSettings(batch_rows=rows, learning_rate=1e-4, extra=extra)
    fabric = Fabric(accelerator="cpu", devices=1)
    trainer = Trainer(
        split=split,
        objective=Objective(network, spec.build(spec.settings(), network, len(split.sources))),
        matcher=MATCHERS["perfect"]().build(split.train),
        criterion=ClassCriterion(split, settings, fabric),
        settings=settings,
        seed=0,
        fabric=fabric,
        display=Silent(),
        records=Records(),
    )
    plain, parameters = trainer.optimizers["network"], trainer.groups["network"]
    table = trainer.table
    more = {"none": 0, "rows": rows, "inputs": rows * len(split.sources)}[extra]
    positions = torch.arange(more) if more else None
    batch = Batch.gather(split.train, table.rows[:rows], table.complete, positions)
    inputs, labels = batch.inputs, batch.labels
    if batch.extra is not None:
        inputs, labels = torch.cat([inputs, batch.extra[0]]), torch.cat([labels, batch.extra[1]])
    clock = Clock(0, 0, 1)
    logged = TermMeans(trainer.fabric)

    def bare() -> None:
        outputs = network(inputs)
        loss = cross_entropy(outputs.logits, labels) if spec.learns == "classes" else outputs.representation.mean()
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        plain.step()

    def method() -> None:
        trainer.step_on(batch, clock)

    def whole() -> None:
        gathered = Batch.gather(trainer.train_data, table.rows[:rows], table.complete, positions)
        parts = trainer.step_on(gathered, clock)
        logged.add_loss(parts)
        for term, value in parts.terms.items():
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
    measured: list[tuple[str, str, Extra]] = [
        ("contrastive", "phase 1: contrastive", "none"),
        ("perfmatch", "phase 2: match penalty", "none"),
        ("perfmatch", "phase 2 with extra rows", "rows"),
        ("perfmatch", "phase 2 with extra inputs", "inputs"),
        ("c-mmd", "c-mmd", "none"),
        ("c-coral", "c-coral", "none"),
    ]
    for name, label, extra in measured:
        network = NETWORKS["resnet18"]().build((1, 64, 64), 10)
        found = ratios(steps(network, images, name, 16, extra), max(5, options.rounds // 10), 1)
        results[f"{label}, ResNet-18, 16 rows x 5 domains at 64x64"] = found
    print(f"threads {options.threads}")
    for label, found in results.items():
        print(f"{label:<70}", "  ".join(f"{key} {value:.3f}" for key, value in found.items()))
    if options.out:
        write_json(options.out, {"threads": options.threads, "versions": versions(), "results": results})
        print(json.dumps({"written": str(options.out)}))


if __name__ == "__main__":
    main()
