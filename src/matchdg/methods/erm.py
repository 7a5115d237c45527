"""ERM: empirical risk minimisation over all source domains, without any penalty."""

from matchdg.core.settings import Settings
from matchdg.methods.base import Clock, Loss, Method, MethodSpec, classification
from matchdg.methods.batch import Batch
from matchdg.networks import Network


class ErmSettings(Settings):
    """ERM has no settings of its own."""


class Erm(Method):
    r"""Minimise $\sum_d L_d(h(\Phi(X)), Y)$, the first term of the paper's eq. 3, as a mean over the batch."""

    def loss(self, network: Network, batch: Batch, clock: Clock) -> Loss:
        """Cross-entropy alone."""
        mean, per_domain = classification(batch, network(batch.inputs).logits)
        return Loss(mean, {"classification": per_domain})


SPEC = MethodSpec(
    label="ERM",
    reference="Vapnik (1992), Principles of risk minimization",
    settings=ErmSettings,
    build=lambda settings, network, domains: Erm(),
)
