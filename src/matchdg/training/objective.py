"""`Objective`: the network and the method as one module, so that one wrapper distributes both."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from matchdg.methods import Batch, Clock, Loss, Method
from matchdg.networks import Network, Outputs


class Objective(nn.Module):
    """Calls the method on the network. Its forward is what `Fabric` wraps: precision and gradient averaging."""

    def __init__(self, network: Network, method: Method) -> None:
        super().__init__()
        self.network = network
        self.method = method

    def forward(self, batch: Batch, clock: Clock) -> Loss:
        """The total loss and its named terms; an extra part adds its cross-entropy in the network's turn."""
        if batch.extra is None or self.method.turn(clock.step) != "network":
            return self.method.loss(self.network, batch, clock)
        shared = _SharedForward(self.network, batch)
        loss = self.method.loss(cast(Network, shared), batch, clock)
        extra = cross_entropy(shared.extra_logits(), batch.extra[1])
        return Loss(loss.total + extra, {**loss.terms, "extra": extra.detach()})

    def plain_loss(self, extra: bool) -> Callable[[Network, Batch, Clock], Loss]:
        """What `forward` does, without looking for an extra part where there is none: the method's loss itself."""
        return (lambda network, batch, clock: self.forward(batch, clock)) if extra else self.method.loss

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Who is updated in whose turn: `network` always, `adversary` where the method has one."""
        adversary = [] if self.method.adversary is None else list(self.method.adversary.parameters())
        theirs = {id(parameter) for parameter in adversary}
        groups = {"network": [p for p in self.parameters() if id(p) not in theirs]}
        return groups | ({"adversary": adversary} if adversary else {})


class _SharedForward:
    """The network as the method sees it, that takes the extra part along when it is called on the batch's inputs.

    One pass over both parts costs a GPU little more than one over the rows alone, and BatchNorm sees the batch
    whole. A method that never calls the network on just these inputs, or with other weights alone, as after an inner
    step, gets a pass of its own for the extra part.
    """

    def __init__(self, network: Network, batch: Batch) -> None:
        self._network, self._batch, self._weight = network, batch, network.classifier.weight
        self._extra: Tensor | None = None

    def __call__(self, inputs: Tensor) -> Outputs:
        assert self._batch.extra is not None
        other = inputs is not self._batch.inputs or self._network.classifier.weight is not self._weight
        if other or self._extra is not None:
            return cast(Outputs, self._network(inputs))
        outputs = self._network(torch.cat([inputs, self._batch.extra[0]]))
        self._extra = outputs.logits[len(inputs) :]
        return Outputs(*(part[: len(inputs)] for part in outputs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def extra_logits(self) -> Tensor:
        """The logits of the extra part."""
        assert self._batch.extra is not None
        return self._network(self._batch.extra[0]).logits if self._extra is None else self._extra
