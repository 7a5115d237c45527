"""Features of a network that is not trained, in place of the images: computed once, kept in the user's cache."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.core.files import alone, digest, write_bytes
from matchdg.data import DomainDataset, DomainSplit, Inputs
from matchdg.data.draws import uniforms
from matchdg.data.mapped import MappedInputs
from matchdg.data.sources import cache_root
from matchdg.data.split import Views
from matchdg.networks import FrozenSettings, Network

# Part of a file's name. Raise it whenever a change of the code changes features.
FEATURES_VERSION = 1
_BATCH = 64


def freeze(split: DomainSplit, settings: FrozenSettings, folder: Path | None = None) -> DomainSplit:
    """The same split of the backbone's features [N, D].

    `folder` is where they are kept, by default the user's cache. Standardised features have mean 0 and spread 1 over
    the training data, that is, over source domains alone.
    """
    features = Features(settings, split.train.input_shape, folder or features_folder())
    train, validation, test = (features.of(part.inputs) for part in (split.train, split.validation, split.test))
    mean, spread = train.mean(0), train.std(0, correction=0)
    spread = spread.where(spread > 0, torch.ones_like(spread))

    def scaled(values: Tensor) -> Tensor:
        return (values - mean) / spread if settings.standardise else values

    return replace(
        split,
        train=_with(split.train, scaled(train)),
        validation=_with(split.validation, scaled(validation)),
        test=_with(split.test, scaled(test)),
        views=_views(split, settings, features, scaled, train),
    )


def features_folder() -> Path:
    """Where features are kept, in the user's cache."""
    return cache_root() / "features"


class Features:
    """Computes a backbone's features, or reads those that were computed before."""

    def __init__(self, settings: FrozenSettings, input_shape: tuple[int, ...], folder: Path) -> None:
        self.settings, self.input_shape, self.folder = settings, input_shape, folder
        self._backbone: Network | None = None

    def of(self, inputs: Inputs, views: Views | None = None, number: int = 0) -> Tensor:
        """[N, D] in float32: of the inputs themselves or of their view `number`.

        Inputs that are some of those of a whole are computed with all of these, for whoever needs the others.
        """
        if isinstance(inputs, MappedInputs):
            return self._kept(inputs.whole, inputs.key, views, number)[inputs.rows]
        return self._kept(inputs, content_key(inputs), views, number)

    def _kept(self, inputs: Inputs, key: str, views: Views | None, number: int) -> Tensor:
        view = None if views is None else {"settings": _dump(views), "number": number}
        name = digest(
            {
                "version": FEATURES_VERSION,
                "backbone": self.settings.backbone,
                "inputs": key,
                "view": view,
            }
        )
        path = self.folder / f"{name}.npy"
        if not path.exists():
            with alone(self.folder, "choose another cache with XDG_CACHE_HOME"):
                if not path.exists():
                    shown = inputs if views is None else views.shown(inputs, 0, number, 0)
                    _write(path, self._compute(shown))
        return torch.from_numpy(np.load(path))

    @torch.no_grad()
    def _compute(self, inputs: Inputs) -> Tensor:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if self._backbone is None:
            random = torch.get_rng_state()
            # Of layers without weights from elsewhere, the same ones each time.
            torch.manual_seed(0)
            backbone = self.settings.build_backbone(self.input_shape)
            torch.set_rng_state(random)
            self._backbone = backbone.to(device).to(memory_format=torch.channels_last)
        parts = torch.arange(len(inputs)).split(_BATCH)
        return torch.cat([self._backbone(inputs[part].to(device)).representation.float().cpu() for part in parts])


@dataclass(frozen=True)
class KeptViews:
    """Features of each training input and of views of it, one of which is drawn for each epoch: `features[V, N, D]`."""

    features: Tensor

    def shown(self, inputs: Inputs, seed: int, epoch: int, draw: int) -> "DrawnViews":
        """Of each input one view; draws 0 and 1 of an epoch are of different ones where there are two."""
        return DrawnViews(self.features.to(getattr(inputs, "device", "cpu")), seed, epoch, draw)


class DrawnViews:
    """One of the kept views of each input, a function of seed, epoch, draw and position."""

    def __init__(self, features: Tensor, seed: int, epoch: int, draw: int) -> None:
        self.features, self.seed, self.epoch, self.draw = features, seed, epoch, draw

    def __len__(self) -> int:
        return self.features.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of inputs, then the shape of one."""
        return tuple(self.features.shape[1:])

    def __getitem__(self, positions: Tensor) -> Tensor:
        count = len(self.features)
        drawn = uniforms((self.seed, self.epoch), positions, 2)
        first = (drawn[:, 0] * count).long()
        # Another view than the first, each as likely.
        number = first if self.draw == 0 else first + 1 + (drawn[:, 1] * (count - 1)).long()
        places = positions.to(self.features.device)
        return self.features[(number % count).to(self.features.device), places]


def content_key(inputs: Inputs) -> str:
    """A digest of the values of all inputs."""
    sha = hashlib.sha256(repr(tuple(inputs.shape)).encode())
    for positions in torch.arange(len(inputs)).split(256):
        sha.update(np.ascontiguousarray(inputs[positions].cpu().numpy()).tobytes())
    return sha.hexdigest()


def _views(
    split: DomainSplit,
    settings: FrozenSettings,
    features: Features,
    scaled: Callable[[Tensor], Tensor],
    plain: Tensor,
) -> Views | None:
    if split.views is None or settings.views == 0:
        return None
    views = [features.of(split.train.inputs, split.views, number) for number in range(settings.views)]
    return KeptViews(torch.stack([scaled(values) for values in (plain, *views)]))


def _dump(views: Views) -> Any:
    dump = getattr(views, "dump", None)
    if dump is None:
        raise InputError(f"{type(views).__name__} cannot say what it is, so that its features cannot be kept")
    return dump()


def _with(dataset: DomainDataset, features: Tensor) -> DomainDataset:
    return replace(dataset, inputs=features)


def _write(path: Path, features: Tensor) -> None:
    from io import BytesIO

    buffer = BytesIO()
    np.save(buffer, features.numpy())
    write_bytes(path, buffer.getvalue())
