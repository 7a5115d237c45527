"""Many runs in parallel processes. Finished ones are found by their hash and not repeated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from matchdg.core.errors import InputError
from matchdg.training import MachineSettings, RunResult, RunSettings, execute, read_result


@dataclass(frozen=True)
class Failure:
    """A run that raised: which, and what it said."""

    run: str
    message: str


Results = dict[str, RunResult | Failure]


class StudyDisplay(Protocol):
    """Told how far a batch of runs is."""

    def start(self, stage: str, total: int, done: int) -> None:
        """`done` of `total` runs were found finished."""

    def advance(self, result: RunResult | Failure) -> None:
        """One more run ended."""

    def stop(self) -> None:
        """All ended, or the batch was interrupted."""


def run_all(
    stage: str,
    runs: Sequence[RunSettings],
    out: Path,
    jobs: int,
    display: StudyDisplay,
    threads: int = 1,
) -> Results:
    """Execute `runs`, `jobs` processes at a time with `threads` each; equal runs once.

    A run that fails does not stop the others. An interrupt does, and keeps all that is finished.
    """
    unique = {run.hash: run for run in runs}
    results: Results = {}
    for name, run in unique.items():
        found = read_result(out, run)
        if found is not None:
            results[name] = found
    left = [run for name, run in unique.items() if name not in results]
    display.start(stage, len(unique), len(results))
    try:
        for result in _execute_all(left, out, min(jobs, len(left)), threads):
            results[result.run] = result
            display.advance(result)
    finally:
        display.stop()
    return results


def _execute_all(runs: Sequence[RunSettings], out: Path, jobs: int, threads: int) -> Iterator[RunResult | Failure]:
    if not runs:
        return
    if jobs == 1:
        yield from (_execute_one(run, out, threads) for run in runs)
        return
    from joblib import Parallel, delayed

    # The backend is joblib's to choose: processes here, its Ray or Dask backend inside `parallel_config`.
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    yield from parallel(delayed(_execute_one)(run, out, threads) for run in runs)


def _execute_one(run: RunSettings, out: Path, threads: int) -> RunResult | Failure:
    import torch

    before = torch.get_num_threads()
    try:
        return execute(run, out, MachineSettings(threads=threads))
    except InputError as error:
        return Failure(run.hash, str(error))
    except Exception as error:
        return Failure(run.hash, f"{type(error).__name__}: {error}")
    finally:
        torch.set_num_threads(before)
