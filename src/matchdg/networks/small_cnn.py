"""A small CNN for small images, fast enough for whole experiments on one CPU thread."""

from typing import Literal

from pydantic import Field
from torch import nn

from matchdg.core.settings import Settings
from matchdg.networks.base import Network
from matchdg.networks.images import check_images

FILTERS = (32, 64, 128)


class SmallCnnSettings(Settings):
    """Three 3x3 convolutions of stride 2 with batch normalisation and ReLU; the representation has 128 features."""

    summary: Literal["mean", "flatten"] = Field(
        "mean",
        description="what becomes of the last convolution's positions: their mean is the representation, or all of "
        "them lead to it through a linear layer and ReLU, which keeps where in the image things are",
    )

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width]."""
        check_images("small-cnn", input_shape)
        layers: list[nn.Module] = []
        for channels, filters in zip((input_shape[0], *FILTERS), FILTERS, strict=False):
            layers += [
                nn.Conv2d(channels, filters, kernel_size=3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(filters),
                nn.ReLU(inplace=True),
            ]
        features = FILTERS[-1]
        if self.summary == "mean":
            layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        else:
            # Each convolution leaves half the positions, rounded up.
            height, width = (-(-side // 2 ** len(FILTERS)) for side in input_shape[1:])
            layers += [nn.Flatten(), nn.Linear(features * height * width, features), nn.ReLU(inplace=True)]
        return Network(nn.Sequential(*layers), nn.Identity(), nn.Linear(features, classes), features)
