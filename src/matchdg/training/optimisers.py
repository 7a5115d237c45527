"""Optimisers from settings."""

import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer

from matchdg.training.settings import TrainingSettings


def build_optimizer(parameters: list[nn.Parameter], settings: TrainingSettings) -> Optimizer:
    """The optimiser of one parameter group, as one fused kernel where the device has one."""
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
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


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of every group."""
    for group in optimizer.param_groups:
        group["lr"] = torch.tensor(rate) if isinstance(group["lr"], torch.Tensor) else rate
