"""The network of the slab data (paper, appendix A.1), for any flat input."""

from math import prod

from pydantic import Field
from torch import nn

from matchdg.core.settings import Settings
from matchdg.networks.base import Network


class SlabNetworkSettings(Settings):
    """Representation FC(input, width) + ReLU; classifier FC(width, width), FC(width, classes), none between."""

    width: int = Field(100, ge=1, description="units of the representation and of the classifier's first layer")

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for inputs of `input_shape`."""
        featurizer = nn.Sequential(nn.Flatten(), nn.Linear(prod(input_shape), self.width), nn.ReLU())
        return Network(featurizer, nn.Linear(self.width, self.width), nn.Linear(self.width, classes), self.width)
