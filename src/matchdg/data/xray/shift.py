"""`ShiftedInputs`: images that are shown further down by an amount of their own."""

from copy import copy

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data.dataset import Inputs, SubsetInputs


class ShiftedInputs:
    """Each of `inputs`, images [N, C, H, W], `shifts[N]` pixels further down; what comes in from above is black.

    Shifted when it is asked for, so that the images themselves are kept once, whatever they are a source or a target
    of.

    >>> images = torch.tensor([[[[1.0], [2.0], [3.0]]]] * 2)
    >>> ShiftedInputs(images, torch.tensor([0, 1]))[torch.tensor([0, 1])].flatten(1).tolist()
    [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]
    """

    def __init__(self, inputs: Inputs, shifts: Tensor) -> None:
        shape = tuple(inputs.shape)
        if len(shape) != 4:
            raise InputError(f"inputs have shape {shape}, expected images [N, C, H, W]")
        if shifts.shape != shape[:1] or shifts.dtype != torch.int64 or bool((shifts < 0).any()):
            raise InputError(f"shifts are {shifts.dtype} of shape {tuple(shifts.shape)}, expected {shape[0]} from 0 up")
        self.inputs, self.shifts = inputs, shifts

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, positions: Tensor) -> Tensor:
        images = self.inputs[positions]
        shifts = self.shifts[positions.to(self.shifts.device)]
        return move_down(images, shifts.to(images.device))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of images, then the shape of one."""
        return tuple(self.inputs.shape)

    @property
    def device(self) -> torch.device:
        """Where what is gathered will be."""
        return getattr(self.inputs, "device", torch.device("cpu"))

    def to(self, device: torch.device | str) -> "ShiftedInputs":
        """The same images, on `device` if they are in memory."""
        moved = copy(self)
        move = getattr(self.inputs, "to", None)
        moved.inputs = self.inputs if move is None else move(device)
        moved.shifts = self.shifts.to(moved.device)
        return moved

    def subset(self, positions: Tensor) -> "ShiftedInputs":
        """The images at `positions`, with their shifts."""
        inputs = self.inputs
        some = inputs.subset(positions) if isinstance(inputs, SubsetInputs) else inputs[positions]
        return ShiftedInputs(some, self.shifts[positions.to(self.shifts.device)])


def move_down(images: Tensor, shifts: Tensor) -> Tensor:
    """`images` [B, C, H, W], the rows of each `shifts[B]` further down and black above: row r shows row r - shift."""
    rows = torch.arange(images.shape[2], device=images.device) - shifts.view(-1, 1)
    shown = images.gather(2, rows.clamp(min=0)[:, None, :, None].expand_as(images))
    return shown.masked_fill_((rows < 0)[:, None, :, None], 0)
