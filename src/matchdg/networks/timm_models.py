"""Any network of the library timm, where that is installed."""

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import nn

from matchdg.core.errors import InputError
from matchdg.networks.images import check_images
from matchdg.networks.pretrained import IMAGENET, PretrainedSettings, Published

PREFIX = "timm/"
# What timm's networks raise for images of a size that they do not take.
_UNFIT = (RuntimeError, AssertionError, ValueError, TypeError)


def expanded(name: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A network's name and settings, where "timm/NAME" stands for the network "timm" with the model NAME.

    >>> expanded("timm/resnet18", {"dropout": 0.1})
    ('timm', {'dropout': 0.1, 'model': 'resnet18'})
    """
    return ("timm", {**values, "model": name.removeprefix(PREFIX)}) if name.startswith(PREFIX) else (name, values)


def _by_timm() -> Path:
    raise AssertionError("timm loads the weights that it has itself")


class TimmSettings(PretrainedSettings):
    """Any network of the library timm (extra [timm]), also written timm/MODEL; its pooled features represent.

    The weights "imagenet" are those that timm has for the model, whatever they were trained on: a tag in its name, as
    in resnet18.a1_in1k, says which.
    """

    published: ClassVar[Published] = Published(_by_timm, classifier="head.")

    model: str = Field(
        "mobilenetv3_small_050", description="timm's name of the model, with or without the tag of its weights"
    )

    def source(self) -> Published:
        """What timm says of the model's weights."""
        found = self._library().get_pretrained_cfg(self.model)
        if found is None:
            return self.published
        classifier = found.classifier if isinstance(found.classifier, str) else self.published.classifier
        return replace(self.published, classifier=f"{classifier}.", mean=found.mean, deviation=found.std)

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, for images [channels, height, width]."""
        check_images("timm", input_shape)
        model = self._create(input_shape, pretrained=False)
        try:
            with torch.no_grad():
                features = model.eval()(torch.zeros(1, *input_shape))
        except _UNFIT as error:
            raise self._unfit(input_shape, error) from None
        if features.dim() != 2:
            raise InputError(
                f"{PREFIX}{self.model} gives features of shape {tuple(features.shape[1:])}, expected a vector; "
                "choose a model that classifies images"
            )
        return model.train(), features.shape[1]

    def load(self, body: nn.Module, input_shape: tuple[int, ...]) -> None:
        """The weights of a file, or those that timm finds."""
        if self.weights != IMAGENET or self.weights_file is not None:
            super().load(body, input_shape)
            return
        if input_shape[0] != len(self.source().mean):
            raise InputError(
                f"the weights of {PREFIX}{self.model} are for images of 3 channels, and the inputs have "
                f"{input_shape[0]}; give images of 3 channels, or leave network.weights out"
            )
        try:
            body.load_state_dict(self._create(input_shape, pretrained=True).state_dict())
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"timm could not load the weights of {self.model} ({error}). Fetch them where there is network and "
                "name their file as network.weights"
            ) from None

    def _create(self, input_shape: tuple[int, ...], pretrained: bool) -> nn.Module:
        timm = self._library()
        if not timm.is_model(self.model):
            near = get_close_matches(self.model, timm.list_models(), n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"timm {timm.__version__} has no model {self.model!r}{hint}")
        found = timm.get_pretrained_cfg(self.model)
        # Others take images of any size, and not this option.
        size = {"img_size": input_shape[1:]} if found is not None and found.fixed_input_size else {}
        if pretrained:
            model: nn.Module = timm.create_model(
                self.model, pretrained=True, num_classes=0, in_chans=input_shape[0], **size
            )
            return model
        try:
            return timm.create_model(self.model, num_classes=0, in_chans=input_shape[0], **size)
        except _UNFIT as error:
            raise self._unfit(input_shape, error) from None

    def _unfit(self, input_shape: tuple[int, ...], error: Exception) -> InputError:
        return InputError(f"{PREFIX}{self.model} cannot be used for inputs of shape {input_shape}: {error}")

    @staticmethod
    def _library() -> Any:
        try:
            import timm
        except ImportError:
            raise InputError(
                "networks called timm/... are those of the library timm, which is not installed; install matchdg "
                "with the extra [timm] (pip install 'matchdg[timm]')"
            ) from None
        return timm
