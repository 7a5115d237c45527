"""The tables of match quality: of phase 1, of phase 2, on less data, and with matches that stay as they started."""

from matchdg.experiments.study import Arm, Budget, Rule, Study
from matchdg.experiments.tables import rotated
from matchdg.experiments.tables.rotated import FASHION, LAST_LAYER, MNIST, SETUPS, Setup

GROUPS = {MNIST: "rotMNIST", FASHION: "rotFashionMNIST (10k per domain)"}
OURS = "MatchDG (this package's default)"
PERFECT = {"matcher": {"start": "perfect"}}
NOTE = (
    "True pairs are the views of one image; they are measured with, and neither trained nor selected on, but for the "
    "rows marked as an oracle. 'MatchDG (Default)', as the paper calls it, has the paper's settings."
)


def match_quality(budget: Budget, rule: Rule) -> Study:
    """Phase 1 against ERM's last layer (section 6.1)."""
    setup = SETUPS[budget]
    arms = [
        arm for name, group in GROUPS.items() for arm in phase1_arms(name, group, setup, rule, _sized(name, budget))
    ]
    return _study("match_quality", "Match quality of phase 1", budget, rule, arms)


def match_quality_fashion_2k(budget: Budget, rule: Rule) -> Study:
    """The same on Fashion-MNIST with 2,000 and with 10,000 images a domain (appendix D.5)."""
    setup = SETUPS[budget]
    small = 1000 if budget == "quick" else 2000
    arms = phase1_arms(FASHION, "rotFashionMNIST (2k per domain)", setup, rule, small)
    if budget == "paper":
        arms += phase1_arms(FASHION, GROUPS[FASHION], setup, rule, 10_000)
    return _study("match_quality_fashion_2k", "Match quality on Fashion-MNIST by size", budget, rule, arms)


def match_quality_phase2(budget: Budget, rule: Rule) -> Study:
    """The representation that classification ends with (appendix D.4)."""
    setup = SETUPS[budget]
    arms = []
    for name, group in GROUPS.items():
        data = rotated.dataset(name, setup, train=_sized(name, budget), size=setup.quality_size)
        for label, method in (
            ("RandMatch", "randmatch"),
            ("MatchDG (Phase 2)", "matchdg-paper"),
            (OURS, "matchdg"),
            ("PerfMatch", "perfmatch"),
        ):
            values = rotated.run_of(method, data, setup, rule)
            seeds = setup.seeds[name]
            arms.append(rotated.quality_arm(label, group, values, seeds, LAST_LAYER, oracle=label == "PerfMatch"))
    return _study("match_quality_phase2", "Match quality of phase 2", budget, rule, arms)


def iterative_ablation(budget: Budget, rule: Rule) -> Study:
    """Matches renewed during phase 1 against matches that stay as they were drawn (appendix D.6)."""
    setup = SETUPS[budget]
    arms = []
    for name, group in GROUPS.items():
        data = rotated.dataset(name, setup, train=_sized(name, budget), size=setup.quality_size)
        for label, matcher in (("MatchDG (Iterative)", {}), ("MatchDG (Non Iterative)", {"every": None})):
            values = rotated.phase1_of("matchdg-paper", data, setup, matcher=matcher)
            arms.append(rotated.quality_arm(label, group, values, setup.seeds[name]))
        for label, changed in (
            (f"{OURS}, from random matches", {"start": "random"}),
            (f"{OURS}, from random matches, not renewed", {"start": "random", "every": None}),
        ):
            values = rotated.phase1_of("matchdg", data, setup, matcher=changed)
            arms.append(rotated.quality_arm(label, group, values, setup.seeds[name]))
    return _study("iterative_ablation", "Iterative matching", budget, rule, arms)


def phase1_arms(name: str, group: str, setup: Setup, rule: Rule, train: int) -> list[Arm]:
    """ERM's last layer, phase 1 as printed, started from the true matches, and ours."""
    data = rotated.dataset(name, setup, train=train, size=setup.quality_size)
    seeds = setup.seeds[name]
    return [
        rotated.quality_arm("ERM", group, rotated.run_of("erm", data, setup, rule), seeds, LAST_LAYER),
        rotated.quality_arm("MatchDG (Default)", group, rotated.phase1_of("matchdg-paper", data, setup), seeds),
        rotated.quality_arm(
            "MatchDG (PerfMatch)",
            group,
            rotated.phase1_of("matchdg-paper", data, setup, **PERFECT),
            seeds,
            oracle=True,
        ),
        rotated.quality_arm(OURS, group, rotated.phase1_of("matchdg", data, setup), seeds),
    ]


def _sized(name: str, budget: Budget) -> int:
    return SETUPS[budget].train[name]


def _study(table: str, title: str, budget: Budget, rule: Rule, arms: list[Arm]) -> Study:
    setup = SETUPS[budget]
    seeds = setup.seeds[MNIST]
    return Study(table, title, budget, tuple(arms), seeds, rule=rule, notes=(NOTE,), about_budget=setup.about)
