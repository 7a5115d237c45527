"""What networks with weights from elsewhere have in common: their settings, and how the weights are put in."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from matchdg.core.errors import InputError
from matchdg.core.settings import LATE, Settings
from matchdg.networks.base import Network
from matchdg.networks.normalised import Normalised
from matchdg.networks.weights_file import content_digest, read_weights

IMAGENET: Final = "imagenet"
IMAGENET_MEAN: Final = (0.485, 0.456, 0.406)
IMAGENET_DEVIATION: Final = (0.229, 0.224, 0.225)
_DIGEST: Final = "sha256:"
_SHOWN: Final = 3


@dataclass(frozen=True)
class Published:
    """A network's ImageNet weights: `fetch` gives the file, whose SHA-256 starts with `digest` where that is known.

    `classifier` is what the names of the last layer's weights start with, `rename` makes this library's names of the
    file's, and `mean` and `deviation` are those of the inputs that the weights were trained on, by channel.
    """

    fetch: Callable[[], Path]
    classifier: str
    digest: str | None = None
    rename: Callable[[str], str] = str
    mean: tuple[float, ...] = IMAGENET_MEAN
    deviation: tuple[float, ...] = IMAGENET_DEVIATION


class PretrainedSettings(Settings):
    """Weights from elsewhere, and what fine-tuning them asks for."""

    published: ClassVar[Published]

    weights: str | None = Field(
        None,
        description="what training starts from: random weights (null); imagenet, downloaded or from an installed "
        "package; or the path of a .pth, .pt or .safetensors file, whose content, not place, is part of the run's "
        "name. Inputs of 3 channels are then normalised as those that the published weights were trained on; the "
        "last layer is always new",
        json_schema_extra=LATE,
    )
    weights_file: Path | None = Field(
        None,
        exclude=True,
        description="the file of the weights, where these are given as imagenet or by their digest",
    )
    dropout: float = Field(
        0.0, ge=0, lt=1, description="share of the last layer's inputs that are dropped", json_schema_extra=LATE
    )
    freeze_batch_norm: Literal["no", "statistics", "all"] = Field(
        "no",
        description="what of BatchNorm stays as it is in training: nothing; the running statistics, which it then "
        "normalises by as in evaluation; or its scale and shift as well",
        json_schema_extra=LATE,
    )

    @model_validator(mode="before")
    @classmethod
    def _by_content(cls, values: Any) -> Any:
        """Put in place of a path what its file holds: the published weights, or others, by digest."""
        if not isinstance(values, Mapping):
            return values
        file, weights = weights_path(values), values.get("weights")
        if file is None:
            return values
        if "weights_file" in values and weights is None:
            raise ValueError("weights_file is the place of weights that are named too: imagenet, or a digest")
        path = Path(file).expanduser()
        content = cls.content(path)
        if values.get("weights_file") is not None and weights != content:
            raise InputError(f"{path} holds {content}, not the weights {weights} that the settings name")
        return {**values, "weights": content, "weights_file": path}

    @classmethod
    def content(cls, file: Path) -> str:
        """What `weights` is for `file`: "imagenet" if these are the published weights, else its digest."""
        digest, known = content_digest(file), cls.published.digest
        return IMAGENET if known is not None and digest.startswith(known) else _DIGEST + digest[:16]

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, with random weights, and the number of its features."""
        raise NotImplementedError

    def source(self) -> Published:
        """The published weights of this very network."""
        return self.published

    def load(self, body: nn.Module, input_shape: tuple[int, ...]) -> None:
        """Put the weights that these settings name into `body`."""
        put_weights(body, self._file(), self.source())

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width], with the weights that it starts from."""
        network = self.bare(input_shape, classes)
        if self.weights is not None:
            inner = network.featurizer
            self.load(inner.body if isinstance(inner, Normalised) else inner, input_shape)
        return network

    def bare(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The same network with random weights, for others that are loaded into it."""
        body, features = self.body(input_shape)
        if self.weights is not None:
            source = self.source()
            if input_shape[0] == len(source.mean):
                body = Normalised(body, source.mean, source.deviation)
        neck = nn.Dropout(self.dropout) if self.dropout else nn.Identity()
        network = Network(body, neck, nn.Linear(features, classes), features)
        if self.freeze_batch_norm != "no":
            layers = [layer for layer in network.modules() if isinstance(layer, _BatchNorm)]
            network.keep_still([*layers])
            for layer in layers if self.freeze_batch_norm == "all" else []:
                layer.requires_grad_(False)
        return network

    def _file(self) -> Path:
        if self.weights_file is None:
            if self.weights == IMAGENET:
                return self.source().fetch()
            raise InputError(
                f"this run starts from weights with the digest {self.weights}; name their file as network.weights_file"
            )
        if self.content(self.weights_file) != self.weights:
            raise InputError(f"{self.weights_file} has changed since the settings were read; start again")
        return self.weights_file


def bare_network(settings: Any, input_shape: tuple[int, ...], classes: int) -> Network:
    """The network of any settings, without reading weights from elsewhere: others are loaded into it."""
    make = settings.bare if isinstance(settings, PretrainedSettings) else settings.build
    return make(input_shape, classes)


def put_weights(body: nn.Module, file: Path, published: Published) -> None:
    """Load all of `file` but its last layer into `body`; raises `InputError` that names what does not fit."""
    given = {published.rename(name): value for name, value in read_weights(file).items()}
    wanted = body.state_dict()
    _check_channels(given, wanted, file)
    lines = [
        f"{name}: got {tuple(given[name].shape)}, expected {tuple(value.shape)}"
        for name, value in wanted.items()
        if name in given and given[name].shape != value.shape
    ]
    lines += [
        f"{name}: missing, expected {tuple(value.shape)}" for name, value in wanted.items() if _lacks(given, name)
    ]
    extra = [
        name for name in given if name not in wanted and not name.startswith((published.classifier, "classifier."))
    ]
    lines += [f"{name}: the network has no such tensor" for name in extra]
    if lines:
        more = f"\n  and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        raise InputError(
            f"the weights {file} do not fit the network:\n  " + "\n  ".join(lines[:_SHOWN]) + more + "\n"
            "They are those of another network, or of another stem; choose the network that they belong to"
        )
    body.load_state_dict({name: given.get(name, value) for name, value in wanted.items()})


def _lacks(given: Mapping[str, Tensor], name: str) -> bool:
    # A counter of batches, which old files lack and which nothing here depends on.
    return name not in given and not name.endswith("num_batches_tracked")


def _check_channels(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor], file: Path) -> None:
    """The first convolution tells for how many channels the weights are."""
    first = next((name for name, value in wanted.items() if value.dim() == 4), None)
    if first is None or first not in given or given[first].dim() != 4:
        return
    theirs, ours = given[first].shape[1], wanted[first].shape[1]
    if theirs != ours:
        raise InputError(
            f"the weights {file} are for images of {theirs} channel(s) ({first}: got {tuple(given[first].shape)}, "
            f"expected {tuple(wanted[first].shape)}), and the inputs have {ours}; "
            f"give images of {theirs} channel(s), or leave network.weights out"
        )


def weights_path(values: Mapping[str, Any]) -> str | Path | None:
    """The file that settings name, as `weights_file` or, in place of a content, as `weights`; else None."""
    weights, file = values.get("weights"), values.get("weights_file")
    named = isinstance(weights, Path) or (isinstance(weights, str) and not _is_content(weights))
    if named and file is not None:
        raise ValueError("give the file as weights or as weights_file, not both")
    found = weights if named else file
    return found if isinstance(found, str | Path) else None


def _is_content(weights: str) -> bool:
    return weights == IMAGENET or re.fullmatch(f"{_DIGEST}[0-9a-f]{{16}}", weights) is not None
