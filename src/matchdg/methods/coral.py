"""CORAL and C-CORAL: equal means and covariances over domains, or over domains within each class."""

from pydantic import Field
from torch import Tensor

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, MethodSpec, with_penalty
from matchdg.methods.batch import Batch
from matchdg.methods.groups import Groups
from matchdg.networks import Layer, Network


def coral(features: Tensor, groups: Groups) -> Tensor:
    r"""Mean over pairs of groups of $\frac{1}{D}\|\mu_a - \mu_b\|^2 + \frac{1}{D^2}\|C_a - C_b\|_F^2$.

    No D x D covariance is formed: $\langle C_a, C_b \rangle = \|X_a X_b^T\|_F^2 / ((n_a - 1)(n_b - 1))$ for
    centred $X$, so all groups come out of one V x V Gram matrix. A group of one has no covariance: zero.

    `features[V, D]`.
    """
    dimension = features.shape[1]
    means = groups.averages.T @ features
    centred = features - groups.members @ means
    gram = (centred @ centred.T).square()
    spread = groups.members / (groups.counts - 1).clamp(min=1)
    covariance = spread.T @ gram @ spread
    first = groups.mean_over_pairs(means @ means.T) / dimension
    return first + groups.mean_over_pairs(covariance) / dimension**2


class CoralSettings(Settings):
    """The CORAL penalty."""

    penalty: float = Field(1.0, ge=0, description="lambda, the weight of the CORAL term")
    layer: Layer = Field("representation", description="the layer whose moments are compared")


class Coral(Method):
    r"""Minimise $\sum_d L_d + \lambda \operatorname{CORAL}$, per class where `conditional`."""

    def __init__(self, settings: CoralSettings, conditional: bool) -> None:
        super().__init__()
        self.settings = settings
        self.conditional = conditional

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy plus the weighted CORAL term."""
        outputs = network(batch.inputs)
        features = outputs.at(self.settings.layer)
        penalty = coral(features, Groups.of(batch, self.conditional, features.dtype))
        return with_penalty(batch, outputs.logits, "coral", penalty, self.settings.penalty)


_SEARCH = {"slab": {"penalty": (0.1, 1.0, 10.0)}}

SPEC = MethodSpec(
    label="CORAL",
    reference="Sun and Saenko (2016), Deep CORAL: correlation alignment for deep domain adaptation",
    settings=CoralSettings,
    build=lambda settings, network, domains: Coral(settings, conditional=False),
    search=_SEARCH,
)

CONDITIONAL_SPEC = MethodSpec(
    label="C-CORAL",
    reference="CORAL within each class; MatchDG, appendix A.1",
    settings=CoralSettings,
    build=lambda settings, network, domains: Coral(settings, conditional=True),
    search=_SEARCH,
)
