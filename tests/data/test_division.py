from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.data.division import Division, divide
from matchdg.data.originals import Originals


def _originals(count: int, official_test: int = 0) -> Originals:
    return Originals("things", torch.zeros(count, 1, 1, dtype=torch.uint8), torch.zeros(count), ("a",), official_test)


MNIST_SIZED = _originals(70_000, 10_000)


def _sizes(division: Division) -> tuple[int, int, int]:
    return len(division.train), len(division.validation), len(division.test)


@given(st.integers(1, 30), st.integers(1, 10), st.integers(1, 20), st.sampled_from([0, 25]), st.integers(0, 99))
def test_separate_parts_share_no_image(train: int, validation: int, test: int, official: int, seed: int) -> None:
    division = divide(_originals(80, official), train, validation, test, "separate", seed)
    assert _sizes(division) == (train, validation, test)
    together = torch.cat([division.train, division.validation, division.test])
    assert len(together.unique()) == train + validation + test
    assert together.min() >= 0
    assert together.max() < 80


def test_training_and_test_images_are_of_the_official_sets() -> None:
    division = divide(MNIST_SIZED, 2000, None, 2000, "separate", 0)
    assert _sizes(division) == (2000, 400, 2000)
    assert division.train.max() < 60_000
    assert division.validation.max() < 60_000
    assert division.test.min() >= 60_000


def test_validation_is_a_fifth_of_training_rounded() -> None:
    for train, validation in ((10_000, 2000), (1000, 200), (8, 2), (7, 1), (1, 1)):
        assert len(divide(MNIST_SIZED, train, None, 1, "separate", 0).validation) == validation


def test_without_a_number_the_targets_show_all_that_is_left() -> None:
    assert _sizes(divide(_originals(1797), 1000, None, None, "separate", 0)) == (1000, 200, 597)
    assert _sizes(divide(MNIST_SIZED, 1000, None, None, "separate", 0)) == (1000, 200, 10_000)


def test_the_same_images_may_train_and_be_the_targets() -> None:
    division = divide(MNIST_SIZED, 1000, None, None, "same", 0)
    assert _sizes(division) == (1000, 200, 1000)
    assert torch.equal(division.test, division.train)
    assert not set(division.validation.tolist()) & set(division.train.tolist())
    fewer = divide(MNIST_SIZED, 1000, None, 300, "same", 0)
    assert torch.equal(fewer.test, division.train[:300])


def test_all_leaves_nothing_out_and_shares_mnist_out_as_documented() -> None:
    division = divide(MNIST_SIZED, "all", None, None, "separate", 0)
    assert _sizes(division) == (48_612, 9722, 11_666)
    together = torch.cat([division.train, division.validation, division.test])
    assert torch.equal(together.sort().values, torch.arange(70_000))
    # The official sets are put together.
    assert division.train.max() >= 60_000
    assert division.test.min() < 60_000


@pytest.mark.parametrize(
    ("arguments", "sizes"),
    [
        (("all", None, 100, "separate"), (1000, 200, 100)),
        (("all", 300, 100, "separate"), (900, 300, 100)),
        (("all", None, None, "same"), (1083, 217, 1083)),
        (("all", 300, 50, "same"), (1000, 300, 50)),
    ],
)
def test_all_with_numbers_of_one_s_own(arguments: Any, sizes: tuple[int, int, int]) -> None:
    for official in (0, 200):
        assert _sizes(divide(_originals(1300, official), *arguments, 0)) == sizes


def test_a_seed_gives_the_same_division_and_another_seed_another() -> None:
    first, again, other = (divide(MNIST_SIZED, 2000, None, 2000, "separate", seed) for seed in (3, 3, 4))
    for part in ("train", "validation", "test"):
        assert torch.equal(getattr(first, part), getattr(again, part))
        assert not torch.equal(getattr(first, part), getattr(other, part))


def test_more_targets_do_not_change_what_trains() -> None:
    few, many = (divide(_originals(500), 100, 20, test, "separate", 0) for test in (10, 300))
    assert torch.equal(few.train, many.train)
    assert torch.equal(few.test, many.test[:10])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (55_000, None, 10),
            "things: asked for train_per_domain 55000 \\+ validation_per_domain 11000 images, .* 60000",
        ),
        ((100, 60_000, 10), "train_per_domain 100 \\+ validation_per_domain 60000 images"),
        (
            (100, None, 10_001),
            "targets that show test images: asked for test_per_domain 10001 images, .* 10000 together",
        ),
        (("all", None, 69_999), "asked for test_per_domain 69999 images, .* 69998"),
        (("all", 60_000, 10_000), "asked for validation_per_domain 60000 images, .* 59999"),
    ],
)
def test_more_than_there_is_is_refused_with_the_numbers(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        divide(MNIST_SIZED, *arguments, "separate", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (1000, 200, 598, "separate"),
            "train_per_domain 1000 \\+ validation_per_domain 200 \\+ test_per_domain 598 .* 1797",
        ),
        ((1000, 797, None, "separate"), "validation_per_domain 797 \\+ test_per_domain 1 images"),
        (
            (1000, 200, 1001, "same"),
            "targets that show training images: asked for test_per_domain 1001 images, .* 1000",
        ),
    ],
)
def test_so_it_is_where_there_is_one_set_only(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        divide(_originals(1797), *arguments, 0)
