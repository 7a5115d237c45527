"""Settings of the training loop: what changes numbers (`TrainingSettings`) and what does not (`MachineSettings`)."""

from typing import Literal

from pydantic import Field, model_validator

from matchdg.core.settings import LATE, Settings

ClassKeep = Literal["loss", "accuracy", "objective", "last"]
MatchKeep = Literal["top10-overlap", "overlap", "mean-rank", "mutual", "last"]
Extra = Literal["none", "rows", "inputs"]


class TrainingSettings(Settings):
    """The optimiser, its schedule, the batches, and the rule by which one epoch's weights are kept."""

    epochs: int = Field(100, ge=1, description="passes over the match table")
    batch_rows: int = Field(
        64,
        ge=1,
        description="match-table rows a batch; a batch holds this many inputs of every source domain",
    )
    optimizer: Literal["sgd", "adam"] = Field("sgd", description="the optimiser")
    learning_rate: float = Field(0.1, gt=0, description="learning rate at the start")
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum of SGD (Nesterov), beta1 of Adam")
    weight_decay: float = Field(0.0005, ge=0, description="weight decay")
    schedule: Literal["constant", "cosine", "step"] = Field(
        "constant",
        description="learning rate over epochs; cosine falls to zero, step divides at the milestones",
    )
    milestones: tuple[int, ...] = Field((), description="epochs at which the step schedule divides by ten")
    precision: Literal["32-true", "16-mixed", "bf16-mixed"] = Field("32-true", description="number format")
    redraw: Literal["epoch", "never"] = Field(
        "epoch", description="draw new matches where several are valid: every epoch, or once"
    )
    extra: Extra = Field(
        "none",
        description="an extra part of each batch, drawn from all source domains at random, that gets the "
        "classification loss alone: none, as many inputs as the batch has rows (the paper, phase 2), or as many as "
        "it has inputs (its reference code)",
    )
    keep: ClassKeep | MatchKeep = Field(
        "accuracy",
        description="the epoch whose weights are kept, by validation loss, accuracy, or objective (loss plus the "
        "method's penalty, but for an adversary's), or the last; in phase 1 by how well validation inputs find their "
        "own augmentations (top10-overlap, overlap, mean-rank), by the share of mutual nearest neighbours over domains "
        "(mutual), or the last",
    )
    patience: int | None = Field(None, ge=1, description="stop after this many epochs without a better one")
    selection: Literal["source", "target"] = Field(
        "source",
        description="whose data the criterion is computed on; 'target' leaks, and every result says so",
    )
    backbone_rate: float = Field(
        1.0,
        ge=0,
        description="the featurizer's learning rate, as a factor on that of all else; 0: it stays as it is, its "
        "BatchNorm statistics too",
        json_schema_extra=LATE,
    )

    @model_validator(mode="after")
    def _check(self) -> "TrainingSettings":
        if self.schedule != "step" and self.milestones:
            raise ValueError(f"milestones belong to the schedule 'step', not to {self.schedule!r}")
        if self.selection == "target" and self.keep not in ("loss", "accuracy"):
            raise ValueError(f"selection on the target goes by 'loss' or 'accuracy', not by {self.keep!r}")
        return self

    def rate(self, epoch: int) -> float:
        """The learning rate of `epoch`."""
        from math import cos, pi

        if self.schedule == "cosine":
            return self.learning_rate * 0.5 * (1 + cos(pi * epoch / self.epochs))
        return self.learning_rate * 0.1 ** sum(epoch >= milestone for milestone in self.milestones)


class MachineSettings(Settings):
    """Where and how a run is computed. Nothing here belongs to what is computed."""

    accelerator: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="kind of device")
    devices: int = Field(1, ge=1, description="processes, one a device (gloo on CPUs, NCCL on GPUs)")
    threads: int | None = Field(None, ge=1, description="threads a process; default: PyTorch's own")
    checkpoint_seconds: float = Field(30.0, ge=0, description="write a checkpoint at most this often; 0: every epoch")
