"""`matchdg list`: what there is to choose from."""

from typing import Annotated, Any

import typer

from matchdg.cli import names

KINDS = {"classes": "classifier", "matches": "phase 1"}


def list_family(
    family: Annotated[
        str,
        typer.Argument(
            help=f"What to list: {', '.join(names.FAMILIES)}.", autocompletion=names.completion(names.FAMILIES)
        ),
    ],
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List methods, datasets, networks, matchers or tables, with their settings and defaults."""
    import json

    from matchdg.core.families import choose

    entries = choose("family", family, {name: name for name in names.FAMILIES})
    described = describe(entries)
    if json_:
        typer.echo(json.dumps(described, indent=2))
        return
    for entry in described:
        kind = "[phase 1] " if entry.get("kind") == "phase 1" else ""
        typer.echo(f"{typer.style(entry['name'], bold=True)}  {kind}{entry['about']}")
        for setting in entry.get("settings", []) + entry.get("phase1", []):
            typer.echo(f"    {setting['name']} = {setting['default']}  {setting['about']}")


def describe(family: str) -> list[dict[str, Any]]:
    """Plain values about every member of a family."""
    from matchdg.data import DATASETS
    from matchdg.experiments.catalogue import describe_tables
    from matchdg.matching import MATCHERS
    from matchdg.methods import METHODS, PHASE1_METHODS
    from matchdg.networks import NETWORKS

    if family == "tables":
        return describe_tables()
    if family == "methods":
        return [
            {
                "name": name,
                "about": f"{spec.label}: {spec.reference}",
                "kind": KINDS[spec.learns],
                "label": spec.label,
                "matcher": spec.matcher,
                "search": {key: dict(grid) for key, grid in spec.search.items()},
                "settings": _settings(spec.settings),
                "phase1": _phase1(spec),
            }
            for name, spec in {**METHODS, **PHASE1_METHODS}.items()
        ]
    members: Any = {"datasets": DATASETS, "networks": NETWORKS, "matchers": MATCHERS}[family]
    return [
        {"name": name, "about": (cls.__doc__ or "").split("\n")[0], "settings": _settings(cls)}
        for name, cls in members.items()
    ]


def _phase1(spec: Any) -> list[dict[str, Any]]:
    """What the phase 1 of a method has instead of the defaults; nothing where it has none."""
    from matchdg.matching import MATCHERS
    from matchdg.methods import PHASE1_METHODS
    from matchdg.networks import NETWORKS
    from matchdg.training import TrainingSettings

    methods = {name: one.settings for name, one in PHASE1_METHODS.items()}
    families: Any = {"method": methods, "matcher": MATCHERS, "network": NETWORKS}
    found = []
    for section, values in {**(spec.phase1 or {}), **spec.phase1_on_images}.items():
        cls: Any = families[section][values["name"]] if section in families else TrainingSettings
        for key, value in values.items():
            where = " on images" if section in spec.phase1_on_images else ""
            about = f"the {section} of phase 1{where}" if key == "name" else cls.model_fields[key].description
            found.append({"name": f"phase1.{section}.{key}", "default": value, "about": about})
    return found


def _settings(cls: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "default": "(required)" if field.is_required() else _plain(field.default),
            "about": field.description or "",
        }
        for name, field in cls.model_fields.items()
    ]


def _plain(value: Any) -> Any:
    """Settings within settings as plain values."""
    return value.dump() if hasattr(value, "dump") else value
