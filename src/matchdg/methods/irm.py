"""IRM: a representation on which one classifier is optimal in every domain."""

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import one_hot

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, MethodSpec, with_penalty
from matchdg.methods.batch import Batch
from matchdg.networks import Network


def irm_penalty(logits: Tensor, batch: Batch) -> Tensor:
    r"""IRMv1: mean over domains of $\left(\nabla_{w} L_d(w \cdot f)\big|_{w=1}\right)^2$.

    The gradient by the scalar w has a closed form for cross-entropy, $\overline{\sum_c (p_c - y_c) z_c}$ over the
    inputs of a domain, so no second backward pass is needed. `logits[V, C]`. Arjovsky et al. (2019), eq. IRMv1.
    """
    errors = logits.softmax(1) - one_hot(batch.labels, logits.shape[1])
    slopes = batch.domain_means((errors * logits).sum(1))
    return torch.nanmean(slopes.square()) if batch.cells is not None else slopes.square().mean()


class IrmSettings(Settings):
    """The IRM penalty and the epoch it starts from."""

    penalty: float = Field(1.0, ge=0, description="lambda, the weight of the IRM penalty")
    start_epoch: int = Field(0, ge=0, description="the penalty is off before this epoch (the paper's threshold)")


class Irm(Method):
    r"""Minimise $\sum_d L_d + \lambda \sum_d \|\nabla_w L_d\|^2$."""

    def __init__(self, settings: IrmSettings) -> None:
        super().__init__()
        self.settings = settings

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy plus, from `start_epoch` on, the weighted penalty."""
        logits = network(batch.inputs).logits
        weight = self.settings.penalty if clock.epoch >= self.settings.start_epoch else 0.0
        return with_penalty(batch, logits, "irm", irm_penalty(logits, batch), weight)


_GRID = {"penalty": (0.05, 0.1, 0.5, 1.0, 5.0), "start_epoch": (0, 5, 15, 20)}

SPEC = MethodSpec(
    label="IRM",
    reference="Arjovsky et al. (2019), Invariant risk minimization",
    settings=IrmSettings,
    build=lambda settings, network, domains: Irm(settings),
    # The paper has no IRM on the slab data; its rotated-MNIST grid is taken there.
    search={
        "slab": _GRID,
        "rotated-mnist": _GRID,
        "chest-xray": {"penalty": (0.1, 1.0, 10.0, 50.0), "start_epoch": (0, 5, 15, 20)},
    },
)
