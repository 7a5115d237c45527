"""ResNets from torchvision, for any number of channels and any size."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import nn

from matchdg.networks.images import check_images
from matchdg.networks.pretrained import PretrainedSettings, Published
from matchdg.networks.small_maps import with_small_maps
from matchdg.networks.torchvision_weights import torchvision_weights

Stem = Literal["imagenet", "small"]

_STEM_HELP = (
    "the first layers: imagenet, a 7x7 convolution of stride 2 and a max-pool, or small, a 3x3 convolution of "
    "stride 1 and no pool, for images of about 32 pixels (16 times as many positions in every later layer)"
)


class ResNet18Settings(PretrainedSettings):
    """ResNet-18 (He et al., 2016); the representation is the 512 pooled features."""

    published: ClassVar[Published] = torchvision_weights("resnet18", "resnet18-f37072fd.pth", "fc.")

    stem: Stem = Field("imagenet", description=_STEM_HELP)

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, for images [channels, height, width]."""
        check_images("resnet18", input_shape)
        from torchvision.models import resnet18

        return _body(resnet18, self.stem, input_shape[0])


class ResNet50Settings(PretrainedSettings):
    """ResNet-50 (He et al., 2016); the representation is the 2,048 pooled features."""

    published: ClassVar[Published] = torchvision_weights("resnet50", "resnet50-0676ba61.pth", "fc.")

    stem: Stem = Field("imagenet", description=_STEM_HELP)

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, for images [channels, height, width]."""
        check_images("resnet50", input_shape)
        from torchvision.models import resnet50

        return _body(resnet50, self.stem, input_shape[0])


def _body(make: Callable[[], Any], stem: Stem, channels: int) -> tuple[nn.Module, int]:
    """What torchvision makes, with the first convolution of `channels` and `stem`, without the last layer."""
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
    return with_small_maps(model), features
