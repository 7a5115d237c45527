"""Figure 6: where phase 1 of MatchDG puts inputs, by class and by domain; on PACS, and on rotated images too."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset, DomainSplit
from matchdg.experiments.figures.figure import FigureStudy, Numbers
from matchdg.experiments.study import Arm, Budget, Study
from matchdg.experiments.tables import pacs, rotated
from matchdg.experiments.tables.rotated import FASHION, MNIST, SETUPS
from matchdg.networks import Network
from matchdg.training import load_network, read_result, run_folder
from matchdg.training.embed import embed
from matchdg.training.run import build_split

DATASETS = {MNIST: "rotMNIST", FASHION: "rotFashionMNIST"}
TARGETS = ("Photo", "Sketch")
PER_DOMAIN, NEIGHBOURS, PERPLEXITY, SEED = 120, 10, 30, 0
HELD_OUT = (
    f"{PER_DOMAIN} images of each domain, none of which was trained on: validation images of the source domains, "
    "and test images of the target domains."
)
ANGLES = "Of the source domains they are the same images at each angle."
LAYOUT = (
    f"The representation is the one that phase 1 ends with, as the network computes it for any input (running "
    f"statistics), scaled to length one. t-SNE is scikit-learn's, with perplexity {PERPLEXITY} and a fixed seed; "
    f"distances between far groups mean little in it. The table is of the representation itself: how many of an "
    f"input's {NEIGHBOURS} nearest inputs have its class, and its domain."
)


def tsne(budget: Budget) -> FigureStudy:
    """Phase 1's representation of inputs that it was not trained on, in two dimensions, by class and by domain."""
    setup = SETUPS[budget]
    runs = {
        label: rotated.phase1_of("matchdg", rotated.dataset(name, setup), setup) for name, label in DATASETS.items()
    }
    return _figure("tsne", "What phase 1 learns", budget, runs, (HELD_OUT, ANGLES, LAYOUT), setup.about)


def tsne_pacs(budget: Budget) -> FigureStudy:
    """The paper's figure 6: the same of PACS with Photo, and with Sketch, as the target."""
    runs = {f"{target} as the target": pacs.matchdg_phase1(pacs.DOMAINS[target], budget) for target in TARGETS}
    about = f"phase 1 of the tables of PACS: {pacs.SETUPS[budget].about}"
    return _figure("tsne_pacs", "What phase 1 learns on PACS", budget, runs, (HELD_OUT, LAYOUT), about)


def _figure(
    name: str, title: str, budget: Budget, runs: Mapping[str, Mapping[str, Any]], notes: tuple[str, ...], about: str
) -> FigureStudy:
    """The figure with a row for each of `runs`, which are phases 1 of MatchDG."""
    arms = tuple(Arm("MatchDG", label, values, task=label) for label, values in runs.items())
    return FigureStudy(Study(name, title, budget, arms, (0,), notes=notes, about_budget=about), read)


def read(study: Study, store: Path) -> Numbers:
    """A point for every input shown; the summary has how many of its nearest inputs are like it."""
    points: list[dict[str, Any]] = []
    rows: list[tuple[Any, ...]] = []
    for arm in study.arms:
        for seed in study.seeds_of(arm):
            run = arm.run({}, seed)
            if read_result(store, run) is None:
                continue
            split = build_split(run)
            try:
                network = load_network(store, run, split)
            except FileNotFoundError as error:
                raise InputError(
                    f"{error.filename or run_folder(store, run)} is not there: the run came without its weights, as "
                    "those under version control do; choose another --store, where it is trained again"
                ) from None
            shown = Shown.of(network, split)
            points += [{"data": arm.group, "seed": seed, **point} for point in shown.points()]
            rows += [(arm.group, seed, *row) for row in shown.summary()]
    return Numbers(points, ("data", "seed", "inputs", "same class, %", "same domain, %"), rows)


@dataclass(frozen=True)
class Shown:
    """Inputs of every domain: `features[N, D]`, `labels[N]`, `domains[N]` by number, sources first."""

    features: Tensor
    labels: Tensor
    domains: Tensor
    class_names: tuple[str, ...]
    domain_names: tuple[str, ...]
    sources: int

    @classmethod
    def of(cls, network: Network, split: DomainSplit) -> "Shown":
        """Some validation inputs of the sources and test inputs of the targets, in the network's representation."""
        parts = [some(split.validation, split.sources), some(split.test, split.targets)]
        features = torch.cat([embed(network, part, "representation", "running") for part in parts])
        names = (*split.sources, *split.targets)
        numbers = [torch.tensor([names.index(name) for name in part.domain_names])[part.domains] for part in parts]
        labels = torch.cat([part.labels for part in parts])
        return cls(
            normalize(features, dim=1), labels, torch.cat(numbers), split.train.class_names, names, len(split.sources)
        )

    def points(self) -> list[dict[str, Any]]:
        """Where t-SNE puts each input, and what it is."""
        return [
            {
                "x": round(x, 4),
                "y": round(y, 4),
                "class": self.class_names[label],
                "domain": self.domain_names[domain],
                "kind": self._kind(domain),
            }
            for (x, y), label, domain in zip(
                plane(self.features), self.labels.tolist(), self.domains.tolist(), strict=True
            )
        ]

    def summary(self) -> list[tuple[str, float, float]]:
        """Of source inputs, then of target inputs: the percentages of near ones of the same class and domain."""
        similarities = (self.features @ self.features.T).fill_diagonal_(-torch.inf)
        near = similarities.topk(min(NEIGHBOURS, len(self.features) - 1)).indices
        alike = [(column[near] == column[:, None]).double().mean(1) for column in (self.labels, self.domains)]
        found = []
        for kind in ("source", "target"):
            inside = torch.tensor([self._kind(domain) == kind for domain in self.domains.tolist()])
            shares = [round(100 * float(share[inside].mean()), 1) for share in alike]
            found.append((kind, shares[0], shares[1]))
        return found

    def _kind(self, domain: int) -> str:
        return "source" if domain < self.sources else "target"


def some(dataset: DomainDataset, names: tuple[str, ...], count: int = PER_DOMAIN) -> DomainDataset:
    """At most `count` inputs of each of the domains `names`, evenly spread: some data sets are ordered by class."""
    own = [(dataset.domains == dataset.domain_names.index(name)).nonzero().flatten() for name in names]
    return dataset.select(torch.cat([spread(positions, count) for positions in own]))


def spread(positions: Tensor, count: int) -> Tensor:
    """At most `count` of `positions[N]`, evenly spread; of equally many the same ones, as of one image's rotations.

    >>> spread(torch.arange(10), 4).tolist()
    [0, 2, 5, 7]
    """
    shown = min(count, len(positions))
    return positions[torch.arange(shown) * len(positions) // max(shown, 1)]


def plane(features: Tensor) -> list[list[float]]:
    """`features[N, D]` in two dimensions by t-SNE, the same ones whenever they are the same features."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    # On several threads sums are added up in an order that changes.
    with threadpool_limits(1):
        return TSNE(init="pca", perplexity=perplexity, random_state=SEED).fit_transform(features.numpy()).tolist()
