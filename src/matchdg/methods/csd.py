"""CSD: the last layer is a common part that is kept and a low-rank domain-specific part that is thrown away."""

import torch
from pydantic import Field
from torch import Tensor, nn

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, MethodSpec, classification
from matchdg.methods.batch import Batch
from matchdg.networks import Network


def orthonormality(common: Tensor, specific: Tensor) -> Tensor:
    r"""Mean square of $\hat W_c \hat W_c^T - I_{k+1}$ over classes c; $\hat W_c$ is the common row and k specific ones.

    `common[C, H]`, `specific[k, C, H]`.
    """
    stacked = torch.cat([common[None], specific]).transpose(0, 1)
    products = stacked @ stacked.transpose(1, 2)
    return (products - torch.eye(products.shape[-1], device=products.device)).square().mean()


class CsdSettings(Settings):
    """The decomposition of the last layer."""

    rank: int = Field(1, ge=1, description="k, the rank of the domain-specific part")
    specific_weight: float = Field(1.0, ge=0, description="weight of the loss of the domain-specific classifiers")
    orthogonality: float = Field(1.0, ge=0, description="weight of the orthonormality of common and specific parts")


class Csd(Method):
    r"""$W_d = W_c + \sum_k \gamma_{dk} W_k$: minimise $L(W_c) + \mu L(W_d) + \kappa R(W)$; predict with $W_c$.

    $W_c$ is the network's own last layer, so prediction needs nothing of the method. Works on any network,
    because every one ends in a linear layer on `Outputs.hidden`.
    """

    def __init__(self, settings: CsdSettings, network: Network, domains: int) -> None:
        super().__init__()
        self.settings = settings
        shape = (settings.rank, network.classes, network.classifier.in_features)
        self.specific = nn.Parameter(torch.randn(shape) * shape[2] ** -0.5)
        self.coefficients = nn.Parameter(torch.randn(domains, settings.rank))

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """The common classifier's loss, the specific ones', and the orthonormality."""
        outputs = network(batch.inputs)
        parts = torch.einsum("vh,kch->vkc", outputs.hidden, self.specific)
        offsets = torch.einsum("vk,vkc->vc", self.coefficients[batch.domains], parts)
        mean, per_domain = classification(batch, outputs.logits)
        specific, _ = classification(batch, outputs.logits + offsets)
        orthogonal = orthonormality(network.classifier.weight, self.specific)
        total = mean + self.settings.specific_weight * specific + self.settings.orthogonality * orthogonal
        return Loss(
            total, {"classification": per_domain, "specific": specific.detach(), "orthogonality": orthogonal.detach()}
        )


# The paper does not say which settings CSD was run with; these grids are ours.
_GRID = {"specific_weight": (0.1, 1.0, 10.0), "orthogonality": (0.1, 1.0)}

SPEC = MethodSpec(
    label="CSD",
    reference="Piratla et al. (2020), Efficient domain generalization via common-specific low-rank decomposition",
    settings=CsdSettings,
    build=Csd,
    search={"slab": _GRID, "rotated-mnist": _GRID, "chest-xray": _GRID},
)
