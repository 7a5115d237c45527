"""Nearest matching: each anchor's match in a domain is the nearest input of its class there, in some representation."""

from math import prod
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d, normalize

from matchdg.core.errors import DivergedError
from matchdg.core.settings import Settings
from matchdg.data import DomainDataset
from matchdg.matching.approximate import find_faiss, recall
from matchdg.matching.assign import Assignment
from matchdg.matching.matchers import PerfectSettings, RandomSettings
from matchdg.matching.normalise import normalise
from matchdg.matching.route import match_rows
from matchdg.matching.search import MEMORY
from matchdg.matching.table import MatchTable, anchor_positions, anchors_and_candidates, base_domains

Statistics = Literal["running", "domain", "cell"]
_BLUR, _PATCHES = 5 / 28, 14


class RepresentationSettings(Settings):
    """What distances between inputs are measured on."""

    layer: Literal["representation", "logits"] = Field("representation", description="the layer that is compared")
    statistics: Statistics = Field(
        "running",
        description="what BatchNorm uses while features for matching are computed: its running statistics, or those "
        "of one domain at a time, which takes out a shift of the domain, or of one class within one domain at a time "
        "(cell; the reference code); never used for predictions",
    )
    metric: Literal["l2", "cosine"] = Field("l2", description="distance of features, or of features of length one")
    normalise: Literal["none", "centre", "whiten"] = Field(
        "none", description="centre, or centre and whiten, the features of each class within each domain"
    )

    def prepare(self, features: Tensor, dataset: DomainDataset) -> Tensor:
        """`features[N, D]` so that their l2 distance is the one asked for."""
        if not bool(features.isfinite().all()):
            rows = (~features.isfinite().all(1)).nonzero().flatten().tolist()
            raise DivergedError(f"features of {len(rows)} input(s) are NaN or infinite, the first of input {rows[0]}")
        if self.metric == "cosine":
            features = normalize(features, dim=1)
        if self.normalise == "none":
            return features
        cells = dataset.domains * len(dataset.class_names) + dataset.labels
        return normalise(features, cells.to(features.device), self.normalise)


class NearestSettings(RepresentationSettings):
    """The nearest input of the same class, in the representation that is being learnt (phase 1 of MatchDG)."""

    every: int | None = Field(
        5, ge=1, description="epochs between two updates of the matches (t); null: they stay as they started"
    )
    start: Literal["random", "perfect", "inputs", "network"] = Field(
        "random",
        description="the first matches: random within a class, the true ones (an oracle), nearest in the "
        "inputs themselves (images: blurred pixels), or nearest in what the network makes of them before it is "
        "trained (one with weights from elsewhere)",
    )
    assignment: Assignment = Field(
        "nearest",
        description="each anchor's nearest input, whoever else has it; the same as far as FAISS finds it (approximate, "
        "an extra; the records say how often it is the nearest one: recall); or the pairing of least total distance "
        "that uses each input once, or, where a class has fewer inputs in a domain than anchors, as equally often as "
        "can be",
    )
    route: Literal["direct", "tree"] = Field(
        "direct",
        description="match the base domain with each other domain; or match along the tree of nearest domains",
    )
    rounds: int = Field(
        0, ge=0, description="rounds in which each domain is matched anew to the mean of its rows in all others"
    )
    memory_mb: int = Field(256, ge=1, description="memory that a search may take, in MiB")

    def build(self, dataset: DomainDataset) -> "NearestMatcher":
        """The matcher for `dataset`, with its first matches. Raises `InputError` where it needs FAISS, an extra."""
        if self.assignment == "nearest-approximate":
            find_faiss()
        return NearestMatcher(dataset, self)


class NearestMatcher:
    """Holds a match table; `update` computes it anew from features. The trainer asks `due` when to."""

    def __init__(self, dataset: DomainDataset, settings: NearestSettings) -> None:
        self.dataset, self.settings = dataset, settings
        self.table: MatchTable | None = None

    def draw(self, generator: torch.Generator) -> MatchTable:
        """The table as it is; the first one where there is none yet."""
        if self.table is None:
            self.table = self._start(generator)
        return self.table

    def due(self, epoch: int) -> bool:
        """Whether `epoch` begins with an update."""
        if epoch == 0:
            return self.settings.start == "network"
        return self.settings.every is not None and epoch % self.settings.every == 0

    def update(self, features: Tensor) -> MatchTable:
        """Match anew on `features[N, D]` of the data set's inputs."""
        base = base_domains(self.dataset)
        rows = match_rows(
            self.settings.prepare(features, self.dataset),
            self.dataset.labels,
            self.dataset.domains,
            len(self.dataset.domain_names),
            base,
            self.settings.assignment,
            self.settings.route,
            self.settings.rounds,
            self.settings.memory_mb * 2**20,
        )
        anchors = self.dataset.domains[anchor_positions(self.dataset)]
        self.table = MatchTable(rows, anchors)
        return self.table

    def recall(self, features: Tensor) -> float | None:
        """Of approximate matches, the share of nearest inputs that the search finds, on up to 100 anchors a class.

        In percent, from the base domain to the others; None where matches are exact.
        """
        if self.settings.assignment != "nearest-approximate":
            return None
        prepared = self.settings.prepare(features, self.dataset)
        pairs = anchors_and_candidates(self.dataset)
        found = [
            recall(prepared[anchors.to(prepared.device)], prepared[candidates.to(prepared.device)], sample=100)
            for anchors, candidates in pairs
        ]
        return 100 * sum(found) / len(found) if found else None

    def _start(self, generator: torch.Generator) -> MatchTable:
        if self.settings.start == "inputs":
            return self.update(input_features(self.dataset, self.settings.memory_mb * 2**20))
        start = PerfectSettings() if self.settings.start == "perfect" else RandomSettings()
        return start.build(self.dataset).draw(generator)


def input_features(dataset: DomainDataset, memory: int = MEMORY) -> Tensor:
    """Inputs as features [N, F]: blurred and thinned pixels of images, standardised columns of flat inputs.

    `memory` bounds the inputs that are at hand at a time, in float32 and blurred.
    """
    batch = max(1, memory // (8 * prod(dataset.input_shape)))
    parts = [_pooled(dataset.inputs[positions]) for positions in torch.arange(len(dataset)).split(batch)]
    features = torch.cat(parts)
    if len(dataset.input_shape) == 3:
        return features
    spread = features.std(0)
    return (features - features.mean(0)) / spread.where(spread > 0, torch.ones_like(spread))


def _pooled(inputs: Tensor) -> Tensor:
    if inputs.dim() != 4:
        return inputs.float().flatten(1)
    side = min(inputs.shape[2:])
    # An odd window, so that the picture does not move.
    window = max(1, 2 * round((_BLUR * side - 1) / 2) + 1)
    blurred = avg_pool2d(inputs.float(), window, stride=1, padding=window // 2)
    return adaptive_avg_pool2d(blurred, min(side, _PATCHES)).flatten(1)
