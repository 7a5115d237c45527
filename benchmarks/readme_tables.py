"""Write the README's tables from where they come from: `METHODS`, and `results/`.

python benchmarks/readme_tables.py           # rewrite them
python benchmarks/readme_tables.py --check   # exit code 1 if they are not up to date
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matchdg.core.files import write_text
from matchdg.methods import METHODS

ROOT = Path(__file__).parents[1]


def methods() -> str:
    """Name on the command line, label, default matches, source."""
    lines = ["| `--method` | | trains on | source |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {spec.label} | {spec.matcher} matches | {spec.reference} |" for name, spec in METHODS.items()
    ]
    return "\n".join(lines)


def table(name: str) -> str:
    """The rows that we ran, the printed number in brackets; a line for each group of rows, if there are several."""
    found = json.loads((ROOT / "results" / name / "table.json").read_text())
    columns = found["columns"]
    lines = [f"| | {' | '.join(HEADS.get(column, column) for column in columns)} |", "|---|" + "---|" * len(columns)]
    group = None
    for row in [row for row in found["rows"] if row["values"]]:
        if name in GROUPED and row["group"] != group:
            group = row["group"]
            lines.append(f"| *{group}* |" + " |" * len(columns))
        cells = [_cell(row, column) for column in columns]
        label = (
            f"{row['method']} (oracle)" if row["oracle"] and "oracle" not in row["method"].lower() else row["method"]
        )
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any], column: str) -> str:
    ours, printed = row["values"].get(column), (row["paper"] or {}).get(column)
    if ours is None:
        return "–" if printed is None else f"– ({printed['mean']:.1f})"
    spread = "" if ours["std"] is None else f" ± {ours['std']:.1f}"
    return f"{ours['mean']:.1f}{spread}" + (f" ({printed['mean']:.1f})" if printed else "")


HEADS = {
    "overlap_pct": "overlap, %",
    "top10_overlap_pct": "top-10 overlap, %",
    "mean_rank": "mean rank",
    "art_painting": "art painting",
    "0": "0°",
    "90": "90°",
}
GROUPED = ("rotated_mnist_resnet18", "match_quality")
SECTIONS: dict[str, Callable[[], str]] = {
    "methods": methods,
    "slab": lambda: table("slab"),
    "digits": lambda: table("rotated_digits"),
    "rotated": lambda: table("rotated_mnist_resnet18"),
    "quality": lambda: table("match_quality"),
    "frozen": lambda: table("pacs_lite0_frozen"),
}


def filled(text: str) -> str:
    """`text` with each section between its markers."""
    for name, make in SECTIONS.items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}{make()}\n{end}{rest.split(end)[1]}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true")
    path = ROOT / "README.md"
    text = path.read_text()
    if not parser.parse_args().check:
        write_text(path, filled(text))
    elif filled(text) != text:
        sys.exit("README.md is not up to date; run: python benchmarks/readme_tables.py")


if __name__ == "__main__":
    main()
