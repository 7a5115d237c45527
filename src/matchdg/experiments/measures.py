"""What of a run's result stands in a column of a table."""

from collections.abc import Sequence
from pathlib import Path

from matchdg.experiments.study import Arm
from matchdg.training import RunResult, RunSettings
from matchdg.training.quality import read_quality


def measures(arm: Arm, run: RunSettings, result: RunResult, out: Path, columns: Sequence[str]) -> dict[str, float]:
    """The value of each column that `arm` fills, accuracies in percent; what is not there is left out.

    A measure is `target` (mean accuracy over the target domains), `quality.NAME` (match quality of
    `arm.measured`), or the name of a test domain (its accuracy).
    """
    found = {}
    for column, measure in (arm.columns or {column: column for column in columns}).items():
        value = _measure(measure, arm, run, result, out)
        if value is not None:
            found[column] = value
    return found


def _measure(measure: str, arm: Arm, run: RunSettings, result: RunResult, out: Path) -> float | None:
    if measure == "target":
        return 100 * result.target_accuracy()
    kind, _, name = measure.partition(".")
    if kind == "quality":
        assert arm.measured is not None
        quality = read_quality(out, run, arm.measured)
        return None if quality is None else quality[name]
    return 100 * result.test[measure]["accuracy"] if measure in result.test else None
