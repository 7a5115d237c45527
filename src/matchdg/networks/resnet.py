"""ResNet-18 from torchvision, without pre-training, for any number of channels and any size."""

from torch import nn

from matchdg.core.errors import InputError
from matchdg.core.settings import Settings
from matchdg.networks.base import Network


class ResNet18Settings(Settings):
    """ResNet-18 (He et al., 2016); the representation is the 512 pooled features."""

    def build(self, input_shape: tuple[int, ...], classes: int) -> Network:
        """The network for images [channels, height, width]."""
        from torchvision.models import resnet18

        if len(input_shape) != 3:
            raise InputError(
                f"resnet18 needs images of shape (channels, height, width), got inputs of shape {input_shape}; "
                "use the network 'slab' for flat inputs"
            )
        model = resnet18()
        if input_shape[0] != 3:
            model.conv1 = nn.Conv2d(input_shape[0], 64, kernel_size=7, stride=2, padding=3, bias=False)
            nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
        features = model.fc.in_features
        model.fc = nn.Identity()
        return Network(model, nn.Identity(), nn.Linear(features, classes), features)
