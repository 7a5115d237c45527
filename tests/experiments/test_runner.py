import pytest

from matchdg.experiments import STUDIES
from matchdg.experiments.runner import Failure, finished, run_all
from matchdg.training import RunResult, run_folder
from matchdg.training.quality import read_quality


def test_runs_once_each_and_finds_what_is_finished(study, quiet, tmp_path):
    runs = study.search_runs()
    first = run_all("search", [*runs, *runs], tmp_path, 1, quiet)
    again = run_all("search", runs, tmp_path, 1, quiet)
    assert quiet.stages == [("search", 2, 0), ("search", 2, 2)]
    assert len(quiet.results) == 2
    assert first == again


def test_processes_compute_what_one_does(study, quiet, tmp_path):
    runs = study.search_runs()
    one = run_all("search", runs, tmp_path / "one", 1, quiet)
    two = run_all("search", runs, tmp_path / "two", 2, quiet)
    for name, result in one.items():
        assert result.test == two[name].test


def test_a_run_that_fails_does_not_stop_the_others(arm, quiet, tmp_path):
    broken = arm(learning_rate=1e30, keep="loss").run({}, 0)
    good = arm().run({}, 0)
    results = run_all("seeds", [broken, good], tmp_path, 1, quiet)
    assert isinstance(results[broken.hash], Failure)
    assert "diverged" in results[broken.hash].message
    assert isinstance(results[good.hash], RunResult)


def test_an_unexpected_error_is_a_failure_with_its_kind(arm, quiet, tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("boom")

    monkeypatch.setattr("matchdg.experiments.runner.execute", broken)
    run = arm().run({}, 0)
    assert run_all("seeds", [run], tmp_path, 1, quiet)[run.hash].message == "RuntimeError: boom"


def test_an_interrupt_keeps_what_is_finished(arm, quiet, tmp_path, monkeypatch):
    from matchdg.experiments import runner

    runs = [arm().run({}, seed) for seed in range(3)]
    real, done = runner.execute, []

    def interrupted(run, *args, **kwargs):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run)
        return real(run, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_all("seeds", runs, tmp_path, 1, quiet)
    run_all("seeds", runs, tmp_path, 1, quiet)
    assert quiet.stages[-1] == ("seeds", 3, 2)


def test_the_threads_of_the_caller_are_left_alone(arm, quiet, tmp_path):
    import torch

    before = torch.get_num_threads()
    run_all("seeds", [arm().run({}, 0)], tmp_path, 1, quiet, threads=before + 1)
    assert torch.get_num_threads() == before


def test_match_quality_that_is_wanted_belongs_to_a_run_and_is_measured_once(shrunk, quiet, tmp_path):
    (arm, *_) = shrunk(STUDIES["match_quality"]("quick", "source")).arms
    run = arm.run({}, 0)
    run_all("seeds", [run], tmp_path, 1, quiet)
    assert read_quality(tmp_path, run, arm.measured) is None
    for _ in range(2):
        run_all("seeds", [run], tmp_path, 1, quiet, measured=[(run, arm.measured)])
    assert read_quality(tmp_path, run, arm.measured)["mean_rank"] >= 1
    assert quiet.stages == [("seeds", 1, 0), ("seeds", 1, 0), ("seeds", 1, 1)]


def test_phases_1_go_first_and_runs_share_them(shrunk, quiet, tmp_path):
    arm = next(arm for arm in shrunk(STUDIES["rotated_digits"]("quick", "source")).arms if arm.label == "MatchDG")
    runs = [arm.run({"method.penalty": penalty}, 0) for penalty in (0.1, 1.0)]
    run_all("seeds", runs, tmp_path, 1, quiet)
    assert quiet.stages == [("seeds: phase 1", 1, 0), ("seeds", 2, 0)]
    assert [result.run for result in quiet.results] == [runs[0].phase1.hash, *(run.hash for run in runs)]


def test_a_run_that_diverged_is_not_tried_again_and_is_known_without_running(arm, quiet, tmp_path):
    run = arm("erm", learning_rate=1e12).run({}, 0)
    (first,) = run_all("seeds", [run], tmp_path, 1, quiet).values()
    assert (first.run, first.cause) == (run.hash, "diverged")
    assert run_all("seeds", [run], tmp_path, 1, quiet) == finished([run], tmp_path) == {run.hash: first}
    assert quiet.stages[-1] == ("seeds", 1, 1)


def test_a_run_whose_phase_1_diverged_is_not_begun(shrunk, quiet, tmp_path):
    arm = next(arm for arm in shrunk(STUDIES["rotated_digits"]("quick", "source")).arms if arm.label == "MatchDG")
    run = arm.run({"phase1.training.learning_rate": 1e12}, 0)
    (found,) = run_all("seeds", [run], tmp_path, 1, quiet).values()
    assert (found.run, found.cause) == (run.hash, "diverged")
    assert found.message.startswith("phase 1: MatchDG phase 1")
    assert not run_folder(tmp_path, run).exists()


def test_a_phase_1_whose_matches_are_not_there_is_trained_again(shrunk, quiet, tmp_path):
    """As in a checkout, where results are kept and weights and matches are not."""
    arm = next(arm for arm in shrunk(STUDIES["rotated_digits"]("quick", "source")).arms if arm.label == "MatchDG")
    first, second = (arm.run({"method.penalty": penalty}, 0) for penalty in (0.1, 1.0))
    run_all("seeds", [first], tmp_path, 1, quiet)
    matches = run_folder(tmp_path, first.phase1) / "matches.safetensors"
    before = matches.read_bytes()
    matches.unlink()
    (found,) = run_all("seeds", [second], tmp_path, 1, quiet).values()
    assert isinstance(found, RunResult)
    assert matches.read_bytes() == before
