"""Batches and tiny networks for the tests of methods."""

import pytest
import torch
from torch import nn

from matchdg.data import DomainDataset
from matchdg.methods import Batch, Clock
from matchdg.networks import Network


def _make_batch(grid, classes=None, shape=(2,), seed=0):
    """A batch from `grid[row][column]`: a label, or None where the domain is absent. Inputs are random."""
    labels = [label for row in grid for label in row if label is not None]
    columns = [column for row in grid for column, label in enumerate(row) if label is not None]
    count = max(labels) + 1 if classes is None else classes
    dataset = DomainDataset.from_arrays(
        torch.randn(len(labels), *shape, generator=torch.Generator().manual_seed(seed)),
        labels,
        columns,
        class_names=tuple(str(label) for label in range(count)),
        domain_names=tuple(str(column) for column in range(len(grid[0]))),
    )
    position = iter(range(len(labels)))
    rows = torch.tensor([[-1 if label is None else next(position) for label in row] for row in grid])
    return Batch.gather(dataset, rows, complete=bool((rows >= 0).all()))


class _Fixed(nn.Module):
    """Gives the same tensor whatever comes in, so that a test can choose the logits."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def forward(self, inputs):
        return self.values


def _with_features(features, classes):
    """A network whose representation is `features[V, D]`; the classifier's weights are those of seed 0."""
    torch.manual_seed(0)
    size = features.shape[1]
    classifier = nn.Linear(size, classes, dtype=features.dtype)
    return Network(_Fixed(features), nn.Identity(), classifier, size)


def _with_logits(logits):
    """A network whose logits are `logits[V, C]`."""
    network = _with_features(logits, logits.shape[1])
    with torch.no_grad():
        network.classifier.weight.copy_(torch.eye(logits.shape[1]))
        network.classifier.bias.zero_()
    return network


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def make_batch():
    return _make_batch


@pytest.fixture(scope="session")
def with_features():
    return _with_features


@pytest.fixture(scope="session")
def with_logits():
    return _with_logits


@pytest.fixture
def clock():
    return Clock(step=0, epoch=0, epochs=1)


@pytest.fixture(params=["complete", "incomplete"])
def grid(request):
    """Labels of four rows over three domains, three classes; or with cells absent, class 2 in one domain only."""
    if request.param == "complete":
        return [[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]]
    return [[0, None, 0], [1, 1, None], [2, None, None], [0, 0, 1]]
