"""PerfMatch: the match penalty on pairs that are known to be the same object (the paper's section 4.3)."""

from matchdg.methods.base import MethodSpec
from matchdg.methods.match_penalty import SEARCH, MatchPenalty, MatchSettings

SPEC = MethodSpec(
    label="PerfMatch",
    reference="Mahajan, Tople, Sharma (2021), Domain generalization using causal matching, eq. 3",
    settings=MatchSettings,
    build=lambda settings, network, domains: MatchPenalty(settings),
    matcher="perfect",
    search=SEARCH,
)
