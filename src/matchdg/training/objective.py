"""`Objective`: the network and the method as one module, so that one wrapper distributes both."""

from torch import Tensor, nn

from matchdg.methods import Batch, Clock, Method, Term
from matchdg.networks import Network


class Objective(nn.Module):
    """Calls the method on the network. Its forward is what `Fabric` wraps: precision and gradient averaging."""

    def __init__(self, network: Network, method: Method) -> None:
        super().__init__()
        self.network = network
        self.method = method

    def forward(self, batch: Batch, clock: Clock) -> tuple[Tensor, dict[str, Term]]:
        """The total loss and its named terms."""
        return self.method.loss(self.network, batch, clock)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Who is updated in whose turn: `network` always, `adversary` where the method has one."""
        adversary = [] if self.method.adversary is None else list(self.method.adversary.parameters())
        theirs = {id(parameter) for parameter in adversary}
        groups = {"network": [p for p in self.parameters() if id(p) not in theirs]}
        return groups | ({"adversary": adversary} if adversary else {})
