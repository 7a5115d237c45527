"""What is minimised: one short file a method. Adding one is a file here and a line in `METHODS`."""

from typing import Final

from matchdg.methods import (
    adversarial,
    contrastive,
    coral,
    csd,
    erm,
    irm,
    masf,
    matchdg,
    mdghybrid,
    mmd,
    perfmatch,
    randmatch,
)
from matchdg.methods.base import Clock, DomainLoss, Loss, Method, MethodSpec, Parts, Product, Pull, Term, Turn
from matchdg.methods.batch import Batch

METHODS: Final[dict[str, MethodSpec]] = {
    "erm": erm.SPEC,
    "dann": adversarial.SPEC,
    "mmd": mmd.SPEC,
    "coral": coral.SPEC,
    "irm": irm.SPEC,
    "csd": csd.SPEC,
    "masf": masf.SPEC,
    "randmatch": randmatch.SPEC,
    "cdann": adversarial.CONDITIONAL_SPEC,
    "c-mmd": mmd.CONDITIONAL_SPEC,
    "c-coral": coral.CONDITIONAL_SPEC,
    "matchdg": matchdg.SPEC,
    "matchdg-paper": matchdg.PAPER_SPEC,
    "mdghybrid": mdghybrid.SPEC,
    "perfmatch": perfmatch.SPEC,
}

# What trains a representation for matching, not a classifier.
PHASE1_METHODS: Final[dict[str, MethodSpec]] = {"contrastive": contrastive.SPEC}

__all__ = [
    "METHODS",
    "PHASE1_METHODS",
    "Batch",
    "Clock",
    "DomainLoss",
    "Loss",
    "Method",
    "MethodSpec",
    "Parts",
    "Product",
    "Pull",
    "Term",
    "Turn",
]
