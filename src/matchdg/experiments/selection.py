"""Which point of the grid is taken: the best mean accuracy over seeds on source validation data (or the target)."""

import math
from collections.abc import Sequence
from typing import Any

from matchdg.core.errors import InputError
from matchdg.experiments.runner import Failure, Results
from matchdg.experiments.study import Arm, Rule
from matchdg.training import RunResult


def score(result: RunResult, rule: Rule) -> float:
    """What the rule maximises: accuracy of the kept epoch, each domain counting alike."""
    if rule == "target":
        return result.target_accuracy()
    return sum(scores["accuracy"] for scores in result.validation.values()) / len(result.validation)


def choose_point(
    arm: Arm, seeds: Sequence[int], results: Results, rule: Rule
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The best point of `arm`'s grid, the first of equals, and what was seen at each point.

    A point with a run that diverged is out. Raises `InputError` if all are, or if a run is not there or failed for
    another reason, such as a full disk: without it the choice might be another.
    """
    points = arm.points()
    if len(points) == 1:
        return points[0], []
    seen: list[dict[str, Any]] = []
    for point in points:
        found = [results.get(arm.run(point, seed).hash) for seed in seeds]
        finished = [result for result in found if isinstance(result, RunResult)]
        for result in found:
            if result is None:
                raise InputError(f"the search for {arm.label} is not finished; run the command without --finished")
            if isinstance(result, Failure) and result.cause == "error":
                raise InputError(f"run {result.run} of the search for {arm.label} failed: {result.message}")
        whole = len(finished) == len(seeds) > 0
        mean = sum(score(result, rule) for result in finished) / len(finished) if whole else -math.inf
        seen.append({"point": point, "accuracy": mean if whole else None})
    best = max(seen, key=lambda entry: -math.inf if entry["accuracy"] is None else entry["accuracy"])
    if best["accuracy"] is None:
        raise InputError(
            f"every point of the search for {arm.label} diverged; give it a smaller penalty or learning rate"
        )
    return dict(best["point"]), seen
