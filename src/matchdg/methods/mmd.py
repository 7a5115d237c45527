"""MMD and C-MMD: equal distributions of the representation over domains, or over domains within each class."""

from pydantic import Field
from torch import Tensor

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, MethodSpec, with_penalty
from matchdg.methods.batch import Batch
from matchdg.methods.groups import Groups
from matchdg.networks import Layer, Network

# The bandwidths of DomainBed's implementation, which the paper used.
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def mmd(features: Tensor, groups: Groups) -> Tensor:
    r"""Mean over pairs of groups of $\overline{k(x,x')} + \overline{k(y,y')} - 2\overline{k(x,y)}$.

    $k(x,y) = \sum_\gamma \exp(-\gamma \|x - y\|^2)$; the bars are means over a group or two. All groups come out
    of one kernel matrix. `features[V, D]`.
    """
    squares = features.square().sum(1)
    distances = (squares[:, None] + squares[None, :] - 2 * features @ features.T).clamp(min=0)
    kernel = sum((distances * -gamma).exp() for gamma in GAMMAS[1:]) + (distances * -GAMMAS[0]).exp()
    averages = groups.averages
    return groups.mean_over_pairs(averages.T @ kernel @ averages)


class MmdSettings(Settings):
    """The MMD penalty."""

    penalty: float = Field(1.0, ge=0, description="lambda, the weight of the MMD term")
    layer: Layer = Field("representation", description="the layer whose distributions are compared")


class Mmd(Method):
    r"""Minimise $\sum_d L_d + \lambda \operatorname{MMD}^2$, per class where `conditional`."""

    def __init__(self, settings: MmdSettings, conditional: bool) -> None:
        super().__init__()
        self.settings = settings
        self.conditional = conditional

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy plus the weighted MMD."""
        outputs = network(batch.inputs)
        features = outputs.at(self.settings.layer)
        penalty = mmd(features, Groups.of(batch, self.conditional, features.dtype))
        return with_penalty(batch, outputs.logits, "mmd", penalty, self.settings.penalty)


_SEARCH = {"slab": {"penalty": (0.1, 1.0, 10.0)}}

SPEC = MethodSpec(
    label="MMD",
    reference="Li et al. (2018), Domain generalization with adversarial feature learning",
    settings=MmdSettings,
    build=lambda settings, network, domains: Mmd(settings, conditional=False),
    search=_SEARCH,
)

CONDITIONAL_SPEC = MethodSpec(
    label="C-MMD",
    reference="MMD within each class; MatchDG, appendix A.1",
    settings=MmdSettings,
    build=lambda settings, network, domains: Mmd(settings, conditional=True),
    search=_SEARCH,
)
