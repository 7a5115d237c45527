"""How good matches are: the three measures of appendix C.2, and three that need no ground truth."""

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.matching.ranks import ranks
from matchdg.matching.search import MEMORY, check_features, nearest
from matchdg.matching.table import ABSENT, anchor_positions, base_domains


@torch.no_grad()
def quality(features: Tensor, dataset: DomainDataset, memory: int = MEMORY) -> dict[str, float]:
    """Overlap and top-10 overlap (percent) and mean rank of the true matches."""
    if dataset.objects is None:
        raise InputError("match quality needs known objects, and this data set has none; give an object column")
    check_features("features", features)
    found = []
    for anchors, candidates in _cells(dataset):
        anchor, candidate = _pairs(dataset.objects[anchors], dataset.objects[candidates])
        if len(anchor) == 0:
            continue
        device = features.device
        places = ranks(
            features[anchors[anchor].to(device)], features[candidates.to(device)], candidate.to(device), memory
        ).cpu()
        best = torch.full((len(anchors),), torch.iinfo(torch.int64).max)
        best.scatter_reduce_(0, anchor, places, "amin")
        found.append(best[anchor.unique()])
    return _summary(found)


def table_overlap(rows: Tensor, dataset: DomainDataset) -> float:
    """Percentage of a match table's pairs (anchor, match) that are the same object."""
    if dataset.objects is None:
        raise InputError("match quality needs known objects, and this data set has none; give an object column")
    anchors = anchor_positions(dataset)
    other = torch.arange(rows.shape[1]) != dataset.domains[anchors][:, None]
    counted = other & (rows != ABSENT)
    same = dataset.objects[rows.clamp(min=0)] == dataset.objects[anchors][:, None]
    return _percent(same[counted])


@torch.no_grad()
def mutual_share(features: Tensor, dataset: DomainDataset, memory: int = MEMORY) -> float:
    """Percentage of anchors' nearest neighbours in another domain whose nearest anchor is that same one."""
    check_features("features", features)
    found = []
    for anchors, candidates in _cells(dataset):
        left, right = features[anchors.to(features.device)], features[candidates.to(features.device)]
        there = nearest(left, right, 1, memory)[0][:, 0]
        back = nearest(right, left, 1, memory)[0][:, 0]
        found.append((back[there] == torch.arange(len(left), device=left.device)).cpu())
    return _percent(torch.cat(found)) if found else float("nan")


def stability(rows_a: Tensor, rows_b: Tensor, dataset: DomainDataset) -> float:
    """Percentage of pairs (anchor, match) that two match tables have in common."""
    anchors = anchor_positions(dataset)
    other = torch.arange(rows_a.shape[1]) != dataset.domains[anchors][:, None]
    counted = other & (rows_a != ABSENT)
    return _percent((rows_a == rows_b)[counted])


@torch.no_grad()
def augmentation_overlap(
    originals: Tensor, augmented: Tensor, labels: Tensor, domains: Tensor, memory: int = MEMORY
) -> dict[str, float]:
    """The measures of `quality` where the true match of each input is its own augmentation."""
    check_features("originals", originals)
    check_features("augmentations", augmented)
    _, cell = torch.stack([labels, domains]).unique(dim=1, return_inverse=True)
    order = cell.argsort(stable=True)
    found = []
    for inside in order.split(torch.bincount(cell).tolist()):
        here = inside.to(originals.device)
        truth = torch.arange(len(here), device=originals.device)
        found.append(ranks(originals[here], augmented[here], truth, memory).cpu())
    return _summary(found)


def _cells(dataset: DomainDataset) -> list[tuple[Tensor, Tensor]]:
    """(Anchors, inputs of their class in another domain), for each class and domain where both exist."""
    pairs = []
    for label, base in enumerate(base_domains(dataset).tolist()):
        inside = dataset.labels == label
        anchors = (inside & (dataset.domains == base)).nonzero().flatten()
        for domain in range(len(dataset.domain_names)):
            if domain != base:
                candidates = (inside & (dataset.domains == domain)).nonzero().flatten()
                if len(anchors) and len(candidates):
                    pairs.append((anchors, candidates))
    return pairs


def _pairs(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """All (position in left, position in right) of equal objects."""
    sorted_, order = right.sort(stable=True)
    low, high = torch.searchsorted(sorted_, left), torch.searchsorted(sorted_, left, right=True)
    counts = high - low
    anchor = torch.arange(len(left)).repeat_interleave(counts)
    turn = torch.arange(len(anchor)) - (counts.cumsum(0) - counts)[anchor]
    return anchor, order[low[anchor] + turn]


def _summary(found: list[Tensor]) -> dict[str, float]:
    if not found:
        raise InputError("no anchor has a true match in another domain; match quality has nothing to measure")
    places = torch.cat(found)
    return {
        "overlap": _percent(places == 1),
        "top10_overlap": _percent(places <= 10),
        "mean_rank": float(places.double().mean()),
    }


def _percent(hits: Tensor) -> float:
    return 100 * float(hits.double().mean())
