"""PACS with ResNet-18, ResNet-50 and AlexNet from ImageNet weights, by both rules of validation (6.2, E.1 and E.2)."""

from typing import Any

from matchdg.data.pacs import PacsSettings
from matchdg.experiments.paper.hyperparameters import on_pacs
from matchdg.experiments.study import Arm, Budget, Rule, Study
from matchdg.experiments.tables.fine_tuned import (
    AS_PRINTED,
    AS_THE_PAPER_SAYS,
    NOTES,
    Setup,
    grid_of,
    phase1_of,
    run_of,
)

DOMAINS = {"Photo": "photo", "Art Painting": "art_painting", "Cartoon": "cartoon", "Sketch": "sketch"}
AVERAGE = "Average"
NETWORKS = {"ResNet-18": "resnet18", "ResNet-50": "resnet50", "AlexNet": "alexnet"}
# Phase 1's, whatever phase 2 has (appendix C.3).
PHASE1_NETWORK = "resnet50"
ROWS = {
    "ERM": "erm",
    "RandMatch": "randmatch",
    "MatchDG": "matchdg",
    AS_PRINTED: "matchdg-paper",
    "MDGHybrid": "mdghybrid",
}
GROUPS: dict[Rule, str] = {"source": "source validation", "target": "test validation"}
LEAKS = (
    "'Test validation' chooses hyper-parameters and epoch by the accuracy on all images of the target domain, the same "
    "ones that are tested, so that its numbers are too good. Which hyper-parameters it chose the paper does not print."
)
PHASE1 = "Phase 1 is trained with ResNet-50 from ImageNet weights in all rows, as printed."
QUOTED = "Rows quoted in the paper are of other papers, some of which do not say what they validated on."

SETUPS: dict[Budget, Setup] = {
    "quick": Setup(
        "64x64 pixels; the printed networks with ImageNet weights are frozen, and a small head trains for 10 epochs on "
        "features of two views of each image; one seed",
        "learning rate 0.01 and penalties 0.1, nothing searched",
        "frozen",
        64,
        10,
        {"matchdg": 5, "matchdg-paper": 10},
        {"learning_rate": (0.01,), "penalty": (0.1,), "view_penalty": (0.1,)},
        (0,),
    ),
    "cpu": Setup(
        "the printed networks from ImageNet weights at 64x64 pixels, 5 epochs rather than 50, in the printed phase 1 "
        "too; one seed",
        "of the printed grids the learning rates 0.01 and 0.001 and the penalties 0.01, 0.1 and 1.0 (of views: 0.1)",
        "fine-tuned",
        64,
        5,
        {"matchdg": 2, "matchdg-paper": 5},
        {"learning_rate": (0.01, 0.001), "penalty": (0.01, 0.1, 1.0), "view_penalty": (0.1,)},
        (0,),
    ),
    "paper": Setup(
        "as printed, at 224x224 pixels",
        "the printed grids",
        "fine-tuned",
        224,
        50,
        {"matchdg": 2, "matchdg-paper": 50},
        {"learning_rate": (0.01, 0.001, 0.0005)},
        (0, 1, 2),
    ),
}


def pacs_resnet18(budget: Budget, rule: Rule) -> Study:
    """ResNet-18, chosen on source domains and, in a second block, on the target."""
    return _study("pacs_resnet18", "PACS, ResNet-18", budget, rule, _blocks("ResNet-18", budget, rule, True))


def pacs_resnet50(budget: Budget, rule: Rule) -> Study:
    """ResNet-50, chosen on source domains."""
    return _study("pacs_resnet50", "PACS, ResNet-50", budget, rule, _blocks("ResNet-50", budget, rule, False))


def pacs_alexnet(budget: Budget, rule: Rule) -> Study:
    """AlexNet, chosen on source domains and, in a second block, on the target."""
    return _study("pacs_alexnet", "PACS, AlexNet", budget, rule, _blocks("AlexNet", budget, rule, True))


def pacs_full(budget: Budget, rule: Rule) -> Study:
    """ResNet-18 by both rules, and ResNet-50: the runs of their own tables, beside more quoted rows."""
    arms = [
        *_blocks("ResNet-18", budget, rule, True, "ResNet-18, "),
        *_blocks("ResNet-50", budget, rule, False, "ResNet-50, "),
    ]
    return _study("pacs_full", "PACS, ResNet-18 and ResNet-50", budget, rule, arms)


def dataset(domain: str, fingerprint: str | None) -> dict[str, Any]:
    """The data section with one domain held out."""
    return {"name": "pacs", "targets": [domain], "views": "pacs", "fingerprint": fingerprint}


def fingerprint() -> str | None:
    """PACS's, looked up once a study, because that takes longer than all else in parsing a run; None where it is not.

    A study of data that are elsewhere is a study still; its runs say what is wrong.
    """
    return PacsSettings().fingerprint


def matchdg_phase1(domain: str, budget: Budget) -> dict[str, Any]:
    """MatchDG's phase 1 with one domain held out, as a run of its own."""
    data = dataset(domain, fingerprint())
    return phase1_of(run_of("matchdg", data, NETWORKS["ResNet-18"], PHASE1_NETWORK, SETUPS[budget], "source"))


def _blocks(network: str, budget: Budget, rule: Rule, both: bool, prefix: str = "") -> list[Arm]:
    """The rows by source validation and, as printed without ERM, by test validation; by `rule` alone if it leaks."""
    found = fingerprint()
    arms = _block(network, budget, rule, prefix, tuple(ROWS), found)
    if both and rule == "source":
        arms += _block(network, budget, "target", prefix, tuple(label for label in ROWS if label != "ERM"), found)
    return arms


def _block(
    network: str, budget: Budget, rule: Rule, prefix: str, labels: tuple[str, ...], found: str | None
) -> list[Arm]:
    setup, group = SETUPS[budget], prefix + GROUPS[rule]
    return [
        Arm(
            label,
            group,
            run_of(ROWS[label], dataset(domain, found), NETWORKS[network], PHASE1_NETWORK, setup, rule),
            grid_of(ROWS[label], "pacs", setup),
            task=f"{group}, {column}",
            columns={column: "target"},
            printed=printed_point(network, column, label),
        )
        for label in labels
        for column, domain in DOMAINS.items()
    ]


def printed_point(network: str, column: str, label: str) -> dict[str, Any]:
    """The hyper-parameters that the paper prints for a network, a test domain and a row.

    >>> printed_point("ResNet-18", "Photo", "MatchDG")
    {'training.learning_rate': 0.0005, 'method.penalty': 1.0}
    """
    values = on_pacs(network, column, "MatchDG" if label == AS_PRINTED else label)
    penalty, rate = values["match_penalty"], {"training.learning_rate": values["learning_rate"]}
    if label == "ERM":
        return rate
    if isinstance(penalty, dict):
        return {**rate, "method.penalty": penalty["matchdg"], "method.view_penalty": penalty["perfmatch"]}
    return {**rate, "method.penalty": penalty}


def _study(table: str, title: str, budget: Budget, rule: Rule, arms: list[Arm]) -> Study:
    setup = SETUPS[budget]
    leaks = rule == "target" or any((arm.group or "").endswith(GROUPS["target"]) for arm in arms)
    return Study(
        table,
        title,
        budget,
        tuple(arms),
        setup.seeds,
        search_seeds=setup.search_seeds,
        rule=rule,
        notes=(*NOTES, PHASE1, AS_THE_PAPER_SAYS, QUOTED, *((LEAKS,) if leaks else ())),
        about_budget=setup.about,
        about_search=setup.about_search,
        averages={AVERAGE: tuple(DOMAINS)},
        show_printed=True,
    )
