from pathlib import Path

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.data.xray.collections import NIH
from matchdg.data.xray.listing import Listing
from matchdg.data.xray.selection import choose_balanced


def listing(labels: list[int], patients: list[str] | None = None, absent: int = 0) -> Listing:
    names = [str(number) for number in range(len(labels))] if patients is None else patients
    files = tuple(Path(f"{number}.png") for number in range(len(labels)))
    return Listing(NIH, Path("NIH"), files, np.asarray(labels), np.asarray(names), absent)


def test_every_part_has_half_of_either_class_and_nothing_is_in_two() -> None:
    found = listing([0] * 90 + [1] * 12)
    parts, notice = choose_balanced(found, (16, 4, 4), seed=0)
    assert [len(part) for part in parts] == [16, 4, 4]
    assert [int(found.labels[part].sum()) for part in parts] == [8, 2, 2]
    assert len(np.unique(np.concatenate(parts))) == 24
    assert notice is None


def test_another_seed_draws_others_and_an_equal_one_the_same() -> None:
    found = listing([0, 1] * 100)
    draw = [choose_balanced(found, (20, 10), seed)[0] for seed in (0, 0, 1)]
    assert all(np.array_equal(first, second) for first, second in zip(draw[0], draw[1], strict=True))
    assert not np.array_equal(draw[0][0], draw[2][0])


def test_of_each_patient_one_is_used_with_pneumonia_if_there_is_one() -> None:
    found = listing([0, 0, 1, 0, 1, 1, 0, 0], ["a", "a", "a", "b", "c", "c", "d", "d"])
    for seed in range(20):
        parts, _ = choose_balanced(found, (2, 2), seed)
        used = np.concatenate(parts)
        assert sorted(found.patients[used].tolist()) == ["a", "b", "c", "d"]
        assert found.labels[used][found.patients[used] == "a"].tolist() == [1]
    ones = {int(row) for seed in range(20) for part in choose_balanced(found, (2, 2), seed)[0] for row in part}
    assert {4, 5, 6, 7} <= ones


def test_too_few_are_shared_out_in_the_same_proportion_and_counted() -> None:
    found = listing([0] * 40 + [1] * 10, absent=3)
    parts, notice = choose_balanced(found, (800, 200), seed=0)
    assert [len(part) for part in parts] == [16, 4]
    assert [int(found.labels[part].sum()) for part in parts] == [8, 2]
    assert notice == (
        "NIH in NIH has X-rays of 40 with no pneumonia, 10 with pneumonia, one a patient, where 500 of each are "
        "wanted; 3 more are listed but have no file; used are 8 + 2 of each"
    )


@pytest.mark.parametrize("count", range(2, 30))
def test_however_few_there_are_no_part_is_empty_and_none_is_used_twice(count: int) -> None:
    parts, _ = choose_balanced(listing([0, 1] * count), (800, 200), seed=0)
    assert min(len(part) for part in parts) >= 2
    assert len(np.unique(np.concatenate(parts))) == sum(len(part) for part in parts) <= 2 * count


def test_too_few_are_an_error_when_strict() -> None:
    with pytest.raises(InputError, match=r"40 with no pneumonia, 10 with pneumonia.*500 of each.*without --strict"):
        choose_balanced(listing([0] * 40 + [1] * 10), (800, 200), seed=0, strict=True)


def test_enough_are_no_error_when_strict() -> None:
    assert choose_balanced(listing([0, 1] * 5), (8, 2), seed=0, strict=True)[1] is None


@pytest.mark.parametrize("labels", [[], [0] * 9, [0] * 9 + [1]])
def test_a_class_that_is_as_good_as_absent_is_an_error(labels: list[int]) -> None:
    with pytest.raises(InputError, match="at least 2 of each are needed"):
        choose_balanced(listing(labels), (8, 2), seed=0)
