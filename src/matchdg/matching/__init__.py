"""Matches between inputs of different domains that are taken for the same object."""

from typing import Final

from matchdg.matching.grouped import GroupedCandidates
from matchdg.matching.matchers import (
    Matcher,
    MatcherSettings,
    PartlyPerfectSettings,
    PerfectSettings,
    RandomSettings,
)
from matchdg.matching.table import ABSENT, MatchTable, anchor_positions, base_domains

MATCHERS: Final[dict[str, type[MatcherSettings]]] = {
    "random": RandomSettings,
    "perfect": PerfectSettings,
    "partly-perfect": PartlyPerfectSettings,
}

__all__ = [
    "ABSENT",
    "MATCHERS",
    "GroupedCandidates",
    "MatchTable",
    "Matcher",
    "MatcherSettings",
    "anchor_positions",
    "base_domains",
]
