"""`matchdg quality`: how good the matches are that a finished run's representation gives."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from matchdg.cli.data_dir import DataDir, use_data_dir
from matchdg.core.errors import InputError

if TYPE_CHECKING:
    from matchdg.matching import RepresentationSettings
    from matchdg.training import RunSettings

MEASURES = {
    "overlap": ("overlap", "%"),
    "top10_overlap": ("top-10 overlap", "%"),
    "mean_rank": ("mean rank", ""),
    "table_overlap": ("overlap of the run's match table", "%"),
    "mutual": ("mutual nearest neighbours", "%"),
    "stability": ("matches that the last update kept", "%"),
    "augmentation_overlap": ("own augmentation nearest", "%"),
    "augmentation_top10_overlap": ("own augmentation in the nearest ten", "%"),
    "augmentation_mean_rank": ("mean rank of the own augmentation", ""),
}
UNKNOWN = "the data set's objects are not known, so overlap and ranks cannot be told"


def quality(
    run: Annotated[Path, typer.Argument(help="The run's folder, .../runs/HASH, as `matchdg train` prints it.")],
    layer: Annotated[
        Literal["representation", "logits"] | None,
        typer.Option(help="The layer that is compared.", show_default=False),
    ] = None,
    statistics: Annotated[
        Literal["running", "domain", "cell"] | None,
        typer.Option(
            help="What BatchNorm uses: running statistics, those of a domain, or of a class within a domain.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        Literal["l2", "cosine"] | None,
        typer.Option(help="Distance of features, or of features of length one.", show_default=False),
    ] = None,
    normalise: Annotated[
        Literal["none", "centre", "whiten"] | None,
        typer.Option(help="Centre, or centre and whiten, each class within each domain.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Measure the match quality of a finished run's representation: of any method's, phase 1's too.

    Overlap, top-10 overlap and mean rank of the true matches (appendix C.2), on the training data of the source
    domains, and the share of mutual nearest neighbours, which needs no known objects. What is not given is as
    the run itself matched; for a run that did not learn matches: representation, running, l2, none.

    [bold]Examples[/bold]

    matchdg quality matchdg-out/runs/0fc02dc0ea32cd49

    matchdg quality matchdg-out/runs/0fc02dc0ea32cd49 --layer logits --metric cosine --json
    """
    import json

    from matchdg.matching import RepresentationSettings

    use_data_dir(data_dir)
    out, settings = read_run(run)
    given = {"layer": layer, "statistics": statistics, "metric": metric, "normalise": normalise}
    values = own_representation(settings).dump() | {key: value for key, value in given.items() if value is not None}
    measured = RepresentationSettings.parse(values, "quality")
    found = measure(out, settings, measured)
    if json_:
        typer.echo(json.dumps({"run": settings.hash, "measured": measured.dump(), **found}, indent=2))
        return
    typer.echo(f"{settings.spec.label}, seed {settings.seed}: {', '.join(f'{k} {v}' for k, v in values.items())}")
    show_quality(found)


def read_run(folder: Path) -> "tuple[Path, RunSettings]":
    """The folder that holds `runs`, and the settings, of the finished run in `folder`."""
    import json

    from matchdg.training import RunSettings, read_result, run_folder

    folder = folder.expanduser().resolve()
    path = folder / "settings.json"
    try:
        values = json.loads(path.read_text())
    except OSError as error:
        raise InputError(
            f"{path} could not be read: {error.strerror}; give a run's folder, .../runs/HASH, as `matchdg train` "
            "prints it"
        ) from None
    except ValueError:
        raise InputError(f"{path} is not valid JSON; delete the folder and train again") from None
    if not isinstance(values, dict):
        raise InputError(f"{path} holds {type(values).__name__}, expected the settings of a run")
    try:
        settings = RunSettings.parse(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    out = folder.parent.parent
    if run_folder(out, settings) != folder:
        raise InputError(
            f"{folder} is not where its settings belong ({run_folder(out, settings)}): it was renamed, or made by "
            "another version of matchdg; train again"
        )
    if read_result(out, settings) is None:
        raise InputError(f"the run in {folder} is not finished; the command that began it goes on with it")
    return out, settings


def own_representation(settings: "RunSettings") -> "RepresentationSettings":
    """What a run that learns matches compares; the defaults for any other run."""
    from matchdg.matching import NearestSettings, RepresentationSettings

    matcher = settings.matcher
    if not isinstance(matcher, NearestSettings):
        return RepresentationSettings()
    return RepresentationSettings(**{key: getattr(matcher, key) for key in RepresentationSettings.model_fields})


def measure(out: Path, settings: "RunSettings", measured: "RepresentationSettings") -> dict[str, float]:
    """`measure_quality`; raises `InputError` where the run's files are damaged."""
    from safetensors import SafetensorError

    from matchdg.training import run_folder
    from matchdg.training.quality import measure_quality

    try:
        return measure_quality(out, settings, measured)
    except (OSError, SafetensorError) as error:
        weights = run_folder(out, settings) / "weights.safetensors"
        raise InputError(f"{weights} could not be read ({error}); delete its folder and train again") from None


def show_quality(found: dict[str, Any]) -> None:
    """Print the measures for a person."""
    for name, (title, unit) in MEASURES.items():
        if found.get(name) is not None:
            typer.echo(f"  {title:<37}{found[name]:8.2f} {unit}".rstrip())
    if "overlap" not in found:
        typer.echo(f"  {UNKNOWN}")
