"""Optimisers from settings."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from matchdg.training.settings import TrainingSettings


def build_optimizer(
    parameters: list[nn.Parameter], settings: TrainingSettings, backbone: Iterable[nn.Parameter] = ()
) -> Optimizer:
    """The optimiser of `parameters`, as one fused kernel where the device has one.

    Those of the `backbone` have a group of their own where their learning rate is another one.
    """
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    ordered = [_plain_order(parameter) for parameter in parameters]
    optimizer = _build(_groups(parameters, ordered, settings, backbone), settings, fused)
    aliases = [(own, alias) for own, alias in zip(parameters, ordered, strict=True) if own is not alias]
    if aliases:
        optimizer.register_step_pre_hook(lambda *_: _lend_gradients(aliases))
        optimizer.register_step_post_hook(lambda *_: _forget_gradients(aliases))
    return optimizer


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of every group: `rate`, times the factor of a group that has one."""
    for group in optimizer.param_groups:
        own = rate * group.get("factor", 1.0)
        group["lr"] = torch.tensor(own) if isinstance(group["lr"], torch.Tensor) else own


def _groups(
    parameters: list[nn.Parameter],
    ordered: list[nn.Parameter],
    settings: TrainingSettings,
    backbone: Iterable[nn.Parameter],
) -> list[Any]:
    """What the optimiser is given of `ordered`, which stand for `parameters`: all of them alike, or in two groups."""
    factor = settings.backbone_rate
    slow = set() if factor == 1.0 else {id(parameter) for parameter in backbone}
    own: list[nn.Parameter] = []
    theirs: list[nn.Parameter] = []
    for parameter, given in zip(parameters, ordered, strict=True):
        (theirs if id(parameter) in slow else own).append(given)
    if not theirs:
        return ordered
    rate = settings.learning_rate
    groups = [{"params": own, "lr": rate, "factor": 1.0}, {"params": theirs, "lr": rate * factor, "factor": factor}]
    return [group for group in groups if group["params"]]


def _build(parameters: list[Any], settings: TrainingSettings, fused: bool) -> Optimizer:
    if settings.optimizer == "adam":
        return Adam(
            parameters,
            lr=settings.learning_rate,
            betas=(settings.momentum, 0.999),
            weight_decay=settings.weight_decay,
            fused=fused,
        )
    return SGD(
        parameters,
        lr=settings.learning_rate,
        momentum=settings.momentum,
        nesterov=settings.momentum > 0,
        weight_decay=settings.weight_decay,
        fused=fused,
    )


def _plain_order(parameter: nn.Parameter) -> nn.Parameter:
    """On a CPU, the same memory as a contiguous tensor, if that is an order of its dimensions; else the parameter.

    The fused kernels of CPUs copy what is not contiguous, as weights in channels-last order are, there and back:
    more work than the update. Those of GPUs do not, and mixed precision looks at gradients before the step there.
    """
    if parameter.device.type != "cpu" or parameter.is_contiguous():
        return parameter
    values = parameter.detach()
    reordered = _reordered(values)
    return nn.Parameter(reordered) if reordered.is_contiguous() else parameter


def _reordered(values: Tensor) -> Tensor:
    return values.permute(0, 2, 3, 1) if values.dim() == 4 else values


def _lend_gradients(aliases: list[tuple[nn.Parameter, nn.Parameter]]) -> None:
    for own, alias in aliases:
        alias.grad = None if own.grad is None else _reordered(own.grad)


def _forget_gradients(aliases: list[tuple[nn.Parameter, nn.Parameter]]) -> None:
    """Let go of their memory before the next backward pass."""
    for _, alias in aliases:
        alias.grad = None
