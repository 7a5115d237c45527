"""A head on the features of a network that is not trained: they are computed once, and a run takes seconds."""

from collections.abc import Mapping
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator
from torch import nn

from matchdg.core.errors import InputError
from matchdg.core.families import choose
from matchdg.core.settings import Settings
from matchdg.networks.base import Network
from matchdg.networks.pretrained import weights_path


class FrozenSettings(Settings):
    """A small network on the representation of a `backbone` with weights from elsewhere, which stay as they are.

    Features of all inputs are computed once, in `eval()` mode, and kept in the user's cache; what trains sees these
    alone. Where training images are augmented, so are these: of each, the features of `views` random views are kept
    too, and each epoch draws one of them or of the image itself.
    """

    backbone: dict[str, Any] = Field(
        {"name": "resnet18"}, validate_default=True, description="the network that gives the features"
    )
    weights_file: Path | None = Field(
        None, exclude=True, description="the file of the backbone's weights, where the backbone names them by content"
    )
    hidden: tuple[int, ...] = Field(
        (256,), description="units of the layers, each with a ReLU, that lead to the representation; none: the features"
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="part of the representation that is dropped in training")
    views: int = Field(4, ge=0, description="random views of each training image whose features are kept; 0: none")
    standardise: bool = Field(True, description="scale features by their mean and spread over the source domains")

    @model_validator(mode="before")
    @classmethod
    def _file_apart(cls, values: Any) -> Any:
        """Remember where the backbone's weights are; what they are is all that its settings keep."""
        backbone = values.get("backbone") if isinstance(values, Mapping) else None
        file = weights_path(backbone) if isinstance(backbone, Mapping) else None
        return values if file is None else {**values, "weights_file": file}

    @field_validator("backbone", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> dict[str, Any]:
        """Every default written out, so that a run's name says what the features are."""
        from matchdg.networks import FLAT_NETWORKS, NETWORKS, expanded

        values = {"name": value} if isinstance(value, str) else dict(value)
        name = values.pop("name", None)
        if not isinstance(name, str) or name in FLAT_NETWORKS:
            raise ValueError("expected a network on images, by name or as a mapping with a 'name'")
        name, values = expanded(name, values)
        try:
            return {"name": name, **choose("network", name, NETWORKS).parse(values, "backbone").dump()}
        except InputError as error:
            raise ValueError(str(error)) from None

    @field_validator("hidden")
    @classmethod
    def _positive(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(units < 1 for units in value):
            raise ValueError("expected numbers of units from 1 up")
        return value

    def build_backbone(self, input_shape: tuple[int, ...]) -> Network:
        """The network that gives the features; its last layer is of no use here."""
        from matchdg.networks import NETWORKS

        values = dict(self.backbone)
        if self.weights_file is not None:
            values["weights_file"] = self.weights_file
        return NETWORKS[values.pop("name")].parse(values, "backbone").build(input_shape, 2).eval()

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for features of `input_shape`."""
        sizes = (prod(input_shape), *self.hidden)
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        neck = nn.Dropout(self.dropout) if self.dropout else nn.Identity()
        return Network(nn.Sequential(*layers), neck, nn.Linear(sizes[-1], classes), sizes[-1])
