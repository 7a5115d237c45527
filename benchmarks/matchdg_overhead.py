"""What a whole MatchDG run (both phases) costs over its bare forward and backward passes, as a ratio of one run.

A small MatchDG on `rotated-digits` at 64x64, so that no data file is needed, with ResNet-18 in phase 2 and, in phase 1,
once ResNet-18 and once the network that MatchDG has there by default: phase 1 with an update of the matches before
every epoch but the first, phase 2 with the random extra part. It is timed whole, from building the data to the saved
result. Before each of its passes through the network the clock stops, and the same pass is made bare, by a twin of the
network, in the same memory format, on inputs already in memory: forward; where the pass has a gradient also a plain
loss, backward and the optimiser's step. So a change of the machine's speed meets both. The ratio is the median over
rounds.

    python benchmarks/matchdg_overhead.py [--rounds N] [--threads N] [--epochs N] [--digits N] [--out FILE]
"""

import argparse
import functools
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _BatchNorm

from matchdg.core.files import write_json
from matchdg.matching import NearestMatcher
from matchdg.networks import Network
from matchdg.networks.base import Outputs
from matchdg.training import RunSettings, execute, run
from matchdg.training.criteria import ClassCriterion, MatchCriterion
from matchdg.training.embed import batch_statistics
from matchdg.training.evaluate import evaluation_mode
from matchdg.training.loop import Trainer
from matchdg.training.optimisers import build_optimizer
from matchdg.training.run import versions

SHAPE, CLASSES = (1, 64, 64), 10
REST = "data, saving and the rest"
PARTS = ("training", "matching", "validation", "test", REST)


@dataclass
class Twin:
    """What makes a phase's passes bare: a network in the trainer's memory format, and its optimiser."""

    network: Network
    optimiser: torch.optim.Optimizer
    classifies: bool

    @classmethod
    def of(cls, phase: RunSettings) -> "Twin":
        """Fresh weights, which take as long as any."""
        network = phase.network.build(SHAPE, CLASSES)
        network.to(memory_format=torch.channels_last)
        optimiser = build_optimizer(list(network.parameters()), phase.training)
        return cls(network, optimiser, phase.spec.learns == "classes")

    def step(self, inputs: Tensor, labels: Tensor) -> tuple[float, float]:
        """Seconds of forward, a plain loss and backward, and of the optimiser."""
        began = time.perf_counter()
        with torch.enable_grad():
            outputs = self.network(inputs)
            loss = cross_entropy(outputs.logits, labels) if self.classifies else outputs.representation.mean()
            self.network.zero_grad()
            loss.backward()
        middle = time.perf_counter()
        self.optimiser.step()
        return middle - began, time.perf_counter() - middle

    def evaluate(self, inputs: Tensor, own_statistics: bool) -> float:
        """Seconds of a forward pass without a gradient; BatchNorm by its running statistics or by the batch's own."""
        began = time.perf_counter()
        with evaluation_mode(self.network), batch_statistics(self.network) if own_statistics else nullcontext():
            self.network(inputs)
        return time.perf_counter() - began


@dataclass
class Watch:
    """The seconds of a run and of its bare passes by part. Those of a part inside another count for the inner one."""

    twins: list[Twin] = field(default_factory=list)
    networks: list[Network] = field(default_factory=list)
    passes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    bare: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    optimiser: float = 0.0
    parts: list[str] = field(default_factory=lambda: [REST])
    since: float = field(default_factory=time.perf_counter)
    busy: bool = False

    def restart(self, twins: list[Twin]) -> None:
        """Forget what was seen; passes are made bare by `twins` from now on."""
        vars(self).update(vars(Watch(twins)))

    def switch(self) -> None:
        """The time since the last switch belongs to the part that we are in."""
        now = time.perf_counter()
        self.seconds[self.parts[-1]] += now - self.since
        self.since = now

    def timed(self, owner: Any, name: str, part: str) -> None:
        """Count what `owner.name` takes for `part`."""
        original: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.switch()
            self.parts.append(part)
            try:
                return original(*args, **kwargs)
            finally:
                self.switch()
                self.parts.pop()

        setattr(owner, name, wrapped)

    def watch_network(self) -> None:
        """Make each pass bare before it is made."""
        original = Network.forward

        def forward(network: Network, inputs: Tensor) -> Outputs:
            if self.twins and not self.busy:
                self.switch()
                self.busy = True
                self.make_bare(network, inputs)
                self.busy = False
                self.since = time.perf_counter()
            return original(network, inputs)

        setattr(Network, "forward", forward)  # noqa: B010

    def make_bare(self, network: Network, inputs: Tensor) -> None:
        """The pass of `network` by its twin: the first network that was met is phase 1's, the second phase 2's."""
        if not any(network is known for known in self.networks):
            self.networks.append(network)
        twin = self.twins[next(index for index, known in enumerate(self.networks) if known is network)]
        part = self.parts[-1]
        self.passes[part] += 1
        if torch.is_grad_enabled():
            passing, optimiser = twin.step(inputs, torch.arange(len(inputs)) % CLASSES)
            self.optimiser += optimiser
        else:
            norm = next(module for module in network.modules() if isinstance(module, _BatchNorm))
            passing = twin.evaluate(inputs, own_statistics=norm.running_mean is None)
        self.bare[part] += passing


def install(watch: Watch) -> None:
    """Let `watch` see everything that a run is made of."""
    watch.timed(Trainer, "_train_epoch", "training")
    for owner, name in ((Trainer, "match_on"), (Trainer, "_update_matches"), (NearestMatcher, "_start")):
        watch.timed(owner, name, "matching")
    for criterion in (ClassCriterion, MatchCriterion):
        watch.timed(criterion, "__init__", "validation")
        watch.timed(criterion, "__call__", "validation")
    watch.timed(run, "evaluate", "test")
    watch.watch_network()


def settings(epochs: int, digits: int, network: str, phase1: str) -> RunSettings:
    """MatchDG as it is by default but for the number of epochs, and an update of the matches before each.

    `phase1` is the network of phase 1, or "default" for what MatchDG has there.
    """
    own = {} if phase1 == "default" else {"network": {"name": phase1}}
    return RunSettings.parse(
        {
            "dataset": {
                "name": "rotated-digits",
                "size": SHAPE[1],
                "train_per_domain": digits,
                "test_per_domain": digits // 2,
            },
            "network": network,
            "method": "matchdg",
            "training": {"epochs": epochs, "extra": "rows", "learning_rate": 0.01},
            "phase1": {"training": {"epochs": epochs}, "matcher": {"every": 1}, **own},
        }
    )


def one_round(watch: Watch, chosen: RunSettings) -> dict[str, Any]:
    """The run, its passes bare, and what they are made of."""
    assert chosen.phase1 is not None
    twins = [Twin.of(chosen.phase1), Twin.of(chosen)]
    watch.restart(twins)
    with tempfile.TemporaryDirectory() as folder:
        execute(chosen, Path(folder))
        watch.switch()
    total, passing = sum(watch.seconds.values()), sum(watch.bare.values())
    watch.bare["training"] += watch.optimiser
    return {
        "whole_seconds": total,
        "passes_seconds": passing,
        "optimiser_seconds": watch.optimiser,
        "ratio": total / (passing + watch.optimiser),
        "ratio_without_optimiser": total / passing,
        "parts": {
            part: {"passes": watch.passes[part], "seconds": watch.seconds[part], "bare_seconds": watch.bare[part]}
            for part in PARTS
        },
    }


def median(rounds: list[Any]) -> Any:
    """The median of each value."""
    if isinstance(rounds[0], dict):
        return {key: median([one[key] for one in rounds]) for key in rounds[0]}
    return round(statistics.median(rounds), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2, help="of each phase")
    parser.add_argument("--digits", type=int, default=200, help="training images a domain")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    # Imports and first calls cost once a process, not once a run.
    with tempfile.TemporaryDirectory() as folder:
        execute(settings(2, 20, "small-cnn", "default"), Path(folder))
    watch = Watch()
    install(watch)
    measured = {}
    for phase1 in ("resnet18", "default"):
        chosen = settings(options.epochs, options.digits, "resnet18", phase1)
        found = measured[f"phase 1: {phase1}"] = median([one_round(watch, chosen) for _ in range(options.rounds)])
        show(f"network of phase 1: {phase1}, of phase 2: resnet18", found)
    if options.out:
        chosen_values = {"threads": options.threads, "epochs": options.epochs, "digits": options.digits}
        write_json(options.out, {**chosen_values, "versions": versions(), "rounds": options.rounds, **measured})
        print(f"written: {options.out}")


def show(title: str, found: dict[str, Any]) -> None:
    print(title)
    for part, values in found["parts"].items():
        taken, least = values["seconds"], values["bare_seconds"]
        print(
            f"{part:<27} {values['passes']:5.0f} passes  {taken:8.2f} s  bare {least:8.2f} s  over {taken - least:6.2f}"
        )
    print(f"whole {found['whole_seconds']:.2f} s, passes {found['passes_seconds']:.2f} s, ", end="")
    print(f"optimiser {found['optimiser_seconds']:.2f} s")
    print(f"ratio {found['ratio']:.3f}, to the passes without the optimiser {found['ratio_without_optimiser']:.3f}")


if __name__ == "__main__":
    main()
