"""`Study`: methods x hyper-parameter grid x seeds, and the rule by which hyper-parameters are chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from matchdg.core.errors import InputError
from matchdg.core.files import digest
from matchdg.matching import RepresentationSettings
from matchdg.training import RunSettings
from matchdg.training.run import NUMBERS_VERSION

Budget = Literal["quick", "cpu", "paper"]
Rule = Literal["source", "target"]
Hparams = Literal["search", "paper"]
Point = Mapping[str, Any]
AS_PRINTED = "hyper-parameters as printed for each row and target, nothing searched"


@dataclass(frozen=True)
class Arm:
    """The runs of one method on one task: a row of a table, or the part of it that the task fills.

    `base` is what `RunSettings.parse` reads; `grid` maps dotted keys ("method.penalty") to values. `columns` says
    what of a run's result stands in which column, as `experiments.measures` reads it; None: each column is the
    accuracy on the test domain of its name. Arms of equal label and group share a row, and differ in `task`.
    `measured` is the representation whose match quality the columns need. `seeds` are the arm's own where it has
    fewer than its study. `printed_group` is the group of the printed row beside which it stands, if not `group`.
    `printed` is the point that the paper prints for it, in place of a search of `grid`.
    """

    label: str
    group: str | None
    base: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    oracle: bool = False
    task: str = ""
    columns: Mapping[str, str] | None = None
    measured: RepresentationSettings | None = None
    seeds: tuple[int, ...] | None = None
    printed_group: str | None = None
    printed: Point | None = None

    @property
    def name(self) -> str:
        """The arm's own name in its study."""
        return f"{self.label} [{self.task}]" if self.task else self.label

    def points(self) -> list[dict[str, Any]]:
        """All points of the grid; one empty point where nothing is searched."""
        from sklearn.model_selection import ParameterGrid

        return [dict(sorted(point.items())) for point in ParameterGrid({k: list(v) for k, v in self.grid.items()})]

    def run(self, point: Point, seed: int) -> RunSettings:
        """The run at one point of the grid."""
        return RunSettings.parse(override({**self.base, "seed": seed}, point))


@dataclass(frozen=True)
class Column:
    """What the numbers of a column are, and whether a larger one is a better one."""

    unit: str = "percent"
    higher_is_better: bool = True


@dataclass(frozen=True)
class Study:
    """What is run and how it is chosen. Equal studies have equal `hash`es, whatever machine they run on.

    `columns` are those of a table that the paper does not have; None: the columns of the printed table. `averages`
    are columns that are the mean, seed by seed, of others. `extend` adds to the finished table what only this one
    has. With `show_printed`, rows of the paper that are not run here are shown too. `rule` is that of the arms which
    do not choose by another of their own (`training.selection`). `about_search` says what the budget has of the grids.
    """

    table: str
    title: str
    budget: Budget
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    search_seeds: tuple[int, ...] = ()
    rule: Rule = "source"
    notes: tuple[str, ...] = ()
    about_budget: str = ""
    about_search: str = ""
    columns: Mapping[str, Column] | None = None
    averages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extend: Callable[[dict[str, Any]], None] | None = None
    show_printed: bool = False

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
                    [
                        arm.name,
                        arm.group,
                        arm.run({}, 0).dump(),
                        {k: list(v) for k, v in arm.grid.items()},
                        list(self.seeds_of(arm)),
                    ]
                    for arm in self.arms
                ],
            }
        )

    def seeds_of(self, arm: Arm) -> tuple[int, ...]:
        """The seeds of an arm: its own, as far as the study has them, or the study's."""
        return self.seeds if arm.seeds is None else tuple(seed for seed in arm.seeds if seed in self.seeds)

    @property
    def selection(self) -> str:
        """The rule in words, as rows of the table carry it that train a classifier, but for those with another."""
        return f"{self.rule}: accuracy"

    def selection_of(self, arm: Arm) -> str:
        """The same of an arm; a phase 1 alone has no accuracy, and chooses its epoch by how good matches are."""
        run = arm.run(arm.points()[0], self.seeds[0])
        criterion = "accuracy" if run.spec.learns == "classes" else run.training.keep
        return f"{run.training.selection}: {criterion}"

    def rule_of(self, arm: Arm) -> Rule:
        """Whose data choose an arm's point of the grid: the same that choose its epoch."""
        return arm.run(arm.points()[0], self.seeds[0]).training.selection

    def search_runs(self) -> list[RunSettings]:
        """All runs of the search; none for an arm with nothing to choose."""
        return [
            arm.run(point, seed)
            for arm in self.arms
            if len(arm.points()) > 1
            for point in arm.points()
            for seed in self.search_seeds
        ]


def as_printed(study: Study) -> Study:
    """The study with the hyper-parameters that the paper prints for its rows, where a search would choose them.

    Raises `InputError` where the paper prints none.
    """
    if all(arm.printed is None for arm in study.arms):
        raise InputError(
            f"the paper prints no hyper-parameters for the rows of {study.table} other than those it has anyway; "
            "leave --hparams out"
        )
    arms = tuple(
        arm if arm.printed is None else replace(arm, grid={key: (value,) for key, value in arm.printed.items()})
        for arm in study.arms
    )
    search_seeds = study.search_seeds if any(len(arm.points()) > 1 for arm in arms) else ()
    return replace(study, arms=arms, search_seeds=search_seeds, about_search=AS_PRINTED)


def override(values: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """`values` with dotted keys replaced; a section given by name alone becomes a mapping.

    >>> override({"method": "erm"}, {"method.penalty": 1.0})
    {'method': {'name': 'erm', 'penalty': 1.0}}
    >>> override({}, {"phase1.training.epochs": 5})
    {'phase1': {'training': {'epochs': 5}}}
    """
    result = dict(values)
    for key, value in point.items():
        section, dot, rest = key.partition(".")
        old = result.get(section) or {}
        inner = {"name": old} if isinstance(old, str) else old
        result[section] = override(inner, {rest: value}) if dot else value
    return result
