"""The one training loop. It asks the method for losses and the matcher for tables, and writes records."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from matchdg.core.errors import DivergedError, InputError
from matchdg.data import DomainSplit
from matchdg.matching import Matcher, MatchTable, NearestMatcher
from matchdg.matching.quality import stability
from matchdg.methods import Batch, Clock, Parts, Turn
from matchdg.training.checkpoint import Checkpoint
from matchdg.training.criteria import Criterion, on_device
from matchdg.training.display import Display
from matchdg.training.embed import embed
from matchdg.training.evaluate import Scores
from matchdg.training.objective import Objective
from matchdg.training.optimisers import build_optimizer, set_rate
from matchdg.training.records import Records
from matchdg.training.seeds import stream
from matchdg.training.settings import TrainingSettings
from matchdg.training.shown import shown
from matchdg.training.terms import TermMeans


@dataclass
class Best:
    """The epoch kept so far: its weights, its value of the criterion (lower is better), its scores."""

    epoch: int = -1
    value: float = math.inf
    weights: dict[str, Tensor] = field(default_factory=dict)
    validation: Scores = field(default_factory=dict)


class Trainer:
    """Trains one objective on one split. `run` goes from the last checkpoint, or the beginning, to the end."""

    def __init__(
        self,
        split: DomainSplit,
        objective: Objective,
        matcher: Matcher,
        criterion: Criterion,
        settings: TrainingSettings,
        seed: int,
        fabric: Fabric,
        display: Display,
        records: Records,
        checkpoint: Checkpoint | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.split, self.matcher, self.settings, self.seed = split, matcher, settings, seed
        self.fabric, self.display, self.records = fabric, display, records
        self.checkpoint, self.checkpoint_seconds = checkpoint, checkpoint_seconds
        if settings.backbone_rate == 0:
            objective.network.freeze()
        self.objective = objective.to(fabric.device)
        if len(split.train.input_shape) == 3:
            # Convolutions of small images are faster so, on CPUs and on GPUs.
            self.objective.to(memory_format=torch.channels_last)
        self.groups = objective.parameter_groups()
        self.optimizers = {
            turn: build_optimizer(parameters, settings, objective.network.featurizer.parameters())
            for turn, parameters in self.groups.items()
        }
        self.module: nn.Module = objective
        self.network, self.plain_parts = objective.network, objective.plain_parts(settings.extra != "none")
        # Fabric's wrappers convert precision and average gradients. Where there is nothing to do they are left
        # out: on a small network they would cost more than a penalty does.
        self.plain = fabric.world_size == 1 and settings.precision == "32-true"
        if not self.plain:
            self.module, *wrapped = fabric.setup(objective, *self.optimizers.values())
            self.optimizers = dict(zip(self.optimizers, wrapped, strict=True))
        self.criterion = criterion
        self.train_data = on_device(split.train, fabric.device)
        self.table = matcher.draw(stream(seed, "matches"))
        self.table.check(split.train)
        fewest = len(self.table) // self._count_batches()
        if fewest < fabric.world_size:
            raise InputError(
                f"a batch has {fewest} rows, expected at least {fabric.world_size}, one for each process; "
                f"raise training.batch_rows (now {settings.batch_rows}) or use fewer devices"
            )
        self.best = Best()
        self.step = self.epoch = 0
        self.diverged = False

    def run(self, title: str) -> Best:
        """Train to the end and return what was kept."""
        self._resume()
        self.title = title
        self.display.start(title, self.settings.epochs, self.epoch)
        saved = time.monotonic()
        try:
            while self.epoch < self.settings.epochs and not self._exhausted():
                self._run_epoch()
                self.epoch += 1
                if self.checkpoint and time.monotonic() - saved >= self.checkpoint_seconds:
                    self._save()
                    saved = time.monotonic()
        finally:
            self.display.stop()
        if self.best.epoch < 0 and not self.diverged:
            raise InputError(
                f"{title}: no epoch could be kept, as its criterion {self.settings.keep!r} had no value on the "
                "validation data; give it more of these, or choose another training.keep"
            )
        if self.best.epoch < 0:
            raise DivergedError(
                f"{title}: training diverged in its first epoch (its loss or its weights are no numbers); lower "
                f"training.learning_rate (now {self.settings.learning_rate}) or the method's penalty"
            )
        return self.best

    def _exhausted(self) -> bool:
        patience = self.settings.patience
        return self.diverged or (patience is not None and self.epoch - self.best.epoch > patience)

    def _run_epoch(self) -> None:
        began = time.monotonic()
        for optimizer in self.optimizers.values():
            set_rate(optimizer, self.settings.rate(self.epoch))
        matches = self._update_matches()
        terms = self._train_epoch()
        seconds = time.monotonic() - began
        self._share_buffers()
        # Where an adversary takes many turns, an epoch may be all its own and have no loss of the network's.
        loss = terms.pop("loss", None)
        self.diverged = not ((loss is None or math.isfinite(loss)) and self._has_finite_weights())
        validation, value = self._judge()
        if value < self.best.value:
            weights = {key: tensor.detach().clone() for key, tensor in self.objective.network.state_dict().items()}
            self.best = Best(self.epoch, value, weights, validation)
        record = {
            "epoch": self.epoch,
            "loss": loss,
            "terms": terms,
            "validation": validation,
            "matches": matches,
            "criterion": value,
            "kept": self.best.epoch == self.epoch,
            "learning_rate": self.settings.rate(self.epoch),
            "seconds": round(seconds, 4),
        }
        if self.fabric.is_global_zero:
            self.records.append(record)
        self.display.epoch(record)

    def _judge(self) -> tuple[Scores, float]:
        """What the criterion finds, the same in all processes; nothing of weights that are no numbers."""
        if self.diverged:
            return {}, math.nan
        with self._named_errors():
            validation, value = self.criterion(self.objective, self.epoch)
        return validation, value if self.fabric.world_size == 1 else self.fabric.broadcast(value)

    def _share_buffers(self) -> None:
        """Give all processes the first one's running statistics, which it keeps, so that all evaluate one network."""
        if self.fabric.world_size > 1:
            for buffer in self.objective.buffers():
                torch.distributed.broadcast(buffer, 0)

    def _has_finite_weights(self) -> bool:
        """The last step may diverge without the epoch's loss showing it, and an accuracy never shows it."""
        state = self.objective.network.state_dict().values()
        return all(bool(values.isfinite().all()) for values in state if values.is_floating_point())

    def _update_matches(self) -> dict[str, float] | None:
        """Match anew where the matcher is due: what there is to say about the new table without ground truth."""
        if not isinstance(self.matcher, NearestMatcher) or not self.matcher.due(self.epoch):
            return None
        before, features = self.table, self._features(self.matcher)
        with self._named_errors():
            self.table = self.matcher.update(features)
            recall = self.matcher.recall(features)
        found = {"stability": stability(before.rows, self.table.rows, self.split.train)}
        return found if recall is None else {**found, "recall": recall}

    def match_on(self, matcher: NearestMatcher) -> MatchTable:
        """The matches of the training data in the network's representation as it is now."""
        features = self._features(matcher)
        with self._named_errors():
            return matcher.update(features)

    def _features(self, matcher: NearestMatcher) -> Tensor:
        layer, statistics = matcher.settings.layer, matcher.settings.statistics
        return embed(self.objective.network, self.train_data, layer, statistics, self.fabric)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Say in which phase and epoch matching failed and, of features that are no numbers, what to do."""
        try:
            yield
        except InputError as error:
            epochs = self.settings.epochs
            where = f"{self.title}, epoch {min(self.epoch + 1, epochs)} of {epochs}: {error}"
            if not isinstance(error, DivergedError):
                raise InputError(where) from error
            kept = self.checkpoint.whole if self.checkpoint else None
            raise DivergedError(
                f"{where}; lower training.learning_rate (now {self.settings.learning_rate}). "
                + (f"The last good checkpoint is kept: {kept}" if kept else "No checkpoint had been written yet")
            ) from error

    def _train_epoch(self) -> dict[str, Any]:
        """One pass over the match table; the mean of every term, per domain where it has domains."""
        if self.settings.redraw == "epoch":
            self.table = self.matcher.draw(stream(self.seed, "matches", self.epoch))
        logged = TermMeans(self.fabric)
        self.objective.train()
        clock = Clock(self.step, self.epoch, self.settings.epochs)
        for batch, share in self._batches():
            turn = self.objective.method.turn(self.step)
            clock.step = self.step
            parts = self.step_on(batch, clock, turn, share)
            if turn == "network":
                logged.add_loss(parts, share)
            for name, value in parts.terms.items():
                logged.add(name, value, share)
            self.step += 1
        return logged.means(self.split.sources)

    def step_on(self, batch: Batch, clock: Clock, turn: Turn = "network", share: float = 1.0) -> Parts:
        """One step: forward, backward, optimiser. What the method found; `share` weighs this process's part of it."""
        # A module's call looks for hooks, and its attributes are looked up in turn; a plain objective needs neither.
        parts = self.plain_parts(self.network, batch, clock) if self.plain else Parts(*self.module(batch, clock))
        for parameter in self.groups[turn]:
            parameter.grad = None
        if self.plain:
            parts.backward()
        else:
            self.fabric.backward(parts.value if share == 1.0 else parts.value * share)
        self.optimizers[turn].step()
        return parts

    def _count_batches(self) -> int:
        return -(-len(self.table) // self.settings.batch_rows)

    def _batches(self) -> Iterator[tuple[Batch, float]]:
        """This process's part of each batch, and how much the loss that it computes counts: 1 if that is the batch's.

        Batches are of nearly equal size, at most `batch_rows`, so that no remnant of a few rows makes a step.
        """
        order = torch.randperm(len(self.table), generator=stream(self.seed, "order", self.epoch))
        rows = self.table.rows[order].to(self.fabric.device)
        world, rank = self.fabric.world_size, self.fabric.global_rank
        batches = rows.tensor_split(self._count_batches())
        data, pairs = shown(self.split, self.train_data, self.seed, self.epoch, self.objective.method.paired)
        complete = self.table.complete
        for whole, extras in zip(batches, self._extras([len(batch) for batch in batches]), strict=True):
            if world == 1:
                yield Batch.gather(data, whole, complete, None if extras is None else extras.flatten(), pairs), 1.0
                continue
            extra = None if extras is None else extras.tensor_split(world)[rank].flatten()
            parts = whole.tensor_split(world)
            if self.objective.method.processes == "apart":
                yield Batch.gather(data, parts[rank], complete, extra, pairs), len(parts[rank]) * world / len(whole)
            else:
                start = sum(len(part) for part in parts[:rank])
                own = slice(start, start + len(parts[rank]))
                yield Batch.gather_part(data, whole, complete, own, world, extra, pairs), 1.0

    def _extras(self, sizes: list[int]) -> list[Tensor | None]:
        """For each batch its extra positions, some a row: all inputs in random order, begun anew when they run out."""
        if self.settings.extra == "none":
            return [None] * len(sizes)
        width = 1 if self.settings.extra == "rows" else self.table.rows.shape[1]
        needed, total = sum(sizes) * width, len(self.split.train)
        generator = stream(self.seed, "extra", self.epoch)
        orders = [torch.randperm(total, generator=generator) for _ in range(-(-needed // total))]
        return list(torch.cat(orders)[:needed].to(self.fabric.device).view(-1, width).split(sizes))

    def _save(self) -> None:
        if not self.fabric.is_global_zero:
            return
        assert self.checkpoint is not None
        self.checkpoint.save(
            {
                "device": self.fabric.device.type,
                "epoch": self.epoch,
                "step": self.step,
                "diverged": self.diverged,
                "objective": self.objective.state_dict(),
                "optimizers": {turn: optimizer.state_dict() for turn, optimizer in self.optimizers.items()},
                "best": vars(self.best),
                "table": (self.table.rows, self.table.anchors),
                "random": torch.get_rng_state(),
                "cuda_random": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            }
        )

    def _resume(self) -> None:
        state, said = self.checkpoint.load() if self.checkpoint else (None, [])
        for text in said:
            self.display.notice(text)
        if self.fabric.is_global_zero:
            self.records.rewind(0 if state is None else state["epoch"])
        if state is None:
            return
        if state.get("device", self.fabric.device.type) != self.fabric.device.type:
            raise InputError(
                f"the checkpoint of this run was written on {state['device']}, and this is {self.fabric.device.type}: "
                "go on there, where it ends with the same bits, or delete the run's folder to start it anew here"
            )
        self.epoch, self.step, self.diverged = state["epoch"], state["step"], state["diverged"]
        self.objective.load_state_dict(state["objective"])
        for turn, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][turn])
        self.best = Best(**state["best"])
        self.table = MatchTable(*(part.cpu() for part in state["table"]))
        if isinstance(self.matcher, NearestMatcher):
            self.matcher.table = self.table
        torch.set_rng_state(state["random"].cpu())
        if state["cuda_random"]:
            torch.cuda.set_rng_state_all([part.cpu() for part in state["cuda_random"]])
