"""Convolutions on maps so small that one position comes out: a plain matrix product, without the padding."""

from torch import Tensor, nn
from torch.nn.functional import linear


class SmallMapConv2d(nn.Conv2d):
    """`nn.Conv2d`, but where the output has one position, it is computed as the matrix product that it then is.

    The taps of the kernel that see nothing but padding are left out. The last stage of a ResNet on images of 28 or 32
    pixels is of this kind, and convolution kernels, made for larger maps, spend more than half of a training step in
    it. The result differs by rounding alone. Weights keep their names and shapes.
    """

    @classmethod
    def taking_over(cls, convolution: nn.Conv2d) -> "SmallMapConv2d":
        """The same layer with the same parameters."""
        taken = cls.__new__(cls)
        taken.__dict__ = convolution.__dict__
        return taken

    def forward(self, inputs: Tensor) -> Tensor:
        """`inputs` [N, C, H, W] to [N, C', H', W']."""
        around = self._padding_of_one_position(inputs.shape)
        if around is None:
            return super().forward(inputs)
        (top, left), (height, width) = around, inputs.shape[2:]
        # Channels last, as the trainer keeps weights of images: the gradient comes in the order of the weight, and a
        # copy of all taps into another order would cost more than the product.
        weight = self.weight.permute(0, 2, 3, 1)[:, top : top + height, left : left + width]
        return linear(inputs.permute(0, 2, 3, 1).flatten(1), weight.flatten(1), self.bias)[:, :, None, None]

    def _padding_of_one_position(self, shape: tuple[int, ...]) -> tuple[int, int] | None:
        """The padding above and left, if all of the input lies under the kernel's one position; else None."""
        plain = self.groups == 1 and self.dilation == (1, 1) and self.padding_mode == "zeros"
        if not plain or isinstance(self.padding, str) or len(shape) != 4:
            return None
        top, left = self.padding
        for side, kernel, stride, padding in zip(shape[2:], self.kernel_size, self.stride, (top, left), strict=True):
            # How far the kernel can move within the padded input: not at all, or less than a step.
            room = side + 2 * padding - kernel
            if not (0 <= room < stride and padding + side <= kernel):
                return None
        return int(top), int(left)


def with_small_maps(module: nn.Module) -> nn.Module:
    """`module` with all its convolutions of that kind, in place."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Conv2d:
                setattr(parent, name, SmallMapConv2d.taking_over(child))
    return module
