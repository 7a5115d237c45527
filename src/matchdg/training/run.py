"""A run: one method, one data set, one split, one seed, one setting; in a folder named by the hash of them all."""

import json
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import torch

from matchdg.core.errors import DivergedError, InputError, OutputError
from matchdg.core.families import choose, unknown_name
from matchdg.core.files import LOCK, alone, digest, write_bytes, write_json, write_text
from matchdg.core.settings import Settings
from matchdg.data import DATASETS, DatasetSettings, DomainSplit
from matchdg.matching import (
    MATCHERS,
    AnyMatcherSettings,
    FixedMatcher,
    LearntSettings,
    Matcher,
    MatchTable,
    NearestMatcher,
    NearestSettings,
)
from matchdg.methods import METHODS, PHASE1_METHODS, MethodSpec
from matchdg.networks import FLAT_NETWORKS, NETWORKS, FrozenSettings, Network, NetworkSettings, bare_network, expanded
from matchdg.training.checkpoint import Checkpoint
from matchdg.training.criteria import ClassCriterion, Criterion, MatchCriterion
from matchdg.training.display import Display, Silent, Warnings
from matchdg.training.evaluate import Scores, evaluate
from matchdg.training.frozen import freeze
from matchdg.training.loop import Trainer
from matchdg.training.objective import Objective
from matchdg.training.records import Records, without_nan
from matchdg.training.seeds import check_seed, stream
from matchdg.training.settings import ClassKeep, MachineSettings, MatchKeep, TrainingSettings

# Part of every run's name. Raise it whenever a change of the code changes numbers.
NUMBERS_VERSION = 3

DEFAULT_NETWORK = {
    "rotated-mnist": "resnet18",
    "rotated-fashion-mnist": "resnet18",
    "rotated-digits": "small-cnn",
}
MATCHES = "matches.safetensors"
ERRORS = {kind.__name__: kind for kind in (InputError, DivergedError, OutputError)}
SECTIONS = ("dataset", "network", "method", "matcher", "training", "phase1", "seed")
PHASE1_SECTIONS = ("network", "method", "matcher", "training")


@dataclass(frozen=True)
class RunSettings:
    """Everything that determines a run's numbers. `parse` reads it from names and plain values."""

    dataset: DatasetSettings
    network: NetworkSettings
    method: str
    method_settings: Settings
    matcher: AnyMatcherSettings
    training: TrainingSettings
    seed: int = 0
    phase1: "RunSettings | None" = None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "RunSettings":
        """Read nested plain values; a section is a name or a mapping with `name` and settings.

        >>> RunSettings.parse({"dataset": "slab", "method": {"name": "perfmatch", "penalty": 0.1}}).seed
        0
        """
        for key in values:
            if key not in SECTIONS:
                raise InputError(unknown_name("key in run", key, SECTIONS))
        dataset_name, dataset = _section("dataset", values.get("dataset", "slab"))
        method_name, method = _section("method", values.get("method", "perfmatch"))
        spec = choose("method", method_name, _methods())
        network_name, network = expanded(
            *_section("network", values.get("network", DEFAULT_NETWORK.get(dataset_name, "slab")))
        )
        matcher_name, matcher = _section("matcher", values.get("matcher", spec.matcher))
        seed = values.get("seed", 0)
        check_seed(seed)
        return cls(
            choose("dataset", dataset_name, DATASETS).parse(dataset, "dataset"),
            choose("network", network_name, NETWORKS).parse(network, "network"),
            method_name,
            spec.settings.parse(method, "method"),
            choose("matcher", matcher_name, MATCHERS).parse(matcher, "matcher"),
            _training(spec, values.get("training", {})),
            seed,
            cls._parse_phase1(spec, values, _from_scratch(network_name, network)),
        )._checked()

    @classmethod
    def _parse_phase1(cls, spec: MethodSpec, values: Mapping[str, Any], images: bool) -> "RunSettings | None":
        given = values.get("phase1")
        if spec.phase1 is None:
            if given:
                raise InputError(f"{spec.label} has no phase 1; leave the section phase1 out, or use matchdg")
            return None
        shared = {key: values[key] for key in ("dataset", "network", "seed") if key in values}
        if not isinstance(given, Mapping | None):
            raise InputError(f"phase1 is {given!r}, expected a mapping of sections")
        for key in given or {}:
            if key not in PHASE1_SECTIONS:
                raise InputError(unknown_name("key in phase1", key, PHASE1_SECTIONS))
        merged = _merged({**spec.phase1, **(spec.phase1_on_images if images else {})}, given or {})
        name, _ = _section("phase1.method", merged["method"])
        try:
            choose("method", name, PHASE1_METHODS)
            return cls.parse({**shared, **merged})
        except InputError as error:
            raise InputError(f"phase1: {error}") from None

    def _checked(self) -> "RunSettings":
        if isinstance(self.matcher, LearntSettings) != (self.phase1 is not None):
            raise InputError(
                f"the matcher of {self.spec.label} is {_name_of(self.matcher, MATCHERS)!r}, and "
                f"{'it has' if self.phase1 else 'there is no'} phase 1; 'learnt' and a phase 1 belong together"
            )
        if self.spec.learns == "matches" and not isinstance(self.matcher, NearestSettings):
            raise InputError(f"{self.spec.label} needs the matcher 'nearest', got {_name_of(self.matcher, MATCHERS)!r}")
        if self.phase1 is not None and self.training.keep == "objective":
            raise InputError(
                "training.keep 'objective' needs matches of the validation data, which phase 1 does not give"
            )
        return self

    @property
    def spec(self) -> MethodSpec:
        """The method's row in `METHODS` or `PHASE1_METHODS`."""
        return _methods()[self.method]

    def dump(self) -> dict[str, Any]:
        """Plain values, every default written out, that `parse` reads back."""
        return {
            "dataset": {"name": _name_of(self.dataset, DATASETS), **self.dataset.dump()},
            "network": {"name": _name_of(self.network, NETWORKS), **self.network.dump()},
            "method": {"name": self.method, **self.method_settings.dump()},
            "matcher": {"name": _name_of(self.matcher, MATCHERS), **self.matcher.dump()},
            "training": self.training.dump(),
            "phase1": None if self.phase1 is None else self.phase1.sections(),
            "seed": self.seed,
        }

    def sections(self) -> dict[str, Any]:
        """What a phase 1 has of its own: not the data set and the seed, which are those of the whole run."""
        return {key: value for key, value in self.dump().items() if key in PHASE1_SECTIONS}

    @property
    def hash(self) -> str:
        """The run's name: a digest of all settings and of the version of the code that computes numbers."""
        return digest({"numbers": NUMBERS_VERSION, **self.dump()})

    def with_seed(self, seed: int) -> "RunSettings":
        """The same run with another seed."""
        phase1 = None if self.phase1 is None else self.phase1.with_seed(seed)
        return replace(self, seed=seed, phase1=phase1)


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
    """Train, evaluate and save; or resume; or, where the run is finished, read its result. Phase 1 goes before."""
    finished = read_result(out, settings)
    if finished is not None:
        return finished
    if settings.phase1 is not None:
        if not _matches_file(out, settings.phase1).exists():
            # A result that came without its matches, as those under version control do, is of no use here.
            (run_folder(out, settings.phase1) / "result.json").unlink(missing_ok=True)
        execute(settings.phase1, out, machine, display)
    machine = machine or MachineSettings()
    # Workers of a command that was killed may still be at it, or another command that shares the folder.
    with alone(run_folder(out, settings)):
        result = read_result(out, settings)
        start = _execute_here if machine.devices == 1 else _launch
        if result is None:
            result = start(settings, out, machine, display or Warnings(), _fabric(machine, settings))
        # Whoever waits for the lock finds a result, so that it is needed no more.
        (run_folder(out, settings) / LOCK).unlink(missing_ok=True)
    return result


def build_split(settings: RunSettings) -> DomainSplit:
    """The data as the run's network sees them: of a frozen one its backbone's features."""
    split = settings.dataset.build(settings.seed)
    return freeze(split, settings.network) if isinstance(settings.network, FrozenSettings) else split


def build_objective(settings: RunSettings, split: DomainSplit) -> Objective:
    """The network and the method, initialised from the run's seed."""
    torch.manual_seed(settings.seed)
    network = build_network(settings, split)
    return Objective(network, settings.spec.build(settings.method_settings, network, len(split.sources)))


def build_network(settings: RunSettings, split: DomainSplit) -> Network:
    """The network alone, with the weights that training starts from."""
    return settings.network.build(split.train.input_shape, len(split.train.class_names))


def load_network(out: Path, settings: RunSettings, split: DomainSplit) -> Network:
    """The network with the weights that a finished run kept, in `eval()` mode."""
    from safetensors.torch import load_file

    network = bare_network(settings.network, split.train.input_shape, len(split.train.class_names))
    network.load_state_dict(load_file(run_folder(out, settings) / "weights.safetensors"))
    return network.eval()


def _launch(settings: RunSettings, out: Path, machine: MachineSettings, display: Display, fabric: Any) -> RunResult:
    """Execute in processes of their own. What one of them says of bad input is raised here again."""
    from torch.multiprocessing.spawn import ProcessRaisedException

    with TemporaryDirectory() as folder:
        said = Path(folder) / "error"
        try:
            # As parts of the function, because Fabric walks through its arguments and stumbles over frozen settings.
            # Whole, because plain values lack what is no part of a run's name, as the folder of the data is.
            values = fabric.launch(partial(_execute_launched, settings, out, machine, display, said))
        except ProcessRaisedException:
            if not said.exists():
                raise
            kind, _, message = said.read_text().partition("\n")
            raise ERRORS[kind](message) from None
    return RunResult(**values)


def _execute_launched(
    settings: RunSettings, out: Path, machine: MachineSettings, display: Display, said: Path, fabric: Any
) -> dict[str, Any]:
    shown = display if fabric.is_global_zero else Silent()
    try:
        return vars(_execute_here(settings, out, machine, shown, fabric))
    except InputError as error:
        write_text(said, f"{type(error).__name__}\n{error}")
        raise


def _execute_here(
    settings: RunSettings, out: Path, machine: MachineSettings, display: Display, fabric: Any
) -> RunResult:
    if machine.threads is not None:
        torch.set_num_threads(machine.threads)
    began = time.monotonic()
    folder = run_folder(out, settings)
    split = build_split(settings)
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
        matcher=_matcher(settings, split, out),
        criterion=_criterion(settings, split, fabric),
        settings=settings.training,
        seed=settings.seed,
        fabric=fabric,
        display=display,
        records=records,
        checkpoint=checkpoint,
        checkpoint_seconds=machine.checkpoint_seconds,
    )
    best = trainer.run(settings.spec.label)
    trainer.objective.network.load_state_dict(best.weights)
    classifies = settings.spec.learns == "classes"
    if not classifies:
        assert isinstance(trainer.matcher, NearestMatcher)
        trainer.table = trainer.match_on(trainer.matcher)
    result = RunResult(
        run=settings.hash,
        best_epoch=best.epoch,
        epochs=trainer.epoch,
        diverged=trainer.diverged,
        selection=f"{settings.training.selection}: {settings.training.keep}",
        criterion=best.value,
        validation=best.validation,
        test=evaluate(trainer.objective, split.test, fabric) if classifies else {},
        targets=split.targets,
        seconds=round(time.monotonic() - began, 3),
        versions={**versions(), "device": _device_name(fabric.device)},
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
    write_bytes(folder / MATCHES, save({key: tensor.contiguous() for key, tensor in table.items()}))
    write_json(folder / "result.json", without_nan(vars(result)))


def _fabric(machine: MachineSettings, settings: RunSettings) -> Any:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    strategy: Any = "auto"
    if machine.devices > 1:
        # An adversary and the network take turns, so each step leaves some parameters without a gradient.
        # Phase 1 leaves the classifier out.
        unused = settings.spec.adversarial or settings.spec.learns == "matches"
        strategy = DDPStrategy(start_method="spawn", find_unused_parameters=unused)
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


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _matches_file(out: Path, settings: RunSettings) -> Path:
    return run_folder(out, settings) / MATCHES


def load_matches(out: Path, settings: RunSettings) -> MatchTable:
    """The match table that a finished run ended with."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = _matches_file(out, settings)
    try:
        table = load_file(path)
        return MatchTable(table["rows"], table["anchors"])
    except (OSError, SafetensorError, KeyError) as error:
        raise InputError(
            f"{path} is not a readable match table ({error}); delete its folder and run the same command again"
        ) from None


def _methods() -> dict[str, MethodSpec]:
    return {**METHODS, **PHASE1_METHODS}


def _matcher(settings: RunSettings, split: DomainSplit, out: Path) -> Matcher:
    if settings.phase1 is None:
        return settings.matcher.build(split.train)
    return FixedMatcher(load_matches(out, settings.phase1))


def _criterion(settings: RunSettings, split: DomainSplit, fabric: Any) -> Criterion:
    if settings.spec.learns == "matches":
        assert isinstance(settings.matcher, NearestSettings)
        return MatchCriterion(split, settings.training, fabric, settings.matcher, settings.seed)
    table = None
    if settings.training.keep == "objective":
        table = settings.matcher.build(split.validation).draw(stream(settings.seed, "validation matches"))
    return ClassCriterion(split, settings.training, fabric, table)


def _training(spec: MethodSpec, values: Mapping[str, Any]) -> TrainingSettings:
    if spec.learns == "matches" and isinstance(values, Mapping):
        values = {"keep": "top10-overlap", **values}
    if isinstance(values, Mapping):
        values = {**spec.training, **values}
    training = TrainingSettings.parse(values, "training")
    allowed = get_args(MatchKeep if spec.learns == "matches" else ClassKeep)
    if training.keep not in allowed:
        raise InputError(f"training.keep is {training.keep!r}; {spec.label} keeps an epoch by {', '.join(allowed)}")
    if spec.learns == "matches" and training.backbone_rate == 0:
        raise InputError(f"training.backbone_rate is 0, which leaves {spec.label} nothing to train")
    return training


def _merged(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Sections over sections: the settings given change those of a default section of the same name, or replace it."""
    result = dict(defaults)
    for key, section in given.items():
        default = result.get(key, {})
        extends = isinstance(section, Mapping) and isinstance(default, Mapping)
        same = extends and section.get("name", default.get("name")) == default.get("name")
        result[key] = {**default, **section} if same else section
    return result


def _from_scratch(network: str, values: Mapping[str, Any]) -> bool:
    """Whether the network is one on images without weights from elsewhere."""
    return network not in FLAT_NETWORKS and not values.get("weights")


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
