"""Matches between inputs of different domains that are taken for the same object."""

from typing import Final

from matchdg.matching.grouped import GroupedCandidates
from matchdg.matching.learnt import FixedMatcher, LearntSettings
from matchdg.matching.matchers import (
    Matcher,
    MatcherSettings,
    PartlyPerfectSettings,
    PerfectSettings,
    RandomSettings,
)
from matchdg.matching.nearest import NearestMatcher, NearestSettings, RepresentationSettings
from matchdg.matching.table import ABSENT, MatchTable, anchor_positions, base_domains

AnyMatcherSettings = MatcherSettings | NearestSettings | LearntSettings

MATCHERS: Final[dict[str, type[AnyMatcherSettings]]] = {
    "random": RandomSettings,
    "perfect": PerfectSettings,
    "partly-perfect": PartlyPerfectSettings,
    "nearest": NearestSettings,
    "learnt": LearntSettings,
}

__all__ = [
    "ABSENT",
    "MATCHERS",
    "AnyMatcherSettings",
    "FixedMatcher",
    "GroupedCandidates",
    "LearntSettings",
    "MatchTable",
    "Matcher",
    "MatcherSettings",
    "NearestMatcher",
    "NearestSettings",
    "RepresentationSettings",
    "anchor_positions",
    "base_domains",
]
