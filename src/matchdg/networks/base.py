"""`Network`: a featurizer, whatever lies between, and a last linear layer; the same shape for every method."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

Layer = Literal["representation", "logits"]


class Outputs(NamedTuple):
    """What a network says of a batch: `representation` [N, D], the last layer's `hidden` input, `logits` [N, C]."""

    representation: Tensor
    hidden: Tensor
    logits: Tensor

    def at(self, layer: Layer) -> Tensor:
        """The layer that a penalty is put on."""
        return self.representation if layer == "representation" else self.logits


class Network(nn.Module):
    """`featurizer` gives the representation, `neck` leads to the last layer's input, `classifier` is linear."""

    def __init__(self, featurizer: nn.Module, neck: nn.Module, classifier: nn.Linear, features: int) -> None:
        super().__init__()
        self.featurizer = featurizer
        self.neck = neck
        self.classifier = classifier
        self.features = features
        self._mixed: torch.dtype | None = None
        self._still: list[nn.Module] = []

    @property
    def classes(self) -> int:
        """How many classes the logits tell apart."""
        return self.classifier.out_features

    def size(self, layer: Layer) -> int:
        """D of `Outputs.at(layer)`."""
        return self.features if layer == "representation" else self.classes

    def forward(self, inputs: Tensor) -> Outputs:
        """`inputs` [N, …] to `Outputs`."""
        if self._mixed is None:
            representation = self.featurizer(inputs)
            hidden = self.neck(representation)
            return Outputs(representation, hidden, self.classifier(hidden))
        with torch.autocast(inputs.device.type, dtype=self._mixed):
            rounded = self.featurizer(inputs)
            last = self.neck(rounded)
        representation = rounded.float()
        hidden = representation if last is rounded else last.float()
        return Outputs(representation, hidden, self.classifier(hidden))

    def freeze(self) -> None:
        """Keep the featurizer as it is: no gradient reaches its parameters, and in training it is in `eval()` mode.

        A penalty on the representation has a gradient by it all the same, which then ends there.
        """
        self.featurizer.requires_grad_(False)
        self.featurizer.register_forward_hook(_with_gradient)
        self.keep_still([self.featurizer])

    def keep_still(self, modules: list[nn.Module]) -> None:
        """Have `modules`, parts of this network, in `eval()` mode in training too."""
        self._still += modules
        self.train(self.training)

    def train(self, mode: bool = True) -> Self:
        """As of every module, but for the parts that are kept still."""
        super().train(mode)
        for module in self._still:
            module.eval()
        return self

    @contextmanager
    def mixed(self, dtype: torch.dtype) -> Iterator[None]:
        """Inside, passes compute in `dtype` where that is safe, but for the last layer; all outputs are float32."""
        self._mixed = dtype
        try:
            yield
        finally:
            self._mixed = None


def _with_gradient(module: nn.Module, inputs: Any, representation: Tensor) -> None:
    if torch.is_grad_enabled() and not representation.requires_grad:
        representation.requires_grad_()
