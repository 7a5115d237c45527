"""`Study`: methods x hyper-parameter grid x seeds, and the rule by which hyper-parameters are chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from matchdg.core.files import digest
from matchdg.training import RunSettings
from matchdg.training.run import NUMBERS_VERSION

Budget = Literal["quick", "paper"]
Rule = Literal["source", "target"]
Point = Mapping[str, Any]


@dataclass(frozen=True)
class Arm:
    """One row of a table: a method with its base settings, and the grid that is searched for it.

    `base` is what `RunSettings.parse` reads; `grid` maps dotted keys ("method.penalty") to values.
    """

    label: str
    group: str | None
    base: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    oracle: bool = False

    def points(self) -> list[dict[str, Any]]:
        """All points of the grid; one empty point where nothing is searched."""
        from sklearn.model_selection import ParameterGrid

        return [dict(sorted(point.items())) for point in ParameterGrid({k: list(v) for k, v in self.grid.items()})]

    def run(self, point: Point, seed: int) -> RunSettings:
        """The run at one point of the grid."""
        return RunSettings.parse(override({**self.base, "seed": seed}, point))


@dataclass(frozen=True)
class Study:
    """What is run and how it is chosen. Equal studies have equal `hash`es, whatever machine they run on."""

    table: str
    title: str
    budget: Budget
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    search_seeds: tuple[int, ...] = ()
    rule: Rule = "source"
    notes: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """The name of what is computed."""
        return digest(
            {
                "numbers": NUMBERS_VERSION,
                "table": self.table,
                "budget": self.budget,
                "rule": self.rule,
                "seeds": list(self.seeds),
                "search_seeds": list(self.search_seeds),
                "arms": [
                    [arm.label, arm.run({}, 0).dump(), {k: list(v) for k, v in arm.grid.items()}] for arm in self.arms
                ],
            }
        )

    @property
    def selection(self) -> str:
        """The rule in words, as every row of the table carries it."""
        return f"{self.rule}: accuracy"

    def search_runs(self) -> list[RunSettings]:
        """All runs of the search; none for an arm with nothing to choose."""
        return [
            arm.run(point, seed)
            for arm in self.arms
            if len(arm.points()) > 1
            for point in arm.points()
            for seed in self.search_seeds
        ]


def override(values: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """`values` with dotted keys replaced; a section given by name alone becomes a mapping.

    >>> override({"method": "erm"}, {"method.penalty": 1.0})
    {'method': {'name': 'erm', 'penalty': 1.0}}
    """
    result = dict(values)
    for key, value in point.items():
        section, dot, name = key.partition(".")
        if not dot:
            result[section] = value
            continue
        old = result.get(section, {})
        result[section] = {**({"name": old} if isinstance(old, str) else old), name: value}
    return result
