"""Which upright images train, select and test: the three set-ups of the paper's appendix C.1."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data.originals import Originals

VALIDATION_PART = 0.2


@dataclass(frozen=True)
class Division:
    """Indices of the originals that each part shows, every domain of a part the same ones."""

    train: Tensor
    validation: Tensor
    test: Tensor


def divide(
    originals: Originals,
    train: int | Literal["all"],
    validation: int | None,
    test: int | None,
    relation: Literal["separate", "same"],
    seed: int,
) -> Division:
    """Choose with `seed` which originals train, select and test. `validation` None is 20 % of `train`.

    "separate" (main set-up): all three are disjoint. Training and validation come from the official training set,
    test from the official test set, where there are such; `test` None is all that is left.

    "same" (LeNet set-up): the targets show training images, the first `test` of them or, with None, all. This
    leaks the targets' content into training, as the paper says; validation images still appear nowhere else.

    `train` "all" (DomainBed set-up) puts the official sets together and leaves nothing out: `test`, or with None
    one sixth, as one of six domains has; of the rest, training and validation get 1 : 0.2. Of MNIST's 70,000:
    48,612, 9,722 and 11,666.

    Raises `InputError` if that is more than there is.
    """
    count = len(originals.images)
    apart = 0 if train == "all" else originals.official_test
    if train == "all":
        train, validation, test = _everything(originals.title, count, validation, test, relation)
    if validation is None:
        validation = max(1, round(VALIDATION_PART * train))
    wanted = {"train_per_domain": train, "validation_per_domain": validation}
    if relation == "separate" and not apart:
        wanted["test_per_domain"] = 1 if test is None else test
    _check_enough(originals.title, wanted, count - apart)

    random = np.random.Generator(np.random.PCG64(seed))
    pool, official = _shuffled(random, 0, count - apart), _shuffled(random, count - apart, count)
    chosen, selecting, left = pool[:train], pool[train : train + validation], pool[train + validation :]
    shown = chosen if relation == "same" else official if apart else left
    test = len(shown) if test is None else test
    kind = f"{originals.title}, targets that show {'training' if relation == 'same' else 'test'} images"
    _check_enough(kind, {"test_per_domain": test}, len(shown))
    return Division(chosen, selecting, shown[:test])


def _everything(
    title: str, count: int, validation: int | None, test: int | None, relation: str
) -> tuple[int, int, int | None]:
    """How many train, select and test when nothing is left out."""
    left = count
    if relation == "separate":
        test = count // 6 if test is None else test
        _check_enough(title, {"test_per_domain": test}, count - 2)
        left = count - test
    if validation is None:
        validation = left - round(left / (1 + VALIDATION_PART))
    _check_enough(title, {"validation_per_domain": validation}, left - 1)
    return left - validation, validation, test


def _shuffled(random: np.random.Generator, start: int, stop: int) -> Tensor:
    # Only uniform doubles are drawn, so that every machine and every version of NumPy agrees.
    return torch.from_numpy(start + np.argsort(random.random(stop - start), kind="stable"))


def _check_enough(title: str, wanted: dict[str, int], there: int) -> None:
    if min(wanted.values()) < 1 or sum(wanted.values()) > there:
        asked = " + ".join(f"{name} {number}" for name, number in wanted.items())
        raise InputError(
            f"{title}: asked for {asked} images, expected at least 1 each and {there} together at most; "
            "lower a number, or give null for its default"
        )
