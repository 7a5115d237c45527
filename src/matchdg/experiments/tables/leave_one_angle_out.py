"""Leave one of six angles out: LeNet with the same digits everywhere, and DomainBed's CNN (appendices D.1, D.2)."""

from typing import Any

from matchdg.experiments.study import Arm, Budget, Rule, Study
from matchdg.experiments.tables.rotated import AS_PRINTED, LEAVE_ONE_OUT, MNIST, TRAINING
from matchdg.methods import METHODS

NAMES = ("erm", "randmatch", "matchdg", "matchdg-paper", "perfmatch")
NOTE = (
    "'MatchDG' is this package's default, whose phase 1 has a small CNN of its own; "
    f"'{AS_PRINTED}' has the table's network in both phases, the printed phase 1 and, in phase 2, the random extra "
    "part of each batch, which no other row has."
)
ANGLES = tuple(str(angle) for angle in LEAVE_ONE_OUT)


def rotated_mnist_lenet(budget: Budget, rule: Rule) -> Study:
    """1,000 digits, the same in all domains, targets included; LeNet for every classifier."""
    quick = budget == "quick"
    return _study(
        "rotated_mnist_lenet",
        "Rotated MNIST, LeNet",
        budget,
        rule,
        network="lenet",
        data={"size": 28, "train_per_domain": 300 if quick else 1000, "digits": "same", "test_per_domain": None},
        training={"epochs": 20 if quick else 100, "batch_rows": 16},
        phase1={
            "matchdg": {"epochs": 10 if quick else 50, "batch_rows": 64},
            "matchdg-paper": {"epochs": 10 if quick else 50, "batch_rows": 64 if quick else 512},
        },
        seeds=(0,) if quick else (0, 1, 2),
        about="300 digits, 20 epochs, one seed" if quick else "as printed, at 28x28 pixels",
    )


def rotated_mnist_domainbed(budget: Budget, rule: Rule) -> Study:
    """All 70,000 images, shared out between sources and target; DomainBed's CNN for every classifier."""
    tests = {"quick": 2000, "cpu": 10_000, "paper": None}
    sizes = {"quick": 300, "cpu": 10_000, "paper": "all"}
    epochs = {"quick": 4, "cpu": 10, "paper": 25}
    about = {
        "quick": "300 images a domain, 2,000 to test on, 4 epochs, one seed",
        "cpu": "10,000 images a domain rather than all, 10 epochs, one seed",
        "paper": "as printed",
    }
    return _study(
        "rotated_mnist_domainbed",
        "Rotated MNIST, DomainBed's set-up",
        budget,
        rule,
        network="domainbed-cnn",
        data={"size": 28, "train_per_domain": sizes[budget], "test_per_domain": tests[budget]},
        training={"epochs": epochs[budget], "batch_rows": 16 if budget == "quick" else 128},
        phase1={
            "matchdg": {"epochs": 5 if budget == "quick" else 10, "batch_rows": 64 if budget == "quick" else 128},
            "matchdg-paper": {
                "epochs": {"quick": 3, "cpu": 10, "paper": 50}[budget],
                "batch_rows": 64 if budget == "quick" else 512,
            },
        },
        seeds=(0, 1, 2) if budget == "paper" else (0,),
        about=about[budget],
    )


def _study(
    table: str,
    title: str,
    budget: Budget,
    rule: Rule,
    network: str,
    data: dict[str, Any],
    training: dict[str, Any],
    phase1: dict[str, dict[str, Any]],
    seeds: tuple[int, ...],
    about: str,
) -> Study:
    arms = []
    for name in NAMES:
        for angle in LEAVE_ONE_OUT:
            sources = [other for other in LEAVE_ONE_OUT if other != angle]
            values: dict[str, Any] = {
                "dataset": {"name": MNIST, "sources": sources, "targets": [angle], **data},
                "network": network,
                "method": {"name": name, **({} if name == "erm" else {"penalty": 1.0})},
                "training": {
                    **TRAINING,
                    **training,
                    **({"selection": "target"} if rule == "target" else {}),
                },
            }
            if METHODS[name].phase1 is not None:
                values["phase1"] = {"training": phase1[name]}
            label = AS_PRINTED if name == "matchdg-paper" else METHODS[name].label
            column = str(angle)
            arms.append(Arm(label, None, values, oracle=name == "perfmatch", task=column, columns={column: "target"}))
    return Study(
        table,
        title,
        budget,
        tuple(arms),
        seeds,
        rule=rule,
        notes=(NOTE,),
        about_budget=about,
        averages={"Average": ANGLES},
        show_printed=True,
    )
