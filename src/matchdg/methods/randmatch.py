"""RandMatch: the match penalty on random pairs of the same class (Motiian et al., 2017; the paper's baseline)."""

from matchdg.methods.base import MethodSpec
from matchdg.methods.match_penalty import SEARCH, MatchPenalty, MatchSettings

SPEC = MethodSpec(
    label="RandMatch",
    reference="Motiian et al. (2017), Unified deep supervised domain adaptation and generalization",
    settings=MatchSettings,
    build=lambda settings, network, domains: MatchPenalty(settings),
    matcher="random",
    search=SEARCH,
)
