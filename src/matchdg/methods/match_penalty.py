"""ERM plus the match penalty (the paper's eq. 3): what RandMatch and PerfMatch share."""

import torch
from pydantic import Field

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, Parts, Product, classification, ramp
from matchdg.methods.batch import Batch
from matchdg.methods.distance import Distance, match_distance, match_pull
from matchdg.networks import Layer, Network


class MatchSettings(Settings):
    """The match penalty: how strong, from when on, which distance, of which layer."""

    penalty: float = Field(1.0, ge=0, description="lambda, the weight of the match distance")
    distance: Distance = Field("squared-l2", description="distance between matched representations")
    layer: Layer = Field("logits", description="which layer is the representation that is matched")
    warm_up: float = Field(
        0.0, ge=0, le=1, description="share of the epochs over which the weight rises linearly to lambda"
    )


class MatchPenalty(Method):
    r"""Minimise $\sum_d L_d + \lambda \sum_{\Omega(j,k)=1} \operatorname{dist}(\Phi(x_j), \Phi(x_k))$."""

    def __init__(self, settings: MatchSettings) -> None:
        super().__init__()
        self.settings = settings

    def weight(self, clock: Clock) -> float:
        """Lambda, or the part of it that the warm-up has reached."""
        return self.settings.penalty * ramp(self.settings.warm_up, clock)

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy plus the weighted match distance."""
        return self.parts(network, batch, clock).whole()

    def parts(self, network: Network, batch: Batch, clock: Clock) -> Parts:
        """The same; the gradient of squared l2 is known."""
        outputs = network(batch.inputs)
        mean, per_domain = classification(batch, outputs.logits)
        features = outputs.at(self.settings.layer)
        distance, weight = self.settings.distance, self.weight(clock)
        known = per_domain.logits if features is outputs.logits else features.detach()
        pull = match_pull(batch, features, known, distance, weight)
        if pull is not None:
            term = Product(pull.values, pull.gradient, pull.factor / weight)
            return Parts(mean, {"classification": per_domain, "match": term}, pull)
        penalty = match_distance(batch.grid(features), batch.mask, distance)
        value = torch.add(mean, penalty, alpha=weight)
        return Parts(value, {"classification": per_domain, "match": penalty.detach()})


# The grids of the paper's tables 7 and 8.
SEARCH: dict[str, dict[str, tuple[float, ...]]] = {
    "slab": {"penalty": (0.1, 1.0, 10.0)},
    "rotated-mnist": {"penalty": (0.1, 1.0)},
    "pacs": {"penalty": (0.01, 0.1, 0.5, 1.0, 5.0)},
    "chest-xray": {"penalty": (0.1, 1.0, 10.0, 50.0)},
}
