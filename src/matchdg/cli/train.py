"""`matchdg train`: one run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from matchdg.cli import names
from matchdg.cli.data_dir import DataDir, use_data_dir
from matchdg.cli.quality import measure, own_representation, show_quality
from matchdg.core.errors import InputError


def train(
    method: Annotated[str | None, names.option("What is minimised", names.METHODS, "--method", "-m")] = None,
    dataset: Annotated[str | None, names.option("The data", names.DATASETS, "--dataset", "-d")] = None,
    network: Annotated[str | None, names.option("The network", names.NETWORKS)] = None,
    freeze: Annotated[
        bool,
        typer.Option("--freeze", help="Train a head alone, on features of --network that are computed once and kept."),
    ] = False,
    on_corrupt: Annotated[
        str | None,
        typer.Option(
            help="Image files that cannot be read: error or skip. The same as dataset.on_corrupt.", show_default=False
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Too few chest X-rays to balance are an error: dataset.strict=true.")
    ] = False,
    matcher: Annotated[str | None, names.option("Where matches come from", names.MATCHERS)] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="A setting, e.g. method.penalty=0.1 or phase1.training.epochs=5. Repeatable."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A YAML file of settings; the options above override it.", show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of data, weights and batches.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Folder for the run; it gets a subfolder named by its settings.")] = Path(
        "matchdg-out"
    ),
    accelerator: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    devices: Annotated[int, typer.Option(help="Processes, one a device.")] = 1,
    threads: Annotated[int | None, typer.Option(help="Threads a process.", show_default=False)] = None,
    checkpoint_seconds: Annotated[
        float, typer.Option(help="Write a checkpoint at most this often, at the end of an epoch.")
    ] = 30.0,
    data_dir: DataDir = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Train one method on one data set, and test it on the target domain.

    The run is kept in a folder named by the hash of its settings: settings, records (JSONL), weights
    (safetensors), match table, result. Run the same command again: a finished run is not repeated, an
    interrupted one goes on where it stopped.

    [bold]Examples[/bold]

    matchdg train --method perfmatch

    matchdg train -m irm -d slab -s method.penalty=5 -s training.epochs=50 --seed 1

    matchdg train -m randmatch -d arrays -s dataset.path=mine.npz -s "dataset.targets=\\[hospital C]"

    matchdg train -m erm -d folder --network resnet18 -s dataset.path=images -s "dataset.targets=\\[sketch]"

    matchdg train -m matchdg -d rotated-digits -s phase1.training.epochs=5 -s phase1.matcher.assignment=nearest

    matchdg train -m contrastive -d rotated-digits

    The last trains phase 1 alone, and shows match quality in place of accuracy; so does `matchdg quality` for any run.
    """
    from matchdg.training import MachineSettings, RunSettings, execute, run_folder
    from matchdg.training.display import Silent, automatic

    use_data_dir(data_dir)
    values = read_config(config)
    named = {"method": method, "dataset": dataset, "network": network, "matcher": matcher, "seed": seed}
    values.update({key: value for key, value in named.items() if value is not None})
    short = ["dataset.strict=true"] if strict else []
    short += [] if on_corrupt is None else [f"dataset.on_corrupt={on_corrupt}"]
    values = apply(values, [*short, *(set_ or [])])
    settings = RunSettings.parse(frozen(values) if freeze else values)
    machine = MachineSettings.parse(
        {
            "accelerator": accelerator,
            "devices": devices,
            "threads": threads,
            "checkpoint_seconds": checkpoint_seconds,
        },
        "machine",
    )
    result = execute(settings, out, machine, Silent() if quiet or json_ else automatic())
    quality = None
    if settings.spec.learns == "matches":
        quality = measure(out, settings, own_representation(settings))
    show(result, run_folder(out, settings), json_, quality)


def read_config(path: Path | None) -> dict[str, Any]:
    """The settings of a YAML file."""
    import yaml

    if path is None:
        return {}
    try:
        values = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{path} could not be read: {reason}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path} holds {type(values).__name__}, expected a mapping of settings")
    return values


def frozen(values: dict[str, Any]) -> dict[str, Any]:
    """The same run of a head on the features of its network."""
    backbone = values.get("network")
    if backbone is None:
        raise InputError("--freeze needs --network NAME: the network that gives the features, with weights")
    if isinstance(backbone, dict) and backbone.get("name") == "frozen":
        return values
    return {**values, "network": {"name": "frozen", "backbone": backbone}}


def apply(values: dict[str, Any], assignments: list[str]) -> dict[str, Any]:
    """`values` with "section.key=value" assignments, their values read as YAML."""
    import yaml

    from matchdg.experiments.study import override

    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        section, dot, name = key.partition(".")
        if not (equals and section and (name or not dot)):
            raise InputError(f"--set {assignment!r} is not of the form section.key=value, e.g. training.epochs=20")
        if dot and values.get(section) is None:
            # A section left empty in a file, or written as null, as that of a run without a phase 1 is.
            values = {other: value for other, value in values.items() if other != section}
            values |= {section: DEFAULTS[section]} if section in DEFAULTS else {}
        if dot and section in ("network", "matcher") and section not in values:
            raise InputError(
                f"--set {assignment!r} needs --{section} NAME too, so that it is clear whose setting it is"
            )
        try:
            values = override(values, {key: yaml.safe_load(text)})
        except yaml.YAMLError:
            raise InputError(f"--set {assignment!r}: {text!r} is not a YAML value; put quotes around it") from None
        except (TypeError, ValueError):
            raise InputError(f"--set {assignment!r}: something before the last dot is a value, not a section") from None
    return values


DEFAULTS: dict[str, Any] = {"dataset": "slab", "method": "perfmatch"}


def show(result: Any, folder: Path, as_json: bool, quality: dict[str, float] | None) -> None:
    """Print the result for a person, or a program; with the match quality of a run that learnt matches alone."""
    import json

    if as_json:
        found = {} if quality is None else {"quality": quality}
        typer.echo(json.dumps({**vars(result), **found, "folder": str(folder)}, indent=2))
        return
    warning = "  (SELECTED ON THE TARGET)" if result.selection.startswith("target") else ""
    typer.echo(f"kept epoch {result.best_epoch + 1} of {result.epochs} by {result.selection}{warning}")
    if quality is None:
        show_accuracy(result)
    else:
        show_matches(result, quality)
    if result.diverged:
        typer.echo("note: training diverged; the best epoch before that was kept", err=True)
    typer.echo(f"run: {folder}")


def show_accuracy(result: Any) -> None:
    """Accuracy of each domain."""
    for name, scores in result.validation.items():
        typer.echo(f"  {name:<20} validation accuracy {100 * scores['accuracy']:6.2f} %")
    for name, scores in result.test.items():
        kind = "target" if name in result.targets else "source"
        typer.echo(f"  {name:<20} test accuracy       {100 * scores['accuracy']:6.2f} %  ({kind})")


def show_matches(result: Any, quality: dict[str, float]) -> None:
    """How well validation inputs find their own augmentations, and how good the matches of the training data are."""
    typer.echo("validation inputs and their own augmentations")
    show_quality({**result.validation["augmentation"], **result.validation["neighbours"]})
    typer.echo("training inputs of different domains")
    show_quality({key: value for key, value in quality.items() if not key.startswith("augmentation")})
