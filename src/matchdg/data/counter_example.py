"""The counter-example of the paper's section 3.1, and its variant of appendix A.2."""

import numpy as np
from pydantic import Field
from torch import from_numpy

from matchdg.core.settings import Settings
from matchdg.data.dataset import DomainDataset
from matchdg.data.split import DomainSplit

# x_c given y = 1 and given y = 0, then alpha: domain 1, domain 2, target.
STABLE_RANGES = (((1, 3), (-2, 0)), ((0, 2), (-3, -1)), ((0, 2), (-2, 0)))
SHIFTS = (1.0, 2.0, 0.0)


class CounterExampleSettings(Settings):
    """x1 = x_c + alpha_d, x2 = alpha_d, y = [x_c >= 0]: x1 alone is class-conditionally invariant and fails.

    With `kappa` > 0 this is the variant that satisfies the MatchDG assumption (kappa > 1.5): |x_c| grows by
    kappa, and alpha becomes kappa + 1 and kappa + 2 on the sources. An object is a bin of x_c of width
    `object_width`, so that some objects are in one source domain only.
    """

    kappa: float = Field(0.0, ge=0, description="how far the classes are moved apart; 0 is section 3.1's example")
    object_width: float = Field(0.1, gt=0, description="x_c within one bin of this width is one object")
    train_per_domain: int = Field(1000, ge=2, description="training points of a source domain")
    validation_per_domain: int = Field(250, ge=2, description="validation points of a source domain")
    test_per_domain: int = Field(1000, ge=2, description="test points of a domain")

    def build(self, seed: int) -> DomainSplit:
        """Draw the data of one seed. Equal seeds give equal data on every machine."""
        random = np.random.Generator(np.random.PCG64(seed))
        sources, targets = ("Source 1", "Source 2"), ("Target",)
        return DomainSplit(
            self._draw(random, sources, self.train_per_domain),
            self._draw(random, sources, self.validation_per_domain),
            self._draw(random, sources + targets, self.test_per_domain),
            targets,
        )

    def _draw(self, random: np.random.Generator, names: tuple[str, ...], count: int) -> DomainDataset:
        domains = np.repeat(np.arange(len(names), dtype=np.int64), count)
        labels = np.tile(np.arange(count, dtype=np.int64) % 2, len(names))
        ranges = np.asarray(STABLE_RANGES, dtype=np.float64)[domains, 1 - labels]
        stable = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * random.random(len(domains))
        stable = stable + self.kappa * np.where(labels == 1, 1.0, -1.0)
        shift = np.asarray(SHIFTS)[domains] + self.kappa * (domains < 2)
        inputs = np.stack([stable + shift, shift], axis=1).astype(np.float32)
        objects = np.floor(stable / self.object_width).astype(np.int64)
        return DomainDataset(
            from_numpy(inputs),
            from_numpy(labels),
            from_numpy(domains),
            from_numpy(objects),
            ("0", "1"),
            names,
        )
