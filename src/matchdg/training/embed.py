"""Features of a whole data set for matching: always without dropout and without a trace in the network."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from matchdg.data import DomainDataset
from matchdg.matching.nearest import Statistics
from matchdg.networks import Layer, Network
from matchdg.training.evaluate import batch_of, evaluation_mode


@contextmanager
def batch_statistics(module: nn.Module) -> Iterator[None]:
    """BatchNorm layers normalise by the batch at hand inside; their running statistics are what they were, after."""
    layers = [layer for layer in module.modules() if isinstance(layer, _BatchNorm)]
    kept = [(layer.running_mean, layer.running_var) for layer in layers]
    for layer in layers:
        layer.running_mean = layer.running_var = None
    try:
        yield
    finally:
        for layer, (mean, variance) in zip(layers, kept, strict=True):
            layer.running_mean, layer.running_var = mean, variance


def embed(
    network: Network,
    dataset: DomainDataset,
    layer: Layer,
    statistics: Statistics,
    fabric: Fabric | None = None,
    batch: int = 1024,
) -> Tensor:
    """The `layer` of every input, [N, D] in float32; processes share the work.

    A batch holds inputs of one domain, of all its classes or, with the statistics "cell", of one, drawn at random
    and of nearly equal sizes: in the data's order the same objects might share a batch in every domain. With
    "domain" and "cell", BatchNorm uses the statistics of that batch, but for an input that is alone in it: one has
    no spread.
    """
    device = next(network.parameters()).device
    rank, world = (fabric.global_rank, fabric.world_size) if fabric is not None else (0, 1)
    features: Tensor | None = None
    parts = _batches(dataset, statistics, batch_of(dataset.input_shape, batch))
    with evaluation_mode(network):
        for index, positions in enumerate(parts):
            if index % world != rank and features is not None:
                continue
            inputs = dataset.inputs[positions].to(device)
            if statistics != "running" and len(positions) > 1:
                with batch_statistics(network):
                    found = network(inputs).at(layer)
            else:
                found = network(inputs).at(layer)
            if features is None:
                features = torch.zeros(len(dataset), found.shape[1], device=device)
            if index % world == rank:
                features[positions.to(device)] = found.float()
    assert features is not None
    if world > 1 and fabric is not None:
        features = fabric.all_reduce(features, reduce_op="sum")  # type: ignore[assignment]
    return features


def _batches(dataset: DomainDataset, statistics: Statistics, batch: int) -> list[Tensor]:
    cells = dataset.domains * len(dataset.class_names) + dataset.labels if statistics == "cell" else dataset.domains
    cells = cells.cpu()
    order = torch.randperm(len(cells), generator=torch.Generator().manual_seed(0))
    own = order[cells[order].argsort(stable=True)].split(torch.bincount(cells).tolist())
    return [part for positions in own if len(positions) for part in positions.tensor_split(-(-len(positions) // batch))]
