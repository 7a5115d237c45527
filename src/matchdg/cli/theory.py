"""`matchdg theory`: what the paper proves, checked on the spot."""

from typing import Annotated, Any

import typer


def theory(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the counter-example's data.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check the paper's d-separation statements and the numbers of its counter-example.

    The statements are tested on the causal graph of figure 2b; the counter-example's numbers are computed in
    closed form and measured on data drawn from the seed. Exit code 1 if a statement does not hold.
    """
    import json

    from matchdg.theory import causal_graph, check_statements, counter_example

    statements = check_statements(causal_graph())
    numbers = counter_example(seed=seed)
    if json_:
        typer.echo(json.dumps({"statements": statements, "counter_example": numbers}, indent=2))
    else:
        show(statements, numbers)
    if not all(row["holds"] for row in statements):
        raise typer.Exit(1)


def show(statements: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    """Print both for a person."""
    typer.secho("The causal graph (figure 2b), by d-separation", bold=True)
    for row in statements:
        mark = "holds" if row["holds"] else "DOES NOT HOLD"
        typer.echo(f"  {row['text']:<24} found {row['found']:<12} {mark:<6} ({row['where']})")
    for name, example in numbers.items():
        typer.echo()
        typer.secho(f"The counter-example of {name} (kappa = {example['kappa']:g})", bold=True)
        for rule in example["rules"]:
            typer.echo(f"  {rule['rule']}")
            for key, exact in rule["exact"].items():
                measured = rule["measured"][key]
                typer.echo(f"    {key:<24} exact {_number(key, exact)}   measured {_number(key, measured)}")
        holds = "holds" if example["assumption"]["exact"]["holds"] else "does not hold"
        typer.echo(f"  the MatchDG assumption {holds} on the sources")


def _number(key: str, value: float) -> str:
    return f"{value:8.3f}  " if key.endswith("gap") else f"{100 * value:8.2f} %"
