"""How much better a row is than another on the same tasks and seeds, and how sure that is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

LEVEL, RESAMPLES = 0.95, 10_000


def paired_interval(pairs: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """The mean difference and its 95 % interval, of `pairs[task][seed]` of differences; each task counts alike.

    A percentile bootstrap over both: tasks are drawn with replacement, and then seeds within each. With a few tasks it
    is too narrow rather than too wide.

    >>> paired_interval([[1.0, 1.0], [1.0]])
    (1.0, 1.0, 1.0)
    """
    random = np.random.default_rng(0)
    means = [float(np.mean(task)) for task in pairs]
    drawn = np.empty((len(pairs), RESAMPLES))
    # Each task has means of its own redrawn seeds, as many as there are resamples.
    for number, task in enumerate(pairs):
        values = np.asarray(task, dtype=float)
        drawn[number] = values[random.integers(len(values), size=(RESAMPLES, len(values)))].mean(1)
    picked = random.integers(len(pairs), size=(RESAMPLES, len(pairs)))
    resampled = drawn[picked, np.arange(RESAMPLES)[:, None]].mean(1)
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(np.mean(means)), float(low), float(high)


def add_paired(table: dict[str, Any], baselines: Sequence[str], columns: Sequence[str]) -> None:
    """Add to a finished table, for each row and each of `baselines`, the paired difference over `columns` and seeds."""
    found = []
    for row in table["rows"]:
        for name in baselines:
            base = next((other for other in table["rows"] if other["method"] == name), None)
            if base is None or base is row or base["group"] != row["group"]:
                continue
            pairs = [_differences(row, base, column) for column in columns]
            if not all(pairs):
                continue
            mean, low, high = paired_interval(pairs)
            entry = {"method": row["method"], "group": row["group"], "baseline": name}
            found.append({**entry, "mean": mean, "low": low, "high": high, "pairs": sum(map(len, pairs))})
    table["paired"] = found
    for entry in found:
        table["notes"].append(
            f"{entry['method']} against {entry['baseline']}, the same targets and seeds ({entry['pairs']} pairs): "
            f"{entry['mean']:+.1f} (95 % interval {entry['low']:+.1f} to {entry['high']:+.1f})."
        )


def _differences(row: dict[str, Any], base: dict[str, Any], column: str) -> list[float]:
    ours, theirs = row["by_seed"].get(column, {}), base["by_seed"].get(column, {})
    return [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
