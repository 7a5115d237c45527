"""The slab data of the paper's section 3.2 and appendix A.1: a spurious linear feature, a stable slab one."""

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor, from_numpy

from matchdg.core.settings import Settings
from matchdg.data.dataset import DomainDataset
from matchdg.data.split import DomainSplit

LINEAR_FEATURE, SLAB_FEATURE = 0, 1


class SlabSettings(Settings):
    """Two features, two classes: x1 is linear and fails on the target, x2 is stable and lies in slabs.

    x1 is uniform on [0.1, 1] for class 1 and [-1, -0.1] for class 0, or, with the domain's noise probability,
    uniform on [-0.1, 0.1]. x2 lies in one of `slabs` slabs of length L = (2 - margin (slabs - 1)) / slabs on
    [-1, 1]; even slabs belong to class 0, odd ones to class 1, and with probability `label_noise` to the other.
    Slab i starts at -1 + i (L + margin): as printed, without the margin, the slabs would end at 0.4 and have
    no gaps. The object is the slab.
    """

    slabs: int = Field(7, ge=2, description="k, the number of slabs")
    margin: float = Field(0.1, ge=0, description="m, the gap between two slabs")
    label_noise: float = Field(0.1, ge=0, le=1, description="p_s, how often a slab has the other class")
    source_noise: tuple[float, ...] = Field((0.0, 0.1), description="p of each source domain")
    target_noise: tuple[float, ...] = Field((1.0,), description="p of each target domain")
    train_per_domain: int = Field(1000, ge=1, description="training points of a source domain")
    validation_per_domain: int = Field(250, ge=1, description="validation points of a source domain")
    test_per_domain: int = Field(
        1000, ge=1, description="test points of a domain; the sources get fresh ones that nothing else sees"
    )

    @model_validator(mode="after")
    def _check(self) -> "SlabSettings":
        if self.margin * (self.slabs - 1) >= 2:
            raise ValueError(
                f"{self.slabs} slabs with margins of {self.margin} do not fit into [-1, 1]; lower one of them"
            )
        if not self.source_noise:
            raise ValueError("domain generalization needs at least two source domains, got noise for none")
        wrong = [p for p in (*self.source_noise, *self.target_noise) if not 0 <= p <= 1]
        if wrong:
            raise ValueError(f"noise must be probabilities between 0 and 1, got {wrong[0]}")
        return self

    def build(self, seed: int) -> DomainSplit:
        """Draw the data of one seed. Equal seeds give equal data on every machine."""
        random = np.random.Generator(np.random.PCG64(seed))
        sources = _names("Source", len(self.source_noise))
        targets = _names("Target", len(self.target_noise))
        noise = (*self.source_noise, *self.target_noise)
        train = self._draw(random, sources, self.source_noise, self.train_per_domain)
        validation = self._draw(random, sources, self.source_noise, self.validation_per_domain)
        test = self._draw(random, (*sources, *targets), noise, self.test_per_domain)
        return DomainSplit(train, validation, test, targets)

    def _draw(
        self, random: np.random.Generator, names: tuple[str, ...], noise: tuple[float, ...], count: int
    ) -> DomainDataset:
        # Only uniform doubles are drawn and only + - * and comparisons follow, so that every machine agrees.
        domains = np.repeat(np.arange(len(noise), dtype=np.int64), count)
        labels, slab_labels, slab_draw, noisy, linear, inside = random.random((6, len(domains)))
        labels = (labels < 0.5).astype(np.int64)
        slab_labels = np.where(slab_labels < self.label_noise, 1 - labels, labels)
        choices = np.where(slab_labels == 0, (self.slabs + 1) // 2, self.slabs // 2)
        slabs = 2 * np.floor(slab_draw * choices).astype(np.int64) + slab_labels
        length = (2 - self.margin * (self.slabs - 1)) / self.slabs
        x2 = -1 + slabs * (length + self.margin) + length * inside
        clean = (0.1 + 0.9 * linear) * (2 * labels - 1)
        x1 = np.where(noisy < np.asarray(noise)[domains], -0.1 + 0.2 * linear, clean)
        inputs = np.stack([x1, x2], axis=1).astype(np.float32)
        return DomainDataset(_tensor(inputs), _tensor(labels), _tensor(domains), _tensor(slabs), ("0", "1"), names)


def _names(word: str, count: int) -> tuple[str, ...]:
    return (word,) if count == 1 else tuple(f"{word} {index + 1}" for index in range(count))


def _tensor(array: np.ndarray) -> Tensor:
    return from_numpy(np.ascontiguousarray(array))
