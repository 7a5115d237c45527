"""The one training loop, and what a run leaves behind."""

from matchdg.training.run import RunResult, RunSettings, execute, load_network, read_result, run_folder
from matchdg.training.settings import MachineSettings, TrainingSettings

__all__ = [
    "MachineSettings",
    "RunResult",
    "RunSettings",
    "TrainingSettings",
    "execute",
    "load_network",
    "read_result",
    "run_folder",
]
