"""DomainBed's network for MNIST (Gulrajani and Lopez-Paz, 2020, appendix D)."""

from torch import nn

from matchdg.core.settings import Settings
from matchdg.networks.base import Network
from matchdg.networks.images import check_images


class DomainBedCnnSettings(Settings):
    """DomainBed's MNIST CNN: four 3x3 convolutions of 64, 128 (stride 2), 128, 128; their mean is the representation.

    After each convolution ReLU, then group normalisation in 8 groups.
    """

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width]."""
        check_images("domainbed-cnn", input_shape)
        featurizer = nn.Sequential(
            *_block(input_shape[0], 64),
            *_block(64, 128, stride=2),
            *_block(128, 128),
            *_block(128, 128),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        return Network(featurizer, nn.Identity(), nn.Linear(128, classes), 128)


def _block(channels: int, filters: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(channels, filters, kernel_size=3, stride=stride, padding=1),
        nn.ReLU(inplace=True),
        nn.GroupNorm(8, filters),
    ]
