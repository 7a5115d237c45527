"""Many runs in parallel processes. Finished ones are found by their hash and not repeated."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from matchdg.core.errors import DivergedError, InputError
from matchdg.core.files import write_text
from matchdg.matching import RepresentationSettings
from matchdg.training import MachineSettings, RunResult, RunSettings, execute, read_result, run_folder
from matchdg.training.display import Silent
from matchdg.training.quality import measure_quality, read_quality


@dataclass(frozen=True)
class Failure:
    """A run that raised: which, and what it said. One that diverged tells something of its settings."""

    run: str
    message: str
    cause: Literal["diverged", "error"] = "error"


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
    measured: Sequence[tuple[RunSettings, RepresentationSettings]] = (),
) -> Results:
    """Execute `runs`, `jobs` processes at a time with `threads` each; equal runs once.

    Their phases 1 go before, each once. `measured` are the representations of runs whose match quality is wanted
    too. A run that fails does not stop the others. An interrupt does, and keeps all that is finished.
    """
    unique = {run.hash: run for run in runs}
    wanted = _wanted(unique, measured)
    results = finished(runs, out, measured)
    left = [run for name, run in unique.items() if name not in results]
    phases = [run.phase1 for run in left if run.phase1 is not None]
    if phases:
        found = run_all(f"{stage}: phase 1", phases, out, jobs, display, threads)
        for run in left:
            failed = None if run.phase1 is None else found[run.phase1.hash]
            if isinstance(failed, Failure):
                results[run.hash] = Failure(run.hash, f"phase 1: {failed.message}", failed.cause)
        left = [run for run in left if run.hash not in results]
    display.start(stage, len(unique), len(results))
    try:
        for result in _execute_all([(run, wanted[run.hash]) for run in left], out, min(jobs, len(left)), threads):
            results[result.run] = result
            display.advance(result)
    finally:
        display.stop()
    return results


def finished(
    runs: Sequence[RunSettings], out: Path, measured: Sequence[tuple[RunSettings, RepresentationSettings]] = ()
) -> Results:
    """The results of those `runs` that are finished, and measured where that is wanted, or that diverged before."""
    unique = {run.hash: run for run in runs}
    wanted = _wanted(unique, measured)
    results: Results = {}
    for name, run in unique.items():
        found = read_result(out, run)
        if found is not None and all(read_quality(out, run, what) is not None for what in wanted[name]):
            results[name] = found
        elif found is None and _diverged_file(out, run).exists():
            results[name] = Failure(name, _diverged_file(out, run).read_text(), "diverged")
    return results


def _wanted(
    runs: Iterable[str], measured: Sequence[tuple[RunSettings, RepresentationSettings]]
) -> dict[str, list[RepresentationSettings]]:
    wanted: dict[str, list[RepresentationSettings]] = {name: [] for name in runs}
    for run, what in measured:
        wanted[run.hash].append(what)
    return wanted


def _diverged_file(out: Path, run: RunSettings) -> Path:
    """Where it is kept that a run diverged, and how it said so: it would do so again."""
    return run_folder(out, run) / "diverged.txt"


Job = tuple[RunSettings, list[RepresentationSettings]]


def _execute_all(work: Sequence[Job], out: Path, jobs: int, threads: int) -> Iterator[RunResult | Failure]:
    if not work:
        return
    if jobs == 1:
        yield from (_execute_one(job, out, threads) for job in work)
        return
    from joblib import Parallel, delayed

    # The backend is joblib's to choose: processes here, its Ray or Dask backend inside `parallel_config`.
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    yield from parallel(delayed(_execute_one)(job, out, threads) for job in work)


def _execute_one(job: Job, out: Path, threads: int) -> RunResult | Failure:
    import torch

    run, measured = job
    before = torch.get_num_threads()
    try:
        result = execute(run, out, MachineSettings(threads=threads), Silent())
        for what in measured:
            measure_quality(out, run, what)
    except DivergedError as error:
        write_text(_diverged_file(out, run), str(error))
        return Failure(run.hash, str(error), "diverged")
    except InputError as error:
        return Failure(run.hash, str(error))
    except Exception as error:
        return Failure(run.hash, f"{type(error).__name__}: {error}")
    else:
        return result
    finally:
        torch.set_num_threads(before)
