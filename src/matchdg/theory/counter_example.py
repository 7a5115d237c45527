"""The numbers of the paper's section 3.1 and appendix A.2: in closed form, and measured on drawn data."""

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from matchdg.data import DomainDataset
from matchdg.data.counter_example import SHIFTS, STABLE_RANGES, CounterExampleSettings

Floats = NDArray[np.float64]

# Assumption 1 needs 1.5 or more.
VARIANT_KAPPA: Final = 1.6
_DOMAINS: Final = ("Source 1", "Source 2", "Target")


def counter_example(seed: int = 0, count: int = 100_000) -> dict[str, Any]:
    """Score two rules on section 3.1's data and on the variant of appendix A.2, with `count` points a domain.

    The `rules` are the spurious x1 >= t, with t in the middle between the sources' classes, and the stable
    x1 - x2 >= 0. Each has `exact` and `measured` values: its accuracy on every domain and on the target's
    class 1, and the `class-conditional gap` of its feature, which is 0 where the feature is independent of the
    domain given the class: the Kolmogorov-Smirnov distance between the sources, in the worse class.
    `assumption` says whether the sources meet assumption 1 (section 5).

    Raises `InputError` where `count` is below 2.

    >>> rule = counter_example(count=1000)["section 3.1"]["rules"][0]
    >>> rule["rule"], rule["exact"]["Target"], rule["exact"]["class-conditional gap"]
    ('x1 >= 1.5', 0.625, 0.0)
    """
    return {
        "section 3.1": _example(0.0, seed, count),
        "appendix A.2": _example(VARIANT_KAPPA, seed, count),
    }


def _example(kappa: float, seed: int, count: int) -> dict[str, Any]:
    settings = CounterExampleSettings.parse({"kappa": kappa, "test_per_domain": count}, "counter-example")
    data = settings.build(seed).test
    x1, x2 = data.inputs[torch.arange(len(data))].double().numpy().T
    stable = _stable_ranges(kappa)
    spurious = stable + _shifts(kappa)[:, None, None]
    threshold = _midpoint(spurious)
    return {
        "kappa": kappa,
        "rules": [
            _rule(f"x1 >= {threshold:g}", threshold, spurious, x1, data),
            _rule("x1 - x2 >= 0", 0.0, stable, x1 - x2, data),
        ],
        "assumption": {
            "exact": _assumption(stable),
            "measured": _assumption(_extremes(x1 - x2, data)),
        },
    }


def _stable_ranges(kappa: float) -> Floats:
    """`[domain, class, end]`: x_c is uniform between the two ends; |x_c| is `kappa` larger than in section 3.1."""
    by_class = np.asarray(STABLE_RANGES, dtype=np.float64)[:, ::-1]
    return by_class + kappa * np.array([-1.0, 1.0])[:, None]


def _shifts(kappa: float) -> Floats:
    """`[domain]`: alpha; appendix A.2 names the sources' only, so the target keeps its 0."""
    return np.asarray(SHIFTS) + kappa * np.array([1.0, 1.0, 0.0])


def _midpoint(ranges: Floats) -> float:
    return float(ranges[:2, 0, 1].max() + ranges[:2, 1, 0].min()) / 2


def _rule(name: str, threshold: float, ranges: Floats, feature: Floats, data: DomainDataset) -> dict[str, Any]:
    """Score "class 1 where the feature is at least `threshold`"; given the class the feature is uniform on `ranges`."""
    above = 1 - _uniform_below(ranges, threshold)
    return {
        "rule": name,
        "exact": _scores(above, _exact_gap(ranges)),
        "measured": _scores(_measured_above(feature, threshold, data), _measured_gap(feature, data)),
    }


def _scores(above: Floats, gap: float) -> dict[str, float]:
    """Name what follows from `above[domain, class]`, how often the rule says class 1; classes are equally frequent."""
    correct = np.stack([1 - above[:, 0], above[:, 1]], axis=1)
    scores = dict(zip(_DOMAINS, correct.mean(axis=1).tolist(), strict=True))
    return {**scores, "Target class 1": float(correct[-1, 1]), "class-conditional gap": gap}


def _uniform_below(ranges: Floats, value: float) -> Floats:
    low, high = ranges[..., 0], ranges[..., 1]
    return np.asarray(np.clip((value - low) / (high - low), 0, 1))


def _exact_gap(ranges: Floats) -> float:
    """The distributions are piecewise linear, so that their largest difference is at an end of a range."""
    first, second = ranges[:2]
    differences = [_uniform_below(first, end) - _uniform_below(second, end) for end in ranges[:2].ravel()]
    return _rounded(np.abs(differences).max())


def _measured_above(feature: Floats, threshold: float, data: DomainDataset) -> Floats:
    cells = [[_cell(feature, data, domain, label) for label in (0, 1)] for domain in range(len(_DOMAINS))]
    return np.array([[(cell >= threshold).mean() for cell in row] for row in cells])


def _measured_gap(feature: Floats, data: DomainDataset) -> float:
    gaps = []
    for label in (0, 1):
        first, second = (np.sort(_cell(feature, data, source, label)) for source in (0, 1))
        values = np.concatenate([first, second])
        below = [np.searchsorted(part, values, side="right") / len(part) for part in (first, second)]
        gaps.append(float(np.abs(below[0] - below[1]).max()))
    return max(gaps)


def _cell(feature: Floats, data: DomainDataset, domain: int, label: int) -> Floats:
    return feature[((data.domains == domain) & (data.labels == label)).numpy()]


def _extremes(feature: Floats, data: DomainDataset) -> Floats:
    cells = [[_cell(feature, data, source, label) for label in (0, 1)] for source in (0, 1)]
    return np.array([[(cell.min(), cell.max()) for cell in row] for row in cells])


def _assumption(stable: Floats) -> dict[str, Any]:
    """Assumption 1: same-class points of two sources are no farther apart in x_c than points of two classes.

    The paper's sentence takes the point of the other class from one source, its formula from the other; here it
    may be from either. One point, source 1's class 0 nearest to zero, has both the largest same-class and the
    smallest different-class distance, so that comparing those two is the assumption itself.
    """
    first, second = stable[:2]
    same = max((first[:, 1] - second[:, 0]).max(), (second[:, 1] - first[:, 0]).max())
    different = stable[:2, 1, 0].min() - stable[:2, 0, 1].max()
    return {
        "largest same-class distance": _rounded(same),
        "smallest different-class distance": _rounded(different),
        "holds": _rounded(same) <= _rounded(different),
    }


def _rounded(value: float) -> float:
    """Without the last bits of a sum such as 1.6 + 3, which would make 3 of 2.9999999999999996."""
    return round(float(value), 12)
