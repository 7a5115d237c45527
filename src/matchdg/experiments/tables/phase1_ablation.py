"""What each choice in this package's phase 1 is worth, one changed at a time; the paper has no such table."""

from typing import Any

from matchdg.experiments.study import Arm, Budget, Column, Rule, Study
from matchdg.experiments.tables import rotated
from matchdg.experiments.tables.rotated import MNIST, SETUPS

COLUMNS = {
    "overlap_pct": Column(),
    "top10_overlap_pct": Column(),
    "mean_rank": Column("rank (1 = nearest)", higher_is_better=False),
    "true_matches_pct": Column(),
    "target_accuracy_pct": Column(),
}
MEASURES = {**rotated.QUALITY, "true_matches_pct": "quality.table_overlap"}
# The change of phase 1's sections, and whether phase 2 is run on it too.
ROWS: dict[str, tuple[dict[str, Any], bool]] = {
    "default": ({}, True),
    "negatives: other classes alone (eq. 4)": ({"method": {"negatives": "other-classes"}}, True),
    "negatives: other classes alone for five epochs": ({"method": {"negatives_from": 5}}, False),
    "matches: nearest (the paper)": ({"matcher": {"assignment": "nearest"}}, True),
    "matches: straight from the base domain (the paper)": ({"matcher": {"route": "direct"}}, True),
    "matches: then two rounds over all domains at once": ({"matcher": {"rounds": 2}}, False),
    "matches: random at first (the paper)": ({"matcher": {"start": "random"}}, True),
    "matches: never renewed": ({"matcher": {"every": None}}, True),
    "matches: renewed after each epoch": ({"matcher": {"every": 1}}, False),
    "matches: renewed every five epochs": ({"matcher": {"every": 5}}, False),
    "statistics: running": ({"matcher": {"statistics": "running"}}, False),
    "statistics: of a class within a domain": ({"matcher": {"statistics": "cell"}}, False),
    "features: centred within class and domain": ({"matcher": {"normalise": "centre"}}, False),
    "features: whitened within class and domain": ({"matcher": {"normalise": "whiten"}}, False),
    "features: l2 distance": ({"matcher": {"metric": "l2"}}, False),
    "temperature 0.05": ({"method": {"temperature": 0.05}}, False),
    "temperature 0.2": ({"method": {"temperature": 0.2}}, False),
    "learning rate: constant": ({"training": {"schedule": "constant"}}, False),
    "epoch: by self-augmentations (the paper)": ({"training": {"keep": "top10-overlap"}}, False),
    "epoch: the last": ({"training": {"keep": "last"}}, False),
    "network: mean over positions": ({"network": {"name": "small-cnn", "summary": "mean"}}, False),
    "network: ResNet-18": ({"network": {"name": "resnet18"}}, True),
}
NOTES = (
    "One change at a time from phase 1 of `matchdg`, on five source angles of MNIST. Overlap, top-10 overlap and mean "
    "rank are of the representation; true matches are the share of the pairs that phase 2 gets which are views of one "
    "image. True pairs are measured with, and neither trained nor selected on.",
    "Target accuracy is that of a whole MatchDG run on these matches, where one was made.",
)


def phase1_ablation(budget: Budget, rule: Rule) -> Study:
    """One choice of phase 1 changed at a time, by match quality and accuracy; not a table of the paper."""
    setup = SETUPS[budget]
    data = rotated.dataset(MNIST, setup)
    arms = []
    for label, (changes, classified) in ROWS.items():
        values = rotated.phase1_of("matchdg", data, setup, **changes)
        measured = rotated.representation_of(values)
        arms.append(Arm(label, None, values, task="phase 1", columns=MEASURES, measured=measured))
        if classified and budget != "quick":
            whole = rotated.run_of("matchdg", data, setup, rule, phase1=changes)
            arms.append(Arm(label, None, whole, task="phase 2", columns={"target_accuracy_pct": "target"}))
    columns = {name: column for name, column in COLUMNS.items() if any(name in (arm.columns or {}) for arm in arms)}
    return Study(
        "phase1_ablation",
        "Choices of phase 1",
        budget,
        tuple(arms),
        (0,),
        rule=rule,
        notes=NOTES,
        about_budget=f"{setup.size}x{setup.size} pixels, {setup.train[MNIST]:,} images a domain, one seed",
        columns=columns,
    )
