"""Domain generalization by causal matching: train on several domains, hold up on one never seen.

>>> import matchdg
>>> sorted(matchdg.METHODS)[:3]
['c-coral', 'c-mmd', 'cdann']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchdg.data import DATASETS, DomainDataset, DomainSplit, split_by_domain
    from matchdg.matching import MATCHERS, MatchTable
    from matchdg.methods import METHODS
    from matchdg.networks import NETWORKS
    from matchdg.training import MachineSettings, RunResult, RunSettings, TrainingSettings, execute

__version__ = "0.1.0"

# PyTorch takes seconds to import, so each name is fetched when it is first asked for.
_HOMES = {
    "DATASETS": "data",
    "MATCHERS": "matching",
    "METHODS": "methods",
    "NETWORKS": "networks",
    "DomainDataset": "data",
    "DomainSplit": "data",
    "MachineSettings": "training",
    "MatchTable": "matching",
    "RunResult": "training",
    "RunSettings": "training",
    "TrainingSettings": "training",
    "execute": "training",
    "split_by_domain": "data",
}

__all__ = [
    "DATASETS",
    "MATCHERS",
    "METHODS",
    "NETWORKS",
    "DomainDataset",
    "DomainSplit",
    "MachineSettings",
    "MatchTable",
    "RunResult",
    "RunSettings",
    "TrainingSettings",
    "execute",
    "split_by_domain",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"matchdg.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'matchdg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
