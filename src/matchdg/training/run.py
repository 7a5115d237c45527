"""A run: one method, one data set, one split, one seed, one setting; in a folder named by the hash of them all."""

import json
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from matchdg.core.errors import InputError
from matchdg.core.families import choose, unknown_name
from matchdg.core.files import digest, write_bytes, write_json
from matchdg.core.settings import Settings
from matchdg.data import DATASETS, DatasetSettings, DomainSplit
from matchdg.matching import MATCHERS, MatcherSettings
from matchdg.methods import METHODS
from matchdg.networks import NETWORKS, Network, NetworkSettings
from matchdg.training.checkpoint import Checkpoint
from matchdg.training.display import Display, Silent
from matchdg.training.evaluate import Scores, evaluate
from matchdg.training.loop import Trainer
from matchdg.training.objective import Objective
from matchdg.training.records import Records, without_nan
from matchdg.training.settings import MachineSettings, TrainingSettings

# Part of every run's name. Raise it whenever a change of the code changes numbers.
NUMBERS_VERSION = 2

DEFAULT_NETWORK = {"slab": "slab", "counter-example": "slab", "arrays": "slab"}


@dataclass(frozen=True)
class RunSettings:
    """Everything that determines a run's numbers. `parse` reads it from names and plain values."""

    dataset: DatasetSettings
    network: NetworkSettings
    method: str
    method_settings: Settings
    matcher: MatcherSettings
    training: TrainingSettings
    seed: int = 0

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "RunSettings":
        """Read nested plain values; a section is a name or a mapping with `name` and settings.

        >>> RunSettings.parse({"dataset": "slab", "method": {"name": "perfmatch", "penalty": 0.1}}).seed
        0
        """
        sections = ("dataset", "network", "method", "matcher", "training", "seed")
        for key in values:
            if key not in sections:
                raise InputError(unknown_name("key in run", key, sections))
        dataset_name, dataset = _section("dataset", values.get("dataset", "slab"))
        method_name, method = _section("method", values.get("method", "perfmatch"))
        spec = choose("method", method_name, METHODS)
        network_name, network = _section("network", values.get("network", DEFAULT_NETWORK.get(dataset_name, "slab")))
        matcher_name, matcher = _section("matcher", values.get("matcher", spec.matcher))
        seed = values.get("seed", 0)
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise InputError(f"seed is {seed!r}, expected a whole number from 0 up")
        return cls(
            choose("dataset", dataset_name, DATASETS).parse(dataset, "dataset"),
            choose("network", network_name, NETWORKS).parse(network, "network"),
            method_name,
            spec.settings.parse(method, "method"),
            choose("matcher", matcher_name, MATCHERS).parse(matcher, "matcher"),
            TrainingSettings.parse(values.get("training", {}), "training"),
            seed,
        )

    def dump(self) -> dict[str, Any]:
        """Plain values, every default written out, that `parse` reads back."""
        return {
            "dataset": {"name": _name_of(self.dataset, DATASETS), **self.dataset.dump()},
            "network": {"name": _name_of(self.network, NETWORKS), **self.network.dump()},
            "method": {"name": self.method, **self.method_settings.dump()},
            "matcher": {"name": _name_of(self.matcher, MATCHERS), **self.matcher.dump()},
            "training": self.training.dump(),
            "seed": self.seed,
        }

    @property
    def hash(self) -> str:
        """The run's name: a digest of all settings and of the version of the code that computes numbers."""
        return digest({"numbers": NUMBERS_VERSION, **self.dump()})

    def with_seed(self, seed: int) -> "RunSettings":
        """The same run with another seed."""
        return replace(self, seed=seed)


@dataclass(frozen=True)
class RunResult:
    """What a finished run found: the epoch kept, and the scores of its weights per domain."""

    run: str
    best_epoch: int
    epochs: int
    diverged: bool
    selection: str
    criterion: float
    validation: Scores
    test: Scores
    targets: tuple[str, ...]
    seconds: float
    versions: dict[str, str]

    def target_accuracy(self) -> float:
        """Mean accuracy over the target domains."""
        return sum(self.test[name]["accuracy"] for name in self.targets) / len(self.targets)


def run_folder(out: Path, settings: RunSettings) -> Path:
    """Where `settings`' run lies under `out`."""
    return out / "runs" / settings.hash


def read_result(out: Path, settings: RunSettings) -> RunResult | None:
    """The result of a finished run, or None; an unreadable or foreign file counts as none."""
    path = run_folder(out, settings) / "result.json"
    try:
        values = json.loads(path.read_text())
        values["targets"] = tuple(values["targets"])
        result = RunResult(**values)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return result if result.run == settings.hash else None


def execute(
    settings: RunSettings,
    out: Path,
    machine: MachineSettings | None = None,
    display: Display | None = None,
) -> RunResult:
    """Train, evaluate and save; or resume; or, where the run is finished, read its result."""
    finished = read_result(out, settings)
    if finished is not None:
        return finished
    machine = machine or MachineSettings()
    if machine.devices == 1:
        return _execute_here(settings, out, machine, display or Silent(), _fabric(machine, settings))
    fabric = _fabric(machine, settings)
    # Fabric walks through what it hands to a process and stumbles over frozen settings: plain values travel.
    values = fabric.launch(_execute_launched, settings.dump(), str(out), machine.dump(), display or Silent())
    return RunResult(**values)


def build_objective(settings: RunSettings, split: DomainSplit) -> Objective:
    """The network and the method, initialised from the run's seed."""
    torch.manual_seed(settings.seed)
    network = build_network(settings, split)
    spec = METHODS[settings.method]
    return Objective(network, spec.build(settings.method_settings, network, len(split.sources)))


def build_network(settings: RunSettings, split: DomainSplit) -> Network:
    """The network alone, for weights that are loaded into it."""
    return settings.network.build(split.train.input_shape, len(split.train.class_names))


def load_network(out: Path, settings: RunSettings, split: DomainSplit) -> Network:
    """The network with the weights that a finished run kept, in `eval()` mode."""
    from safetensors.torch import load_file

    network = build_network(settings, split)
    network.load_state_dict(load_file(run_folder(out, settings) / "weights.safetensors"))
    return network.eval()


def _execute_launched(
    fabric: Any, settings: dict[str, Any], out: str, machine: dict[str, Any], display: Display
) -> dict[str, Any]:
    shown = display if fabric.is_global_zero else Silent()
    run, process = RunSettings.parse(settings), MachineSettings.parse(machine, "machine")
    return vars(_execute_here(run, Path(out), process, shown, fabric))


def _execute_here(
    settings: RunSettings, out: Path, machine: MachineSettings, display: Display, fabric: Any
) -> RunResult:
    if machine.threads is not None:
        torch.set_num_threads(machine.threads)
    began = time.monotonic()
    folder = run_folder(out, settings)
    split = settings.dataset.build(settings.seed)
    for text in split.notices:
        display.notice(text)
    records = Records()
    if fabric.is_global_zero:
        write_json(folder / "settings.json", settings.dump())
        records = Records(folder / "records.jsonl")
    fabric.barrier()
    checkpoint = Checkpoint(folder, settings.hash)
    trainer = Trainer(
        split=split,
        objective=build_objective(settings, split),
        matcher=settings.matcher.build(split.train),
        validation_matcher=settings.matcher.build(split.validation),
        settings=settings.training,
        seed=settings.seed,
        fabric=fabric,
        display=display,
        records=records,
        checkpoint=checkpoint,
        checkpoint_seconds=machine.checkpoint_seconds,
    )
    best = trainer.run(METHODS[settings.method].label)
    trainer.objective.network.load_state_dict(best.weights)
    result = RunResult(
        run=settings.hash,
        best_epoch=best.epoch,
        epochs=trainer.epoch,
        diverged=trainer.diverged,
        selection=f"{settings.training.selection}: {settings.training.keep}",
        criterion=best.value,
        validation=best.validation,
        test=evaluate(trainer.objective, split.test, fabric),
        targets=split.targets,
        seconds=round(time.monotonic() - began, 3),
        versions=versions(),
    )
    if fabric.is_global_zero:
        _save(folder, trainer, result)
        checkpoint.remove()
    fabric.barrier()
    return result


def _save(folder: Path, trainer: Trainer, result: RunResult) -> None:
    """Everything of a finished run; the result comes last, so that what has one is whole."""
    from safetensors.torch import save

    weights = {key: tensor.contiguous().cpu() for key, tensor in trainer.best.weights.items()}
    write_bytes(folder / "weights.safetensors", save(weights))
    table = {"rows": trainer.table.rows, "anchors": trainer.table.anchors}
    write_bytes(folder / "matches.safetensors", save({key: tensor.contiguous() for key, tensor in table.items()}))
    write_json(folder / "result.json", without_nan(vars(result)))


def _fabric(machine: MachineSettings, settings: RunSettings) -> Any:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    strategy: Any = "auto"
    if machine.devices > 1:
        # An adversary and the network take turns, so each step leaves some parameters without a gradient.
        strategy = DDPStrategy(start_method="spawn", find_unused_parameters=METHODS[settings.method].adversarial)
    try:
        return Fabric(
            accelerator=machine.accelerator,
            devices=machine.devices,
            strategy=strategy,
            precision=settings.training.precision,
        )
    except (MisconfigurationException, RuntimeError, ValueError) as error:
        raise InputError(
            f"accelerator {machine.accelerator!r} with {machine.devices} device(s) and precision "
            f"{settings.training.precision!r} cannot be used on this machine: {error}"
        ) from None


def versions() -> dict[str, str]:
    """What computed the numbers."""
    from matchdg import __version__

    return {
        "matchdg": __version__,
        "numbers": str(NUMBERS_VERSION),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
    }


def _section(kind: str, value: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(value, str):
        return value, {}
    if isinstance(value, Mapping):
        values = dict(value)
        name = values.pop("name", None)
        if isinstance(name, str):
            return name, values
    raise InputError(f"{kind} is {value!r}, expected a name or a mapping with a 'name'")


def _name_of(settings: Settings, family: Mapping[str, type[Settings]]) -> str:
    return next(name for name, cls in family.items() if type(settings) is cls)
