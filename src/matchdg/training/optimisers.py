"""Optimisers from settings."""

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from matchdg.training.settings import TrainingSettings


def build_optimizer(parameters: list[nn.Parameter], settings: TrainingSettings) -> Optimizer:
    """The optimiser of one parameter group, as one fused kernel where the device has one."""
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    ordered = [_plain_order(parameter) for parameter in parameters]
    optimizer = _build(ordered, settings, fused)
    aliases = [(own, alias) for own, alias in zip(parameters, ordered, strict=True) if own is not alias]
    if aliases:
        optimizer.register_step_pre_hook(lambda *_: _lend_gradients(aliases))
        optimizer.register_step_post_hook(lambda *_: _forget_gradients(aliases))
    return optimizer


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of every group."""
    for group in optimizer.param_groups:
        group["lr"] = torch.tensor(rate) if isinstance(group["lr"], torch.Tensor) else rate


def _build(parameters: list[nn.Parameter], settings: TrainingSettings, fused: bool) -> Optimizer:
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
