"""AlexNet from torchvision, for images of 63 pixels or more."""

from typing import ClassVar

from pydantic import Field
from torch import nn

from matchdg.networks.images import check_images
from matchdg.networks.pretrained import PretrainedSettings, Published
from matchdg.networks.torchvision_weights import torchvision_weights


class AlexNetSettings(PretrainedSettings):
    """AlexNet (Krizhevsky et al., 2012; 2014); the representation is the 4,096 units before the last layer."""

    published: ClassVar[Published] = torchvision_weights("alexnet", "alexnet-owt-7be5be79.pth", "classifier.6.")

    hidden_dropout: float = Field(
        0.5, ge=0, lt=1, description="share of the inputs of each of the two hidden layers that are dropped"
    )

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, for images [channels, height, width]."""
        # Of fewer pixels, the third pool leaves none.
        check_images("alexnet", input_shape, smallest=63)
        from torchvision.models import alexnet

        model = alexnet(dropout=self.hidden_dropout)
        first, last = model.features[0], model.classifier[6]
        if input_shape[0] != first.in_channels:
            model.features[0] = nn.Conv2d(input_shape[0], first.out_channels, kernel_size=11, stride=4, padding=2)
        model.classifier[6] = nn.Identity()
        return model, last.in_features
