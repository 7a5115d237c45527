"""How good matches are: by the true ones (appendix C.2 of the paper), and without knowing them. All in percent."""

import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.matching.ranks import ranks
from matchdg.matching.search import MEMORY, check_features, first
from matchdg.matching.table import ABSENT, anchor_positions, anchors_and_candidates


@torch.no_grad()
def quality(features: Tensor, dataset: DomainDataset, memory: int = MEMORY) -> dict[str, float]:
    """Overlap and top-10 overlap (percent) and mean rank of the true matches, by distance of features [N, D].

    Appendix C.2: over all anchors and other domains, how often the true match (the same object) is the nearest input
    of the anchor's class there, how often among the ten nearest, and the mean of its place. With several true
    matches in a domain the nearest counts; without any, the pair is left out. Raises `InputError` if no objects are
    known or no anchor has a true match.
    """
    _check(features, dataset)
    objects = _objects(dataset)
    places = []
    for anchors, candidates in anchors_and_candidates(dataset):
        asking, true = _equal_pairs(objects[anchors], objects[candidates])
        own, others = _gather(features, anchors[asking]), _gather(features, candidates)
        found = ranks(own, others, true.to(features.device), memory).cpu()
        best = torch.full((len(anchors),), len(dataset)).scatter_reduce(0, asking, found, "amin")
        places.append(best[asking.unique()])
    return _measures(places)


def table_overlap(rows: Tensor, dataset: DomainDataset) -> float:
    """Percentage of the pairs (anchor, match) of a match table [R, K] that are the same object."""
    objects, matched = _objects(dataset), _matched(rows, dataset)
    same = objects[rows.clamp(min=0)] == objects[anchor_positions(dataset)][:, None]
    return _percent(same[matched])


@torch.no_grad()
def mutual_share(features: Tensor, dataset: DomainDataset, memory: int = MEMORY) -> float:
    """Percentage of pairs (anchor, nearest input of its class in another domain) that are so in both directions."""
    _check(features, dataset)
    found = [torch.empty(0, dtype=torch.bool)]
    for anchors, candidates in anchors_and_candidates(dataset):
        own, others = _gather(features, anchors), _gather(features, candidates)
        there, back = first(own, others, memory), first(others, own, memory)
        found.append((back[there] == torch.arange(len(own), device=own.device)).cpu())
    return _percent(torch.cat(found))


def stability(rows: Tensor, others: Tensor, dataset: DomainDataset) -> float:
    """Percentage of the pairs (anchor, match) of one match table [R, K] that are also in another."""
    if rows.shape != others.shape:
        raise InputError(
            f"match tables have shapes {tuple(rows.shape)} and {tuple(others.shape)}; compare two of the same data"
        )
    return _percent((rows == others)[_matched(rows, dataset)])


@torch.no_grad()
def augmentation_overlap(
    originals: Tensor, augmented: Tensor, labels: Tensor, domains: Tensor, memory: int = MEMORY
) -> dict[str, float]:
    """The measures of `quality` with each input's own augmentation as its true match (appendix C.3).

    Shapes: originals and augmented [N, D], labels and domains [N]. The candidates are the augmentations of the same
    class and domain.
    """
    check_features("originals", originals)
    check_features("augmented", augmented)
    if len(originals) != len(augmented):
        raise InputError(f"got {len(originals)} originals and {len(augmented)} augmentations, expected one of each")
    _, cells = torch.stack([labels, domains]).unique(dim=1, return_inverse=True)
    places = []
    for positions in cells.argsort(stable=True).split(torch.bincount(cells).tolist()):
        truth = torch.arange(len(positions), device=originals.device)
        places.append(ranks(_gather(originals, positions), _gather(augmented, positions), truth, memory).cpu())
    return _measures(places)


def _check(features: Tensor, dataset: DomainDataset) -> None:
    check_features("features", features)
    if len(features) != len(dataset):
        raise InputError(f"got features of {len(features)} inputs, expected those of all {len(dataset)} in the data")


def _objects(dataset: DomainDataset) -> Tensor:
    if dataset.objects is None:
        raise InputError(
            "overlap with true matches needs known objects, and this data set has none; give an object column, "
            "or measure what needs none: mutual neighbours, stability, overlap on self-augmentations"
        )
    return dataset.objects


def _equal_pairs(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """All positions (in left, in right) of equal values."""
    ordered, order = right.sort(stable=True)
    low = torch.searchsorted(ordered, left)
    counts = torch.searchsorted(ordered, left, right=True) - low
    own = torch.arange(len(left)).repeat_interleave(counts)
    turn = torch.arange(len(own)) - (counts.cumsum(0) - counts)[own]
    return own, order[low[own] + turn]


def _matched(rows: Tensor, dataset: DomainDataset) -> Tensor:
    """Which cells of a match table are pairs: not the anchor's own, and not absent."""
    own = dataset.domains[anchor_positions(dataset)]
    expected = len(own), len(dataset.domain_names)
    if tuple(rows.shape) != expected:
        raise InputError(f"match table has shape {tuple(rows.shape)}, expected {expected}: anchors by domains")
    return (torch.arange(rows.shape[1]) != own[:, None]) & (rows != ABSENT)


def _gather(features: Tensor, positions: Tensor) -> Tensor:
    return features[positions.to(features.device)]


def _measures(places: list[Tensor]) -> dict[str, float]:
    found = torch.cat([torch.empty(0, dtype=torch.int64), *places])
    if len(found) == 0:
        raise InputError(
            "no anchor has a true match in another domain; match quality needs objects seen in two domains at least"
        )
    return {
        "overlap": _percent(found == 1),
        "top10_overlap": _percent(found <= 10),
        "mean_rank": float(found.double().mean()),
    }


def _percent(hits: Tensor) -> float:
    """NaN of nothing."""
    return 100 * float(hits.double().mean())
