"""The tables of match quality: of phase 1, of phase 2, on less data, and with matches that stay as they started."""

from matchdg.experiments.study import Arm, Budget, Rule, Study
from matchdg.experiments.tables import rotated
from matchdg.experiments.tables.rotated import FASHION, LAST_LAYER, MNIST, SETUPS, Setup

PRINTED = {MNIST: "rotMNIST", FASHION: "rotFashionMNIST (10k per domain)"}
PRINTED_2K = "rotFashionMNIST (2k per domain)"
OURS = "MatchDG (this package's default)"
ORACLE = "MatchDG (PerfMatch)"
PERFECT = {"matcher": {"start": "perfect"}}
NOTE = (
    "True pairs are the views of one image; they are measured with, and neither trained nor selected on, but for the "
    "rows marked as an oracle. 'MatchDG (Default)', as the paper calls it, has the paper's settings. "
    "Features are computed with the statistics that a row matches with, those of one class within one domain at a time "
    "(ours: of one domain), and ERM's and phase 2's as the printed rows'. The printed phase 1 ends at the epoch at "
    "which validation images best find their own views, turned by as much as the sources differ (up to 60 degrees)."
)


def match_quality(budget: Budget, rule: Rule) -> Study:
    """Phase 1 against ERM's last layer (section 6.1)."""
    setup = SETUPS[budget]
    arms = [arm for name, group in PRINTED.items() for arm in phase1_arms(name, group, setup, rule, setup.train[name])]
    return _study("match_quality", "Match quality of phase 1", budget, rule, arms)


def match_quality_fashion_2k(budget: Budget, rule: Rule) -> Study:
    """The same on Fashion-MNIST with 2,000 and with 10,000 images a domain (appendix D.5)."""
    setup = SETUPS[budget]
    small = 1000 if budget == "quick" else 2000
    arms = phase1_arms(FASHION, PRINTED_2K, setup, rule, small)
    if budget == "paper":
        arms += phase1_arms(FASHION, PRINTED[FASHION], setup, rule, 10_000)
    return _study("match_quality_fashion_2k", "Match quality on Fashion-MNIST by size", budget, rule, arms)


def match_quality_phase2(budget: Budget, rule: Rule) -> Study:
    """The representation that classification ends with (appendix D.4)."""
    setup = SETUPS[budget]
    arms = []
    for name, printed in PRINTED.items():
        data = rotated.dataset(name, setup, train=setup.train[name], size=setup.quality_size)
        group = group_of(printed, setup.train[name])
        for label, method in (
            ("RandMatch", "randmatch"),
            ("MatchDG (Phase 2)", "matchdg-paper"),
            (OURS, "matchdg"),
            ("PerfMatch", "perfmatch"),
        ):
            values = rotated.run_of(method, data, setup, rule)
            seeds = setup.seeds[name]
            oracle = label == "PerfMatch"
            arms.append(rotated.quality_arm(label, group, values, seeds, LAST_LAYER, oracle, printed))
    return _study("match_quality_phase2", "Match quality of phase 2", budget, rule, arms)


def iterative_ablation(budget: Budget, rule: Rule) -> Study:
    """Matches renewed during phase 1 against matches that stay as they were drawn (appendix D.6)."""
    setup = SETUPS[budget]
    arms = []
    for name, printed in PRINTED.items():
        data = rotated.dataset(name, setup, train=setup.train[name], size=setup.quality_size)
        group = group_of(printed, setup.train[name])
        for label, matcher in (("MatchDG (Iterative)", {}), ("MatchDG (Non Iterative)", {"every": None})):
            values = rotated.phase1_of("matchdg-paper", data, setup, matcher=matcher)
            arms.append(rotated.quality_arm(label, group, values, setup.seeds[name], printed_group=printed))
        for label, changed in (
            (f"{OURS}, from random matches", {"start": "random"}),
            (f"{OURS}, from random matches, not renewed", {"start": "random", "every": None}),
        ):
            values = rotated.phase1_of("matchdg", data, setup, matcher=changed)
            arms.append(rotated.quality_arm(label, group, values, setup.seeds[name], printed_group=printed))
    return _study("iterative_ablation", "Iterative matching", budget, rule, arms)


def phase1_arms(name: str, printed: str, setup: Setup, rule: Rule, train: int) -> list[Arm]:
    """ERM's last layer, phase 1 as printed, started from the true matches, and ours, beside the group `printed`."""
    data = rotated.dataset(name, setup, train=train, size=setup.quality_size)
    seeds, group = setup.seeds[name], group_of(printed, train)
    rows = (
        ("ERM", rotated.run_of("erm", data, setup, rule), LAST_LAYER),
        ("MatchDG (Default)", rotated.phase1_of("matchdg-paper", data, setup), None),
        (ORACLE, rotated.phase1_of("matchdg-paper", data, setup, **PERFECT), None),
        (OURS, rotated.phase1_of("matchdg", data, setup), None),
    )
    return [
        rotated.quality_arm(label, group, values, seeds, measured, label == ORACLE, printed)
        for label, values, measured in rows
    ]


def group_of(printed: str, train: int) -> str:
    """The group's printed name, if its data are as many as printed, else with their number.

    >>> group_of("rotFashionMNIST (10k per domain)", 2000)
    'rotFashionMNIST (2,000 per domain; printed: 10k per domain)'
    """
    name, _, size = printed.rstrip(")").partition(" (")
    numbers = {"10k per domain": 10_000, "2k per domain": 2000}
    return printed if numbers.get(size, 2000) == train else f"{name} ({train:,} per domain; printed: {size or '2,000'})"


def _study(table: str, title: str, budget: Budget, rule: Rule, arms: list[Arm]) -> Study:
    setup = SETUPS[budget]
    seeds = setup.seeds[MNIST]
    return Study(table, title, budget, tuple(arms), seeds, rule=rule, notes=(NOTE,), about_budget=setup.about)
