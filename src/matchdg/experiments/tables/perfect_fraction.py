"""Accuracy when a share of the matches is true (appendix D.3)."""

from typing import Any

from matchdg.experiments.study import Arm, Budget, Rule, Study
from matchdg.experiments.tables import rotated
from matchdg.experiments.tables.rotated import FASHION, MNIST, SETUPS

COLUMNS = {MNIST: "rotMNIST", FASHION: "rotFashionMNIST"}
ROWS: dict[str, dict[str, Any]] = {
    "RandMatch": {"name": "random"},
    "Approx 25%": {"name": "partly-perfect", "fraction": 0.25},
    "Approx 50%": {"name": "partly-perfect", "fraction": 0.5},
    "Approx 75%": {"name": "partly-perfect", "fraction": 0.75},
    "PerfMatch (100%)": {"name": "perfect"},
}


def perfect_fraction(budget: Budget, rule: Rule) -> Study:
    """Five shares of true matches on the five source angles."""
    setup = SETUPS[budget]
    arms = []
    for label, matcher in ROWS.items():
        for name, column in COLUMNS.items():
            data = rotated.dataset(name, setup)
            values = rotated.run_of(
                "perfmatch" if label != "RandMatch" else "randmatch", data, setup, rule, matcher=matcher
            )
            oracle = label != "RandMatch"
            columns = {column: "target"}
            arms.append(Arm(label, None, values, oracle=oracle, task=column, columns=columns, seeds=setup.seeds[name]))
    return Study(
        "perfect_fraction",
        "Accuracy by the share of true matches",
        budget,
        tuple(arms),
        setup.seeds[MNIST],
        rule=rule,
        about_budget=setup.about,
    )
