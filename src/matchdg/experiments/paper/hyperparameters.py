"""The paper's hyper-parameters as data: its grids, and what it tuned them to."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

ALL, PACS = "all_datasets", "pacs_per_test_domain"


@cache
def entries(table: str) -> list[dict[str, Any]]:
    """The entries of one of the paper's tables of hyper-parameters: `ALL` (table 8) or `PACS` (table 10), and others.

    >>> entries("phase1")[0]["hyperparameter"]
    'total_epochs'
    """
    content = json.loads(files("matchdg.experiments.paper").joinpath("hyperparameters.json").read_text("utf-8"))
    return next(one["entries"] for one in content["tables"] if one["id"] == table)


def of_setting(setting: str) -> dict[str, dict[str, Any]]:
    """What table 8 has for a setting, by hyper-parameter: `optimal` and `range`.

    >>> of_setting("chest_xray")["learning_rate"]["optimal"]
    0.001
    """
    return {entry["hyperparameter"]: entry for entry in entries(ALL) if entry["setting"] == setting}


def on_pacs(architecture: str, domain: str, method: str) -> dict[str, Any]:
    """What table 10 has for a network, a test domain and a method: `learning_rate` and `match_penalty`.

    MDGHybrid has two penalties: of learnt matches (`matchdg`), and of views of one image (`perfmatch`).

    >>> on_pacs("ResNet-18", "Photo", "MDGHybrid")
    {'learning_rate': 0.0005, 'match_penalty': {'matchdg': 0.1, 'perfmatch': 0.1}}
    """
    return {
        entry["hyperparameter"]: entry["optimal"][method]
        for entry in entries(PACS)
        if entry["architecture"] == architecture and entry["test_domain"] == domain
    }
