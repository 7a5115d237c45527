"""ResNets from torchvision, without pre-training, for any number of channels and any size."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field
from torch import nn

from matchdg.core.settings import Settings
from matchdg.networks.base import Network
from matchdg.networks.images import check_images
from matchdg.networks.small_maps import with_small_maps

Stem = Literal["imagenet", "small"]

_STEM_HELP = (
    "the first layers: imagenet, a 7x7 convolution of stride 2 and a max-pool, or small, a 3x3 convolution of "
    "stride 1 and no pool, for images of about 32 pixels (16 times as many positions in every later layer)"
)


class ResNet18Settings(Settings):
    """ResNet-18 (He et al., 2016); the representation is the 512 pooled features."""

    stem: Stem = Field("imagenet", description=_STEM_HELP)

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width]."""
        check_images("resnet18", input_shape)
        from torchvision.models import resnet18

        return _network(resnet18, self.stem, input_shape[0], classes)


class ResNet50Settings(Settings):
    """ResNet-50 (He et al., 2016); the representation is the 2,048 pooled features."""

    stem: Stem = Field("imagenet", description=_STEM_HELP)

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width]."""
        check_images("resnet50", input_shape)
        from torchvision.models import resnet50

        return _network(resnet50, self.stem, input_shape[0], classes)


def _network(make: Callable[[], Any], stem: Stem, channels: int, classes: int) -> Network:
    """What torchvision makes, with the first convolution of `channels` and `stem`, and the last layer apart."""
    model = make()
    first: dict[str, Any] = {"kernel_size": 7, "stride": 2, "padding": 3}
    if stem == "small":
        first = {"kernel_size": 3, "stride": 1, "padding": 1}
        model.maxpool = nn.Identity()
    if stem == "small" or channels != model.conv1.in_channels:
        model.conv1 = nn.Conv2d(channels, model.conv1.out_channels, bias=False, **first)
        nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    features = model.fc.in_features
    model.fc = nn.Identity()
    return Network(with_small_maps(model), nn.Identity(), nn.Linear(features, classes), features)
