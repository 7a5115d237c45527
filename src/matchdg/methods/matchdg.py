"""MatchDG: the match penalty on matches that phase 1 learnt (the paper's section 5), as printed and as we run it."""

from matchdg.methods.base import MethodSpec
from matchdg.methods.match_penalty import SEARCH, MatchPenalty, MatchSettings

_REFERENCE = "Mahajan, Tople, Sharma (2021), Domain generalization using causal matching, section 5"

# Appendix C.1 and C.3; matches are renewed after each epoch, as section 5.1 says. The momentum, the warm-up of the loss
# and the statistics of one class within one domain while matching are the reference code's; the paper has none of them.
PAPER_PHASE1 = {
    "method": {"name": "contrastive", "temperature": 0.05, "warm_up": 1.0},
    "matcher": {"name": "nearest", "every": 1, "statistics": "cell"},
    "training": {"epochs": 50, "batch_rows": 64, "learning_rate": 0.01, "keep": "top10-overlap"},
}

PHASE1 = {
    "method": {"name": "contrastive", "temperature": 0.1, "negatives": "other-rows"},
    "matcher": {
        "name": "nearest",
        "every": 2,
        "start": "inputs",
        "assignment": "one-to-one",
        "route": "tree",
        "statistics": "domain",
        "metric": "cosine",
    },
    "training": {
        "epochs": 20,
        "batch_rows": 64,
        "learning_rate": 0.05,
        "schedule": "cosine",
        "keep": "mutual",
    },
}

# A network that sums up positions last forgets where in the image things are, which tells objects of a class apart.
PHASE1_ON_IMAGES = {"network": {"name": "small-cnn", "summary": "flatten"}}

SPEC = MethodSpec(
    label="MatchDG",
    reference=_REFERENCE + "; phase 1 is ours",
    settings=MatchSettings,
    build=lambda settings, network, domains: MatchPenalty(settings),
    matcher="learnt",
    search=SEARCH,
    phase1=PHASE1,
    phase1_on_images=PHASE1_ON_IMAGES,
)

PAPER_SPEC = MethodSpec(
    label="MatchDG (as printed)",
    reference=_REFERENCE,
    settings=MatchSettings,
    build=lambda settings, network, domains: MatchPenalty(settings),
    matcher="learnt",
    search=SEARCH,
    phase1=PAPER_PHASE1,
    # Appendix C.1: beside the matched rows, a random part of each batch.
    training={"extra": "rows"},
)
