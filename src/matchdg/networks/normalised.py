"""`Normalised`: a network that shifts and scales its inputs as those that its weights were trained on."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Normalised(nn.Module):
    """`body((inputs - mean) / deviation)`, both by channel: inputs from 0 to 1 need no treatment anywhere else.

    >>> Normalised(nn.Flatten(), (0.5,), (0.25,))(torch.ones(1, 1, 1, 2)).tolist()
    [[2.0, 2.0]]
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, body: nn.Module, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.body = body
        # Not among the weights that are saved: they follow from the settings.
        self.register_buffer("mean", torch.tensor(mean)[:, None, None], persistent=False)
        self.register_buffer("deviation", torch.tensor(deviation)[:, None, None], persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """`inputs` [N, C, H, W] to what the body makes of them."""
        return self.body((inputs - self.mean) / self.deviation)
