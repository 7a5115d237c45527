"""Write the README's tables from where they come from: `METHODS`, and `results/`.

python benchmarks/readme_tables.py           # rewrite them
python benchmarks/readme_tables.py --check   # exit code 1 if they are not up to date
"""

import argparse
import json
import sys
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


def slab() -> str:
    """Ours, the printed number in brackets."""
    table = json.loads((ROOT / "results" / "slab" / "table.json").read_text())
    columns = table["columns"]
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for row in table["rows"]:
        cells = [_cell(row, column) for column in columns]
        name = f"{row['method']} (oracle)" if row["oracle"] else row["method"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any], column: str) -> str:
    ours = row["values"][column]
    printed = f" ({row['paper'][column]['mean']:.1f})" if row["paper"] else ""
    return f"{ours['mean']:.1f} ± {ours['std']:.1f}{printed}"


SECTIONS = {"methods": methods, "slab": slab}


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
