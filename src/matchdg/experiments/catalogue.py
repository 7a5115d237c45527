"""Tables and figures by name: what `matchdg reproduce` takes and `matchdg list tables` shows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from matchdg.core.errors import InputError
from matchdg.core.families import unknown_name
from matchdg.experiments.figures import FIGURES, FigureStudy
from matchdg.experiments.paper import printed_tables
from matchdg.experiments.reproduce import with_seeds
from matchdg.experiments.study import Budget, Hparams, Rule, Study, as_printed
from matchdg.experiments.tables import STUDIES, study_of


def find_study(
    name: str,
    budget: Budget = "quick",
    rule: Rule = "source",
    seeds: int | None = None,
    hparams: Hparams = "search",
) -> Study | FigureStudy:
    """The study of a table or of a figure, over `seeds` seeds if given, with hyper-parameters searched or as printed.

    Raises `InputError` that names the nearest of both.
    """
    if name in FIGURES:
        if rule != "source":
            raise InputError(f"nothing is selected for the figure {name!r}; leave --selection out")
        if hparams != "search":
            raise InputError(f"nothing is searched for the figure {name!r}; leave --hparams out")
        figure = FIGURES[name](budget)
        return replace(figure, study=with_seeds(figure.study, seeds))
    known = dict.fromkeys([*printed_tables(), *STUDIES, *FIGURES])
    if name not in known:
        raise InputError(unknown_name("table", name, known))
    study = with_seeds(study_of(name, budget, rule), seeds)
    return as_printed(study) if hparams == "paper" else study


def describe_tables() -> list[dict[str, Any]]:
    """Plain values about the paper's tables, those of our own, and the figures."""
    printed = [
        {
            "name": name,
            "about": f"{table['about']} [reproducible]",
            "kind": "table",
            "reproducible": True,
            "section": table["section"],
            "columns": table["columns"],
        }
        for name, table in printed_tables().items()
    ]
    own = [
        _described(name, study, "table", list(study("quick", "source").columns or {}))
        for name, study in STUDIES.items()
        if name not in printed_tables()
    ]
    return printed + own + [_described(name, figure, "figure", []) for name, figure in FIGURES.items()]


def _described(name: str, study: Callable[..., Any], kind: str, columns: list[str]) -> dict[str, Any]:
    about = (study.__doc__ or "").split("\n", maxsplit=1)[0]
    return {
        "name": name,
        "about": f"{about} [{kind}]",
        "kind": kind,
        "reproducible": True,
        "section": None,
        "columns": columns,
    }
