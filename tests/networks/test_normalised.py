"""`Normalised`: shift and scale by channel, within the network."""

import torch
from torch import nn

from matchdg.networks.normalised import Normalised


def test_each_channel_has_its_own_mean_and_deviation():
    inputs = torch.tensor([0.0, 1.0]).view(1, 2, 1, 1).expand(3, 2, 4, 5)
    found = Normalised(nn.Identity(), (0.5, 0.25), (0.5, 0.25))(inputs)
    assert found.shape == inputs.shape
    assert (found[:, 0] == -1).all()
    assert (found[:, 1] == 3).all()


def test_only_the_body_has_weights_to_save():
    assert set(Normalised(nn.Linear(2, 2), (0.5,), (0.5,)).state_dict()) == {"body.weight", "body.bias"}
