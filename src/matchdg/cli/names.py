"""Names for help and completion, without importing PyTorch. A test holds them equal to the families' dicts."""

import typer

DATASETS = (
    "slab",
    "counter-example",
    "rotated-mnist",
    "rotated-fashion-mnist",
    "rotated-digits",
    "arrays",
    "folder",
    "pacs",
    "chest-xray",
)
MATCHERS = ("random", "perfect", "partly-perfect", "nearest", "learnt")
METHODS = (
    "erm",
    "dann",
    "mmd",
    "coral",
    "irm",
    "csd",
    "masf",
    "randmatch",
    "cdann",
    "c-mmd",
    "c-coral",
    "matchdg",
    "matchdg-paper",
    "mdghybrid",
    "perfmatch",
)
NETWORKS = (
    "slab",
    "resnet18",
    "resnet50",
    "lenet",
    "domainbed-cnn",
    "small-cnn",
    "frozen",
    "efficientnet-lite0",
    "alexnet",
    "densenet121",
    "timm",
)
TABLES = (
    "slab",
    "rotated_mnist_resnet18",
    "match_quality",
    "rotated_mnist_lenet",
    "rotated_mnist_domainbed",
    "perfect_fraction",
    "match_quality_phase2",
    "match_quality_fashion_2k",
    "iterative_ablation",
    "rotated_digits",
    "phase1_ablation",
    "pacs_resnet18",
    "pacs_resnet50",
    "pacs_alexnet",
    "pacs_full",
    "chest_xray",
    "pacs_lite0",
    "pacs_lite0_frozen",
    "pacs_lite0_layers",
)
FIGURES = ("penalty_curves", "tsne", "tsne_pacs")
FAMILIES = ("methods", "datasets", "networks", "matchers", "tables")


def completion(names: tuple[str, ...]):  # type: ignore[no-untyped-def]
    """A completer that offers the `names` that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def option(help_text: str, names: tuple[str, ...], *flags: str) -> typer.models.OptionInfo:
    """An option whose help and completion list `names`."""
    info: typer.models.OptionInfo = typer.Option(
        *flags, help=f"{help_text}: {', '.join(names)}.", autocompletion=completion(names), show_default=False
    )
    return info
