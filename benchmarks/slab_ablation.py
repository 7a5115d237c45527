"""What decides PerfMatch's result on the slab data: every choice that the paper leaves open, changed alone.

Each row changes one thing of the settings that `matchdg reproduce slab` uses, and keeps the rest. No row is
chosen by its target accuracy: the table's hyper-parameters come from source validation data alone.

    python benchmarks/slab_ablation.py [--seeds N] [--jobs N] [--out DIR]
"""

import argparse
import os
import statistics
from pathlib import Path
from typing import Any

from matchdg.core.files import write_json, write_text
from matchdg.experiments import Failure, run_all
from matchdg.experiments.study import Arm, override
from matchdg.experiments.tables.slab import slab
from matchdg.reports.progress import StudyLines
from matchdg.training import RunResult
from matchdg.training.run import versions

VARIANTS: dict[str, dict[str, Any]] = {
    "as in the table": {},
    "layer: logits": {"method.layer": "logits"},
    "layer: logits, penalty 0.1": {"method.layer": "logits", "method.penalty": 0.1},
    "pairs: same slab and same label": {"matcher": {"name": "perfect", "same_class": True}},
    "pairs: one draw for all epochs": {"training.redraw": "never"},
    "distance: l2": {"method.distance": "l2"},
    "distance: l1": {"method.distance": "l1"},
    "distance: cosine": {"method.distance": "cosine"},
    "penalty 0.1": {"method.penalty": 0.1},
    "penalty 3": {"method.penalty": 3.0},
    "penalty 3, warm-up over all epochs": {"method.penalty": 3.0, "method.warm_up": 1.0},
    "penalty 10": {"method.penalty": 10.0},
    "warm-up: none": {"method.warm_up": 0.0},
    "warm-up: all epochs": {"method.warm_up": 1.0},
    "schedule: constant": {"training.schedule": "constant"},
    "momentum 0": {"training.momentum": 0.0},
    "momentum 0.95": {"training.momentum": 0.95},
    "batch: 64 rows": {"training.batch_rows": 64},
    "batch: 250 rows": {"training.batch_rows": 250},
    "batch: 250 rows, penalty 3, warm-up over all epochs": {
        "training.batch_rows": 250,
        "method.penalty": 3.0,
        "method.warm_up": 1.0,
    },
    "batch: 64 rows, momentum 0.8, penalty 3, warm-up over all epochs": {
        "training.batch_rows": 64,
        "training.momentum": 0.8,
        "method.penalty": 3.0,
        "method.warm_up": 1.0,
    },
    "300 epochs": {"training.epochs": 300},
    "300 epochs, warm-up over all epochs": {"training.epochs": 300, "method.warm_up": 1.0},
    "Adam, learning rate 0.01": {"training.optimizer": "adam", "training.learning_rate": 0.01},
    "layer: logits, warm-up over all epochs, constant schedule": {
        "method.layer": "logits",
        "method.warm_up": 1.0,
        "training.schedule": "constant",
    },
    "the same, 300 epochs, no early stopping": {
        "method.layer": "logits",
        "method.warm_up": 1.0,
        "training.schedule": "constant",
        "training.epochs": 300,
        "training.keep": "last",
    },
    "early stopping: validation loss": {"training.keep": "loss"},
    "early stopping: validation accuracy": {"training.keep": "accuracy"},
    "early stopping: none": {"training.keep": "last"},
}
COLUMNS = ("Source 1", "Source 2", "Target")


def arms() -> list[Arm]:
    """PerfMatch as the quick table runs it, one arm a variant."""
    table = next(arm for arm in slab("quick", "source").arms if arm.label == "PerfMatch")
    base = override(table.base, table.points()[0])
    return [Arm(name, None, override(base, change)) for name, change in VARIANTS.items()]


def row(arm: Arm, results: list[RunResult | Failure]) -> dict[str, Any]:
    """Mean and deviation of the accuracy on each domain, and the mean on source validation data, in percent."""
    finished = [result for result in results if isinstance(result, RunResult)]
    values = {}
    for column in COLUMNS:
        accuracies = [100 * result.test[column]["accuracy"] for result in finished]
        values[column] = {"mean": statistics.fmean(accuracies), "std": statistics.stdev(accuracies)}
    validation = [
        100 * statistics.fmean(scores["accuracy"] for scores in result.validation.values()) for result in finished
    ]
    return {
        "change": arm.label,
        "values": values,
        "validation": statistics.fmean(validation),
        "n": len(finished),
        "settings": arm.run({}, 0).dump(),
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = ["| change | Source 1 | Source 2 | source validation | Target |", "|---|---|---|---|---|"]
    for entry in rows:
        first, second, target = (entry["values"][column] for column in COLUMNS)
        lines.append(
            f"| {entry['change']} | {first['mean']:.1f} | {second['mean']:.1f} | {entry['validation']:.1f} "
            f"| {target['mean']:.1f} ± {target['std']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("results/slab"))
    options = parser.parse_args()
    seeds = range(options.seeds)
    runs = [arm.run({}, seed) for arm in arms() for seed in seeds]
    results = run_all("ablation", runs, options.out, options.jobs, StudyLines())
    rows = [row(arm, [results[arm.run({}, seed).hash] for seed in seeds]) for arm in arms()]
    write_text(options.out / "ablation.md", markdown(rows))
    write_json(options.out / "ablation.json", {"seeds": list(seeds), "versions": versions(), "rows": rows})
    print(markdown(rows))


if __name__ == "__main__":
    main()
