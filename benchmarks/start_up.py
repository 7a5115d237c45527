"""Seconds that `import matchdg` and `matchdg --help` take, the median of several fresh processes.

python benchmarks/start_up.py [--rounds N] [--out FILE]
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from matchdg.core.files import write_json

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import matchdg": ["-c", "import matchdg"],
    "matchdg --help": ["-m", "matchdg", "--help"],
}


def seconds(arguments: list[str], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {name: round(seconds(arguments, options.rounds), 3) for name, arguments in COMMANDS.items()}
    for name, value in found.items():
        print(f"{name:<20} {value:.3f} s")
    if options.out:
        write_json(options.out, {"seconds": found})


if __name__ == "__main__":
    main()
