"""DenseNet-121 from torchvision, for any number of channels."""

import re
from typing import ClassVar

from torch import nn

from matchdg.networks.images import check_images
from matchdg.networks.pretrained import PretrainedSettings, Published
from matchdg.networks.torchvision_weights import torchvision_weights


def _rename(name: str) -> str:
    """The name that a tensor of the published file, which is older than torchvision's network, has now.

    >>> _rename("features.denseblock1.denselayer1.norm.2.weight")
    'features.denseblock1.denselayer1.norm2.weight'
    """
    return re.sub(r"(denselayer\d+\.(?:norm|conv))\.([12])\.", r"\1\2.", name)


class DenseNet121Settings(PretrainedSettings):
    """DenseNet-121 (Huang et al., 2017); the representation is the 1,024 pooled features."""

    published: ClassVar[Published] = torchvision_weights(
        "densenet121", "densenet121-a639ec97.pth", "classifier.", _rename
    )

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, for images [channels, height, width]."""
        # Of fewer pixels, the third transition leaves none.
        check_images("densenet121", input_shape, smallest=29)
        from torchvision.models import densenet121

        model = densenet121()
        first, features = model.features.conv0, model.classifier.in_features
        if input_shape[0] != first.in_channels:
            model.features.conv0 = nn.Conv2d(
                input_shape[0], first.out_channels, kernel_size=7, stride=2, padding=3, bias=False
            )
            nn.init.kaiming_normal_(model.features.conv0.weight)
        model.classifier = nn.Identity()
        return model, features
