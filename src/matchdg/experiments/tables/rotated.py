"""What the tables on rotated images share: the set-ups of appendix C.1, by budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matchdg.experiments.study import Arm, Budget, Rule
from matchdg.matching import NearestSettings, RepresentationSettings
from matchdg.methods import METHODS
from matchdg.training import RunSettings

MNIST, FASHION = "rotated-mnist", "rotated-fashion-mnist"
FIVE, THREE, TWO = (15, 30, 45, 60, 75), (30, 45, 60), (30, 45)
LEAVE_ONE_OUT = (0, 15, 30, 45, 60, 75)

# Appendix C.3. Momentum 0.9 is the reference code's.
TRAINING: dict[str, Any] = {
    "epochs": 25,
    "batch_rows": 16,
    "learning_rate": 0.01,
    "momentum": 0.9,
    "weight_decay": 0.0005,
    "keep": "accuracy",
}
# As printed: one penalty for all matching methods, and IRM's two.
PRINTED: dict[str, dict[str, Any]] = {
    "randmatch": {"penalty": 0.1},
    "perfmatch": {"penalty": 0.1},
    "matchdg": {"penalty": 0.1},
    "matchdg-paper": {"penalty": 0.1},
}
PRINTED_IRM: dict[str, dict[str, Any]] = {
    MNIST: {"penalty": 1.0, "start_epoch": 5},
    FASHION: {"penalty": 0.05, "start_epoch": 0},
}
AS_PRINTED = "MatchDG (as printed)"
QUALITY = {
    "overlap_pct": "quality.overlap",
    "top10_overlap_pct": "quality.top10_overlap",
    "mean_rank": "quality.mean_rank",
}
# With the statistics that the printed phase 1 is measured with, so that rows compare.
LAST_LAYER = RepresentationSettings(layer="logits", statistics="cell")


@dataclass(frozen=True)
class Setup:
    """What a budget decides: image side, network, number format, images to train on a domain, epochs, seeds.

    `quality_size` is the image side of the tables of match quality, `phase1` what is changed of its training.
    """

    about: str
    size: int
    quality_size: int
    network: str
    precision: str
    train: Mapping[str, int]
    epochs: int
    phase1: Mapping[str, Any]
    seeds: Mapping[str, tuple[int, ...]]


SETUPS: dict[Budget, Setup] = {
    "quick": Setup(
        "28x28 pixels, 1,000 images a domain, a small CNN, 8 epochs, one seed; the paper: 224x224, ResNet-18, "
        "25 epochs, three seeds",
        28,
        28,
        "small-cnn",
        "32-true",
        {MNIST: 1000, FASHION: 1000},
        8,
        {"epochs": 8},
        {MNIST: (0,), FASHION: (0,)},
    ),
    "cpu": Setup(
        "28x28 pixels (match quality: 48x48) rather than 224x224, bfloat16; a phase 1 ends when eight epochs in a row "
        "are no better; Fashion-MNIST with 2,000 images a domain and one seed, MNIST as printed",
        28,
        48,
        "resnet18",
        "bf16-mixed",
        {MNIST: 2000, FASHION: 2000},
        25,
        {"patience": 8},
        {MNIST: (0, 1, 2), FASHION: (0,)},
    ),
    "paper": Setup(
        "as printed",
        224,
        224,
        "resnet18",
        "32-true",
        {MNIST: 2000, FASHION: 10_000},
        25,
        {},
        {MNIST: (0, 1, 2), FASHION: (0, 1, 2)},
    ),
}


def label_of(sources: tuple[int, ...]) -> str:
    """A set of source angles as the paper's results name it.

    >>> label_of((30, 45))
    '30,45'
    """
    return ",".join(str(angle) for angle in sources)


def dataset(
    name: str, setup: Setup, sources: tuple[int, ...] = FIVE, train: int | None = None, size: int | None = None
) -> dict[str, Any]:
    """The data section of a run in the main set-up: 0 and 90 degrees held out."""
    return {
        "name": name,
        "sources": list(sources),
        "targets": [0, 90],
        "size": size or setup.size,
        "train_per_domain": train or setup.train[name],
    }


def run_of(
    method: str, data: dict[str, Any], setup: Setup, /, rule: Rule = "source", **changes: Mapping[str, Any]
) -> dict[str, Any]:
    """A run's sections for a method, with the settings as printed; `changes` go over its sections."""
    chosen = PRINTED_IRM[data["name"]] if method == "irm" else PRINTED.get(method, {})
    values: dict[str, Any] = {
        "dataset": data,
        "network": setup.network,
        "method": {"name": method, **chosen, **changes.get("method", {})},
        "training": {
            **TRAINING,
            "epochs": setup.epochs,
            "precision": setup.precision,
            **({"selection": "target"} if rule == "target" else {}),
            **changes.get("training", {}),
        },
    }
    if METHODS[method].phase1 is not None:
        values["phase1"] = phase1_changes(setup, changes.get("phase1", {}))
    if "matcher" in changes:
        values["matcher"] = changes["matcher"]
    return values


def phase1_changes(setup: Setup, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a budget changes of a phase 1: how long it trains, and the number format."""
    training = {"precision": setup.precision, **setup.phase1}
    return {**given, "training": {**training, **given.get("training", {})}}


def phase1_of(method: str, data: dict[str, Any], setup: Setup, /, **changes: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a method's phase 1 alone, as a run of its own."""
    whole = RunSettings.parse(run_of(method, data, setup, phase1=changes))
    assert whole.phase1 is not None
    return whole.phase1.dump()


def representation_of(values: Mapping[str, Any]) -> RepresentationSettings:
    """The representation that a phase 1 matches in."""
    matcher = RunSettings.parse(values).matcher
    assert isinstance(matcher, NearestSettings)
    return RepresentationSettings(**{key: getattr(matcher, key) for key in RepresentationSettings.model_fields})


def quality_arm(
    label: str,
    group: str,
    values: Mapping[str, Any],
    seeds: tuple[int, ...],
    measured: RepresentationSettings | None = None,
    oracle: bool = False,
    printed_group: str | None = None,
) -> Arm:
    """A row of match quality: of phase 1's own representation, or of `measured`."""
    return Arm(
        label,
        group,
        values,
        oracle=oracle,
        task=group,
        columns=QUALITY,
        measured=measured or representation_of(values),
        seeds=seeds,
        printed_group=printed_group,
    )
