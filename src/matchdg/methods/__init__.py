"""What is minimised: one short file a method. Adding one is a file here and a line in `METHODS`."""

from typing import Final

from matchdg.methods import adversarial, coral, csd, erm, irm, mmd, perfmatch, randmatch
from matchdg.methods.base import Clock, DomainLoss, Loss, Method, MethodSpec, Scaled, Term, Turn
from matchdg.methods.batch import Batch

METHODS: Final[dict[str, MethodSpec]] = {
    "erm": erm.SPEC,
    "dann": adversarial.SPEC,
    "mmd": mmd.SPEC,
    "coral": coral.SPEC,
    "irm": irm.SPEC,
    "csd": csd.SPEC,
    "randmatch": randmatch.SPEC,
    "cdann": adversarial.CONDITIONAL_SPEC,
    "c-mmd": mmd.CONDITIONAL_SPEC,
    "c-coral": coral.CONDITIONAL_SPEC,
    "perfmatch": perfmatch.SPEC,
}

__all__ = ["METHODS", "Batch", "Clock", "DomainLoss", "Loss", "Method", "MethodSpec", "Scaled", "Term", "Turn"]
