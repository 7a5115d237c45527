"""`SmallMapConv2d` is `nn.Conv2d`, whatever the sizes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from matchdg.networks.small_maps import SmallMapConv2d, with_small_maps

CASES = [(1, 1, 3, 1, 1), (2, 2, 3, 2, 1), (1, 2, 3, 2, 1), (1, 1, 1, 1, 0), (3, 3, 3, 1, 0), (1, 1, 1, 2, 0)]


def agree(plain, inputs):
    fast = SmallMapConv2d.taking_over(plain)
    outputs = []
    for layer in (plain, fast):
        own = inputs.clone().requires_grad_()
        plain.zero_grad()
        found = layer(own)
        (found * torch.linspace(-1, 1, found.numel()).view_as(found)).sum().backward()
        outputs.append((found.detach(), own.grad, *(p.grad.clone() for p in plain.parameters())))
    for one, other in zip(*outputs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    return fast


@pytest.mark.parametrize(("height", "width", "kernel", "stride", "padding"), CASES)
def test_one_position_is_a_matrix_product_with_the_same_result(height, width, kernel, stride, padding, monkeypatch):
    torch.manual_seed(0)
    fast = agree(nn.Conv2d(3, 5, kernel, stride, padding), torch.randn(4, 3, height, width))
    monkeypatch.setattr(nn.Conv2d, "forward", lambda *_: pytest.fail("took the convolution"))
    fast(torch.randn(4, 3, height, width))


@settings(max_examples=80, deadline=None)
@given(
    sides=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    padding=st.integers(0, 3),
    bias=st.booleans(),
)
def test_all_sizes_agree(sides, kernel, stride, padding, bias):
    if min(sides) + 2 * padding < kernel:
        return
    torch.manual_seed(0)
    agree(nn.Conv2d(2, 3, kernel, stride, padding, bias=bias), torch.randn(2, 2, *sides))


@pytest.mark.parametrize("changes", [{"groups": 2}, {"dilation": 2}, {"padding_mode": "circular"}, {"padding": "same"}])
def test_other_kinds_of_convolution_are_left_alone(changes):
    convolution = nn.Conv2d(2, 4, 1 if "dilation" not in changes else 3, **{"padding": 0, **changes})
    side = 3 if "dilation" not in changes else 5
    agree(convolution, torch.randn(2, 2, side, side))


def test_no_position_is_an_error_as_before():
    with pytest.raises(RuntimeError):
        SmallMapConv2d(1, 1, 3)(torch.randn(1, 1, 2, 2))


def test_names_and_weights_stay():
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sequential(nn.Conv2d(2, 2, 3, bias=False)))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    after = with_small_maps(module).state_dict()
    assert list(before) == list(after)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(type(layer) is SmallMapConv2d for layer in module.modules() if isinstance(layer, nn.Conv2d))
