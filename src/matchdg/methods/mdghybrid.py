"""MDGHybrid: MatchDG's phase 2, and views of one input as an object that is known (the paper's section 5.3)."""

import torch
from pydantic import Field
from torch.nn.functional import cross_entropy

from matchdg.methods.base import Clock, Loss, MethodSpec, Parts, classification, ramp
from matchdg.methods.batch import Batch
from matchdg.methods.distance import match_distance
from matchdg.methods.match_penalty import MatchPenalty, MatchSettings
from matchdg.methods.matchdg import PHASE1, PHASE1_ON_IMAGES
from matchdg.networks import Network


class HybridSettings(MatchSettings):
    """The match penalty of learnt matches, and that of the two views of each input."""

    view_penalty: float = Field(0.1, ge=0, description="weight of the distance between two views of one input")


class HybridPenalty(MatchPenalty):
    r"""Minimise $\sum_d L_d + \lambda_1 M + \lambda_2 \sum_i \operatorname{dist}(\Phi(x_i), \Phi(x_i'))$.

    M is the match distance, $x_i'$ another view of $x_i$: a draw of the data's augmentation of its own. Both views are
    classified, because both have passed through the network anyway; matches are of the first. A batch thus passes
    twice as many images as ERM's does: to compare at equal compute, give ERM an extra part as large as a batch
    (`training.extra: inputs`).
    """

    paired = True
    settings: HybridSettings

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy over both views, plus both weighted distances."""
        if batch.paired is None:
            # A batch of validation data has one view of each input.
            return MatchPenalty.parts(self, network, batch, clock).whole()
        outputs, others = network(batch.inputs), network(batch.paired)
        mean, per_domain = classification(batch, outputs.logits)
        both = 0.5 * (mean + cross_entropy(others.logits, batch.labels))
        settings, features, views = self.settings, outputs.at(self.settings.layer), others.at(self.settings.layer)
        match = match_distance(batch.grid(features), batch.mask, settings.distance)
        view = match_distance(torch.stack([features, views], 1), None, settings.distance)
        share = ramp(settings.warm_up, clock)
        total = both + share * (settings.penalty * match + settings.view_penalty * view)
        return Loss(total, {"classification": per_domain, "match": match.detach(), "view": view.detach()})

    # What `MatchPenalty` knows of its gradient does not hold of two passes.
    def parts(self, network: Network, batch: Batch, clock: Clock) -> Parts:
        """The same loss, whole."""
        return Parts(*self.loss(network, batch, clock))


SPEC = MethodSpec(
    label="MDGHybrid",
    reference="Mahajan, Tople, Sharma (2021), Domain generalization using causal matching, section 5.3; "
    "phase 1 is ours",
    settings=HybridSettings,
    build=lambda settings, network, domains: HybridPenalty(settings),
    matcher="learnt",
    search={
        "pacs": {"penalty": (0.01, 0.1, 0.5, 1.0, 5.0), "view_penalty": (0.01, 0.1, 0.5, 1.0, 5.0)},
        "chest-xray": {"penalty": (0.1, 1.0, 10.0, 50.0), "view_penalty": (0.1, 1.0, 10.0, 50.0)},
    },
    phase1=PHASE1,
    phase1_on_images=PHASE1_ON_IMAGES,
)
