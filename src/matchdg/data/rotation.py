"""Affine views of whole batches of images, by bilinear interpolation; rotation to any size in one go."""

import math

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

# So many output values are worked on at a time, which bounds the memory: 8 bytes each.
_BLOCK_VALUES = 2**21
# Half of a step, and a little more, so that rounding errors of different machines do not decide the ties.
_ROUNDING = 0.5 + 1e-6


def inverse_affine(degrees: Tensor, scale: Tensor, shift: Tensor, aspect: float = 1.0) -> Tensor:
    r"""The map [N, 2, 3] from places of the view to places of the image, both in [-1, 1], x to the right, y down.

    The view shows the image turned counter-clockwise by `degrees` [N], enlarged by `scale` [N] and then moved by
    `shift` [N, 2] (x, y; 2 is the whole image). A view's place $v$ shows the image's place
    $s^{-1} R(\theta) (v - t)$ with $R = (\cos\theta, -\sin\theta; \sin\theta, \cos\theta)$. `aspect`, the image's
    width by its height, keeps the rotation one of pixels where the image is not square.
    """
    angle = degrees * (math.pi / 180)
    cosine, sine = angle.cos() / scale, angle.sin() / scale
    rows = torch.stack([cosine, -sine / aspect, sine * aspect, cosine], dim=-1)
    linear = rows.view(-1, 2, 2)
    return torch.cat([linear, -linear @ shift.unsqueeze(-1)], dim=-1)


def rotate(images: Tensor, degrees: float, size: int) -> Tensor:
    """`images` uint8 [N, H, W], turned counter-clockwise by `degrees` and brought to [N, size, size], uint8.

    Both in one bilinear interpolation from the original pixels; what lies outside the image is 0. At the native
    size, 0 degrees gives the image itself and 90 what `torch.rot90` gives, to the byte. In double precision, so
    that machines agree. There is no low-pass filter: sizes far below the native one alias.
    """
    count = len(images)
    rotated = torch.empty((count, size, size), dtype=torch.uint8)
    exact = torch.tensor([float(degrees)], dtype=torch.float64)
    theta = inverse_affine(exact, torch.ones_like(exact), exact.new_zeros(1, 2))
    grid = affine_grid(theta, [1, 1, size, size], align_corners=False)
    block = max(1, _BLOCK_VALUES // max(size * size, images[0].numel()))
    for start in range(0, count, block):
        # As channels of one image, the images share the grid and the weights.
        part = images[None, start : start + block].to(torch.float64)
        values = grid_sample(part, grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]
        rotated[start : start + block] = values.add_(_ROUNDING).to(torch.uint8)
    return rotated
