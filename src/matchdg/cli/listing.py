"""`matchdg list`: what there is to choose from."""

from typing import Annotated, Any

import typer

from matchdg.cli import names


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
        typer.echo(f"{typer.style(entry['name'], bold=True)}  {entry['about']}")
        for setting in entry.get("settings", []):
            typer.echo(f"    {setting['name']} = {setting['default']}  {setting['about']}")


def describe(family: str) -> list[dict[str, Any]]:
    """Plain values about every member of a family."""
    from matchdg.data import DATASETS
    from matchdg.experiments import STUDIES, printed_tables
    from matchdg.matching import MATCHERS
    from matchdg.methods import METHODS
    from matchdg.networks import NETWORKS

    if family == "tables":
        return [
            {
                "name": name,
                "about": f"{table['about']} [{'reproducible' if name in STUDIES else 'printed numbers only'}]",
                "reproducible": name in STUDIES,
                "section": table["section"],
                "columns": table["columns"],
            }
            for name, table in printed_tables().items()
        ]
    if family == "methods":
        return [
            {
                "name": name,
                "about": f"{spec.label}: {spec.reference}",
                "label": spec.label,
                "matcher": spec.matcher,
                "search": {key: dict(grid) for key, grid in spec.search.items()},
                "settings": _settings(spec.settings),
            }
            for name, spec in METHODS.items()
        ]
    members: Any = {"datasets": DATASETS, "networks": NETWORKS, "matchers": MATCHERS}[family]
    return [
        {"name": name, "about": (cls.__doc__ or "").split("\n")[0], "settings": _settings(cls)}
        for name, cls in members.items()
    ]


def _settings(cls: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "default": "(required)" if field.is_required() else field.default,
            "about": field.description or "",
        }
        for name, field in cls.model_fields.items()
    ]
