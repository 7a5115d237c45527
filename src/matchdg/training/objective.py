"""`Objective`: the network and the method as one module, so that one wrapper distributes both."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from matchdg.methods import Batch, Clock, Loss, Method, Parts
from matchdg.networks import Network, Outputs


class Objective(nn.Module):
    """Calls the method on the network. Its forward is what `Fabric` wraps: precision and gradient averaging."""

    def __init__(self, network: Network, method: Method) -> None:
        super().__init__()
        self.network = network
        self.method = method

    def forward(self, batch: Batch, clock: Clock) -> Loss:
        """The total loss and its named terms; an extra part adds its cross-entropy in the network's turn.

        Mixed precision is for the network's passes alone: it would round what a method makes of their outputs,
        and small penalties with it.
        """
        device = batch.labels.device.type
        if not torch.is_autocast_enabled(device):
            return self._loss(batch, clock)
        with self.network.mixed(torch.get_autocast_dtype(device)), torch.autocast(device, enabled=False):
            return self._loss(batch, clock)

    def _loss(self, batch: Batch, clock: Clock) -> Loss:
        with_extra = batch.extra is not None and self.method.turn(clock.step) == "network"
        if not with_extra and batch.part is None:
            return self.method.loss(self.network, batch, clock)
        shared = _SharedForward(self.network, batch, with_extra)
        loss = self.method.loss(cast(Network, shared), batch, clock)
        if not with_extra:
            return loss
        extra = shared.extra_loss()
        return Loss(loss.total + extra, {**loss.terms, "extra": extra.detach()})

    def plain_parts(self, extra: bool) -> Callable[[Network, Batch, Clock], Parts]:
        """What `forward` does, without looking for an extra part where there is none: the method's loss itself."""
        return (lambda network, batch, clock: Parts(*self.forward(batch, clock))) if extra else self.method.parts

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Who is updated in whose turn: `network` always, `adversary` where the method has one."""
        adversary = [] if self.method.adversary is None else list(self.method.adversary.parameters())
        theirs = {id(parameter) for parameter in adversary}
        groups = {"network": [p for p in self.parameters() if id(p) not in theirs]}
        return groups | ({"adversary": adversary} if adversary else {})


class _SharedForward:
    """The network as the method sees it, where a batch has an extra part or is shared by processes.

    It takes the extra part along when it is called on the batch's inputs, and gives the outputs for the whole batch.

    One pass over both parts costs a GPU little more than one over the rows alone, and BatchNorm sees the batch
    whole. A method that never calls the network on just these inputs, or with other weights alone, as after an inner
    step, gets a pass of its own for the extra part.
    """

    def __init__(self, network: Network, batch: Batch, with_extra: bool) -> None:
        self._network, self._batch, self._weight = network, batch, network.classifier.weight
        self._waiting = batch.extra if with_extra else None
        self._extra: Tensor | None = None

    def __call__(self, inputs: Tensor) -> Outputs:
        if self._network.classifier.weight is not self._weight:
            return cast(Outputs, self._network(inputs))
        if inputs is self._batch.inputs:
            return self._whole(self._own(inputs))
        outputs = cast(Outputs, self._network(inputs))
        return self._whole(outputs) if inputs is self._batch.paired else outputs

    def _own(self, inputs: Tensor) -> Outputs:
        """The outputs for this process's inputs; of the first pass, the extra part's logits are kept."""
        if self._waiting is None:
            return cast(Outputs, self._network(inputs))
        outputs = self._network(torch.cat([inputs, self._waiting[0]]))
        self._extra, self._waiting = outputs.logits[len(inputs) :], None
        return Outputs(*(part[: len(inputs)] for part in outputs))

    def _whole(self, outputs: Outputs) -> Outputs:
        """The outputs for all processes' inputs. A layer that is another one's too is sent once."""
        if self._batch.part is None:
            return outputs
        places, count = self._batch.part.places, len(self._batch.labels)
        spread = {id(layer): gather_outputs(layer, places, count) for layer in outputs}
        return Outputs(*(spread[id(layer)] for layer in outputs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def extra_loss(self) -> Tensor:
        """The cross-entropy of the extra part, weighed so that its mean over processes is that over all inputs."""
        assert self._batch.extra is not None
        inputs, labels = self._batch.extra
        loss = cross_entropy(self._network(inputs).logits if self._extra is None else self._extra, labels)
        return loss if self._batch.part is None else loss * self._batch.part.share


def gather_outputs(own: Tensor, places: Tensor, count: int) -> Tensor:
    """The rows [V, D] that all processes have together, of which `own` [E, D] are this one's, at `places` [E].

    Gradients go back to the process that a row is from, as the sum of those of all processes. Each computes the same
    loss of the same rows, and their gradients by a parameter are averaged: so it is the gradient of that loss.
    """
    return cast(Tensor, _Sum.apply(own.new_zeros(count, *own.shape[1:]).index_copy(0, places, own)))


class _Sum(torch.autograd.Function):
    """The sum over processes, whose gradient is that of all their losses together."""

    @staticmethod
    def forward(ctx: Any, own: Tensor) -> Tensor:
        total = own.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (gradient,) = gradients
        total = gradient.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total)
        return total
