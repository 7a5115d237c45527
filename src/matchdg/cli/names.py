"""Names for help and completion, without importing PyTorch. A test holds them equal to the families' dicts."""

import typer

DATASETS = ("slab", "counter-example", "arrays")
MATCHERS = ("random", "perfect", "partly-perfect")
METHODS = (
    "erm",
    "dann",
    "mmd",
    "coral",
    "irm",
    "csd",
    "randmatch",
    "cdann",
    "c-mmd",
    "c-coral",
    "perfmatch",
)
NETWORKS = ("slab", "resnet18")
TABLES = ("slab",)
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
