"""The two-layer LeNet of the rotated-MNIST comparison in the paper's appendix."""

from torch import nn

from matchdg.core.settings import Settings
from matchdg.networks.base import Network
from matchdg.networks.images import check_images


class LeNetSettings(Settings):
    """LeNet as in Motiian et al. (2017): two convolutions, then 120 and 84 units; the latter are the representation.

    MatchDG's paper names that work and prints no layer sizes. Ours are LeNet-5's (LeCun et al., 1998) with ReLU and
    max-pooling: 6 and 16 filters of 5x5, the first padded by 2, each followed by a 2x2 pool, so that 28x28 leaves
    16 x 5 x 5. Smaller sides than 12 pixels leave nothing.
    """

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width]."""
        check_images("lenet", input_shape, smallest=12)
        channels, height, width = input_shape
        left = ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2)
        featurizer = nn.Sequential(
            nn.Conv2d(channels, 6, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * left, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
        )
        return Network(featurizer, nn.Identity(), nn.Linear(84, classes), 84)
