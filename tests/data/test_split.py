from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset, DomainSplit, split_by_domain


def _data(cells: Sequence[Sequence[int]]) -> DomainDataset:
    """`cells[domain][class]` inputs in each cell; an input and its object are its position."""
    domains = [d for d, row in enumerate(cells) for count in row for _ in range(count)]
    labels = [y for row in cells for y, count in enumerate(row) for _ in range(count)]
    positions = torch.arange(len(labels))
    names = tuple("abcdef"[: len(cells)])
    classes = tuple(str(y) for y in range(len(cells[0])))
    return DomainDataset(
        positions[:, None].float(), torch.tensor(labels), torch.tensor(domains), positions, classes, names
    )


def _positions(data: DomainDataset) -> list[int]:
    assert data.objects is not None
    return data.objects.tolist()


def test_targets_are_tested_and_the_others_trained_on() -> None:
    split = split_by_domain(_data([[5, 5], [5, 5], [5, 5]]), ["b"])
    assert split.sources == split.train.domain_names == split.validation.domain_names == ("a", "c")
    assert split.targets == split.test.domain_names == ("b",)
    assert _positions(split.test) == list(range(10, 20))
    assert split.train.counts.tolist() == [[4, 4], [4, 4]]
    assert split.validation.counts.tolist() == [[1, 1], [1, 1]]


def test_sources_given_keep_their_order_and_others_are_left_out() -> None:
    split = split_by_domain(_data([[4, 4]] * 4), targets=["a"], sources=["d", "b"])
    assert split.sources == ("d", "b")
    used = set(_positions(split.train)) | set(_positions(split.validation))
    assert used == set(range(8, 16)) | set(range(24, 32))
    first = _positions(split.train)[0]
    assert split.train.domain_names[int(split.train.domains[0])] == "abcd"[first // 8]


@pytest.mark.parametrize(
    ("size", "fraction", "held_out"),
    [(2, 0.2, 1), (10, 0.2, 2), (10, 0.25, 2), (10, 0.99, 9), (10, 0.01, 1), (3, 0.5, 2), (1, 0.5, 0)],
)
def test_each_cell_gives_the_fraction_but_at_least_one_and_not_all(size: int, fraction: float, held_out: int) -> None:
    split = split_by_domain(_data([[size, 20], [20, 20], [1, 1]]), ["c"], validation_fraction=fraction)
    assert split.validation.counts[0, 0] == held_out
    assert split.train.counts[0, 0] == size - held_out


def test_the_split_depends_on_the_seed_and_on_nothing_else() -> None:
    data = _data([[50, 50]] * 3)
    once, again = (_positions(split_by_domain(data, ["c"], seed=3).validation) for _ in range(2))
    assert once == again
    assert once != _positions(split_by_domain(data, ["c"], seed=4).validation)


def test_seed_zero_is_the_same_split_on_every_machine() -> None:
    split = split_by_domain(_data([[2, 2]] * 3), ["c"])
    assert _positions(split.validation) == [0, 3, 5, 6]


CELLS = st.lists(st.lists(st.integers(0, 7), min_size=2, max_size=2), min_size=3, max_size=5).filter(
    lambda cells: (
        all(sum(row) for row in cells)
        and all(sum(row[y] for row in cells[1:]) for y in (0, 1))
        and any(count > 1 for row in cells[1:] for count in row)
    )
)


@settings(deadline=None, max_examples=50)
@given(CELLS, st.floats(0.01, 0.99), st.integers(0, 5))
def test_a_split_is_a_partition_that_leaves_every_cell_a_training_point(
    cells: list[list[int]], fraction: float, seed: int
) -> None:
    data = _data(cells)
    split = split_by_domain(data, ["a"], validation_fraction=fraction, seed=seed)
    parts = [_positions(part) for part in (split.train, split.validation, split.test)]
    assert sorted(chain(*parts)) == list(range(len(data)))
    assert ((split.train.counts > 0) == (data.counts[1:] > 0)).all()
    assert ((split.validation.counts > 0) == (data.counts[1:] > 1)).all()
    for part in (split.train, split.validation, split.test):
        at = torch.tensor(_positions(part))
        assert part.labels.equal(data.labels[at])
        assert part.inputs[torch.arange(len(part))].equal(data.inputs[at])
        names = [part.domain_names[domain] for domain in part.domains.tolist()]
        assert names == [data.domain_names[domain] for domain in data.domains[at].tolist()]


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("targets", "sources", "message"),
    [
        (["hospitl 1"], None, "unknown domain 'hospitl 1'; did you mean 'hospital 1'"),
        (["hospital 1"], ["2", "clinic"], "unknown domain '2'"),
        ([1], None, "unknown domain 1"),
        ("clinic", None, r"targets is 'clinic', expected a list of domain names; write \['clinic'\]"),
        (["clinic"], "hospital 1", "sources is 'hospital 1', expected a list"),
        (["clinic"], ["clinic", "hospital 1"], "clinic: a target domain must not be a source domain as well"),
        (["clinic"], ["hospital 1"], "at least two source domains, got 1"),
        (["clinic", "hospital 1"], None, "at least two source domains, got 1"),
        (["clinic"], [], "at least two source domains, got 0"),
        (["clinic"], ["hospital 1", "hospital 1"], "a domain is named twice: hospital 1, hospital 1"),
        (["clinic", "clinic"], None, "a domain is named twice: clinic, clinic"),
        ([], None, "no inputs are left in"),
    ],
)
def test_wrong_names_are_refused(targets: list[str], sources: list[str] | None, message: str) -> None:
    data = replace(_data([[4, 4]] * 3), domain_names=("clinic", "hospital 1", "hospital 2"))
    with pytest.raises(InputError, match=message):
        split_by_domain(data, targets, sources)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_the_validation_fraction_is_between_0_and_1(fraction: float) -> None:
    with pytest.raises(InputError, match=r"validation_fraction is .*, expected a number between 0 and 1"):
        split_by_domain(_data([[4, 4]] * 3), ["a"], validation_fraction=fraction)


def test_a_class_in_the_target_but_in_no_source_cannot_be_learnt() -> None:
    with pytest.raises(InputError, match="class '2' is in the target but in no source domain"):
        split_by_domain(_data([[4, 4, 0], [4, 4, 0], [4, 4, 1]]), ["c"])


def test_a_class_that_one_source_lacks_is_worked_with_and_noticed() -> None:
    split = split_by_domain(_data([[4, 0, 4], [4, 4, 0], [4, 4, 4]]), ["c"])
    assert split.notices == (
        "source domain 'a' has no input of class '1'; its matches are left out there",
        "source domain 'b' has no input of class '2'; its matches are left out there",
    )


def test_a_class_that_no_domain_has_and_complete_data_are_not_noticed() -> None:
    assert split_by_domain(_data([[4, 0, 4]] * 3), ["c"]).notices == ()


def test_what_a_data_set_remarks_is_noticed_before_that() -> None:
    split = replace(split_by_domain(_data([[4, 0, 4], [4, 4, 4], [4, 4, 4]]), ["c"]), remarks=("few were found",))
    assert split.notices[0] == "few were found"
    assert split.notices[1].startswith("source domain 'a' has no input of class '1'")


def test_domains_of_single_inputs_leave_nothing_to_select_with() -> None:
    with pytest.raises(InputError, match="no inputs are left in a, b; every domain needs at least two a class"):
        split_by_domain(_data([[1, 1], [1, 1], [4, 4]]), ["c"])


@pytest.mark.parametrize("empty", ["b", "c"])
def test_a_domain_without_inputs_is_refused(empty: str) -> None:
    cells = [[0, 0] if name == empty else [4, 4] for name in "abcd"]
    with pytest.raises(InputError, match=f"domain '{empty}' has no inputs; add some or leave it out"):
        split_by_domain(_data(cells), targets=["c", "d"])


def _parts() -> tuple[DomainDataset, DomainDataset, DomainDataset]:
    split = split_by_domain(_data([[4, 4]] * 3), ["c"])
    return split.train, split.validation, split.test


def test_parts_may_be_given_by_hand_and_the_test_part_may_have_sources() -> None:
    train, validation, _ = _parts()
    split = DomainSplit(train, validation, _data([[4, 4]] * 3), ("c",))
    assert (split.sources, split.targets) == (("a", "b"), ("c",))


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ((), "no target domain was named; name at least one that is not a source"),
        (("a", "c"), "a: a target domain must not be a source domain as well"),
        (("C",), "unknown target domain 'C'; did you mean 'c'"),
    ],
)
def test_targets_by_hand_are_checked(targets: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DomainSplit(*_parts(), targets)


def test_one_source_by_hand_is_too_few() -> None:
    _, _, test = _parts()
    one = _data([[4, 4]])
    with pytest.raises(InputError, match="needs at least two source domains, got 1: a"):
        DomainSplit(one, one, test, ("c",))


def test_validation_by_hand_must_be_of_the_sources() -> None:
    train, validation, test = _parts()
    turned = replace(validation, domain_names=("b", "a"))
    with pytest.raises(InputError, match=r"validation domains \('b', 'a'\) are not the sources \('a', 'b'\)"):
        DomainSplit(train, turned, test, ("c",))


@pytest.mark.parametrize("part", ["validation", "test"])
def test_parts_by_hand_must_agree_on_the_classes(part: str) -> None:
    parts = dict(zip(("train", "validation", "test"), _parts(), strict=True))
    parts[part] = replace(parts[part], class_names=("0", "1", "2"))
    with pytest.raises(InputError, match=r"class names differ: .* give all parts the same class_names"):
        DomainSplit(**parts, targets=("c",))


def test_many_inputs_are_split_in_the_proportions_asked_for() -> None:
    count = 200_000
    data = DomainDataset.from_arrays(
        np.zeros((count, 1), dtype=np.float32), np.arange(count) % 10, np.arange(count) // 10 % 4
    )
    split = split_by_domain(data, ["3"])
    assert (len(split.train), len(split.validation), len(split.test)) == (120_000, 30_000, 50_000)
