import hashlib
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.data.dataset import MOST_CLASSES

from_arrays = DomainDataset.from_arrays


def _three(**changes: Any) -> DomainDataset:
    arguments: dict[str, Any] = {
        "inputs": [[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]],
        "labels": [0, 1, 0],
        "domains": ["b", "a", "b"],
        "objects": ["p8", "p9", "p8"],
    }
    return from_arrays(**{**arguments, **changes})


class Gathered:
    """Inputs that are not a tensor: they are read from `rows` when asked for."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows
        self.shape = tuple(rows.shape)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, positions: Tensor) -> Tensor:
        return self.rows[positions]


def test_columns_are_encoded_by_their_sorted_values() -> None:
    data = _three()
    assert data.domain_names == ("a", "b")
    assert data.domains.tolist() == [1, 0, 1]
    assert data.labels.tolist() == [0, 1, 0]
    assert data.class_names == ("0", "1")
    assert data.objects is not None
    assert data.objects.tolist() == [0, 1, 0]
    assert data.inputs[torch.tensor([2, 0])].tolist() == [[4.0, 5.0], [0.5, 1.0]]
    assert (len(data), data.input_shape) == (3, (2,))


def test_objects_may_be_unknown() -> None:
    assert _three(objects=None).objects is None


def test_numbers_as_domains_keep_their_order_and_become_names() -> None:
    data = _three(domains=[15, 2, 15])
    assert data.domain_names == ("2", "15")
    assert data.domains.tolist() == [1, 0, 1]


def test_names_given_keep_their_order() -> None:
    data = _three(domains=[0, 1, 0], domain_names=("z", "a", "unused"), class_names=("cat", "dog", "emu"))
    assert data.domains.tolist() == [0, 1, 0]
    assert data.domain_names == ("z", "a", "unused")
    assert data.counts.tolist() == [[2, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_counts_are_of_each_domain_and_class() -> None:
    data = from_arrays(np.zeros((6, 1)), [0, 0, 1, 2, 2, 2], list("aababb"))
    expected = [
        [
            sum(d == domain and y == label for d, y in zip("aababb", [0, 0, 1, 2, 2, 2], strict=True))
            for label in range(3)
        ]
        for domain in "ab"
    ]
    assert data.counts.tolist() == expected == [[2, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize("kind", [np.float64, np.float16, np.int32, bool, ">f8"])
def test_numbers_become_single_precision(kind: Any) -> None:
    data = _three(inputs=np.array([[0, 1], [1, 0], [1, 1]], dtype=kind))
    assert isinstance(data.inputs, Tensor)
    assert data.inputs.dtype == torch.float32
    assert data.inputs.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_bytes_stay_bytes_as_images_are_kept() -> None:
    data = _three(inputs=np.zeros((3, 1, 4, 4), dtype=np.uint8))
    assert isinstance(data.inputs, Tensor)
    assert data.inputs.dtype == torch.uint8
    assert data.input_shape == (1, 4, 4)


def test_reversed_arrays_are_read_in_their_order() -> None:
    data = _three(inputs=np.arange(6.0).reshape(3, 2)[::-1])
    assert data.inputs[torch.arange(3)].tolist() == [[4, 5], [2, 3], [0, 1]]


def test_tensors_are_taken_as_they_are() -> None:
    inputs = torch.ones(3, 2)
    data = from_arrays(inputs, torch.tensor([0, 1, 0]), torch.tensor([0, 0, 1]), torch.tensor([5, 5, 3]))
    assert data.inputs is inputs
    assert data.objects is not None
    assert data.objects.tolist() == [1, 1, 0]


def test_select_keeps_order_and_names() -> None:
    part = _three().select(torch.tensor([2, 1]))
    assert part.inputs[torch.arange(2)].tolist() == [[4.0, 5.0], [2.0, 3.0]]
    assert (part.labels.tolist(), part.domains.tolist()) == ([0, 1], [1, 0])
    assert part.objects is not None
    assert part.objects.tolist() == [0, 1]
    assert (part.class_names, part.domain_names) == (("0", "1"), ("a", "b"))
    assert _three(objects=None).select(torch.tensor([0])).objects is None


def test_select_of_nothing_is_an_input_error() -> None:
    with pytest.raises(InputError, match="the data set is empty"):
        _three().select(torch.tensor([], dtype=torch.int64))


def test_a_data_set_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        _three().labels = torch.zeros(3)  # type: ignore[misc]


# --- fingerprint -----------------------------------------------------------------------------------------------


def test_the_fingerprint_is_the_digest_of_names_and_columns() -> None:
    sha = hashlib.sha256(b"(('0', '1'), ('a', 'b'))")
    sha.update(np.array([[0.5, 1], [2, 3], [4, 5]], dtype="<f4").tobytes())
    for column in ([0, 1, 0], [1, 0, 1], [0, 1, 0]):
        sha.update(np.array(column, dtype="<i8").tobytes())
    assert _three().fingerprint == sha.hexdigest()[:16] == "98fdd875c6eaa97e"


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": [[0.5, 1.0], [2.0, 3.0], [4.0, 5.5]]},
        {"labels": [0, 1, 1]},
        {"domains": ["b", "a", "a"]},
        {"domains": ["b", "c", "b"]},
        {"objects": ["p8", "p9", "p9"]},
        {"objects": None},
        {"class_names": ("no", "yes")},
    ],
    ids=["input", "label", "domain", "domain name", "object", "no objects", "class name"],
)
def test_any_change_changes_the_fingerprint(changes: dict[str, Any]) -> None:
    assert _three(**changes).fingerprint != _three().fingerprint


def test_the_memory_layout_does_not_change_the_fingerprint() -> None:
    data = _three(inputs=torch.tensor([[0.5, 2.0, 4.0], [1.0, 3.0, 5.0]]).T)
    assert data.fingerprint == _three().fingerprint


def test_inputs_that_are_no_tensor_count_in_the_fingerprint() -> None:
    rows = torch.arange(10_000.0).view(5000, 2)
    plain = from_arrays(rows, [0, 1] * 2500, [0, 0, 1, 1] * 1250)
    gathered = replace(plain, inputs=Gathered(rows))
    changed = replace(plain, inputs=Gathered(rows.index_fill(0, torch.tensor([4999]), 0.0)))
    assert gathered.fingerprint == plain.fingerprint
    assert changed.fingerprint != plain.fingerprint
    assert gathered.input_shape == (2,)


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [0.0, 1.0, 0.0]}, r"labels must be integers, got float64 such as \[0.0\]"),
        ({"labels": ["cat", "dog", "cat"]}, r"labels must be integers, got <U3 such as \['cat'\]"),
        ({"labels": [True, False, True]}, "labels must be integers, got bool"),
        ({"labels": torch.zeros(3)}, "labels must be integers, got float32"),
        ({"labels": [0, -1, 0]}, r"labels\[1\] is -1, expected 0 to 0 \(0\)"),
        ({"labels": [-2, -2, -1]}, r"labels\[0\] is -2, expected 0 to 0"),
        (
            {"labels": [0, 1, 2], "class_names": ("cat", "dog")},
            r"labels\[2\] is 2, expected 0 to 1 \(cat, dog\)",
        ),
        ({"labels": [0, 1, MOST_CLASSES]}, "labels go up to 100000; encode the classes as 0, 1, 2, … without gaps"),
        ({"labels": [0, 1]}, r"labels has shape \(2,\), expected \(3,\)"),
        ({"labels": [[0], [1], [0]]}, r"labels has shape \(3, 1\), expected \(3,\)"),
        ({"domains": ["a", "b"]}, r"domains has shape \(2,\), expected \(3,\)"),
        ({"domains": ["a", None, "b"]}, r"domains\[1\] is missing"),
        (
            {"domains": ["a", "b", "a"], "domain_names": ("a", "b")},
            r"domains must be integers, indices into the names given, got <U1 such as \['a'\]",
        ),
        ({"domains": [0.9, 0.0, 0.0], "domain_names": ("a", "b")}, "domains must be integers"),
        ({"domains": [0, 2, 0], "domain_names": ("a", "b")}, r"domains\[1\] is 2, expected 0 to 1 \(a, b\)"),
        ({"domains": [0, 1, 0], "domain_names": ("a", "a")}, "a domain is named twice: a, a"),
        ({"class_names": ("cat", "cat")}, "a class is named twice: cat, cat"),
        ({"objects": [1.0, 2.0, float("nan")]}, r"objects\[2\] is missing"),
        ({"objects": np.array(["p1", None, "p2"], dtype=object)}, r"objects\[1\] is missing"),
        ({"objects": [1, 2, 3, 4]}, r"objects has shape \(4,\), expected \(3,\)"),
        ({"inputs": [["a"], ["b"], ["c"]]}, "inputs must be numbers, got <U1"),
        ({"inputs": [["a"], [None], ["c"]]}, "inputs must be numbers, got object"),
        ({"inputs": np.float32(3)}, r"labels has shape \(3,\), expected \(1,\)"),
        ({"inputs": np.zeros((0, 2)), "labels": [], "domains": [], "objects": None}, "labels must be integers"),
    ],
)
def test_bad_columns_say_what_was_got_and_expected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _three(**changes)


def test_an_empty_data_set_is_refused() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    with pytest.raises(InputError, match="the data set is empty; at least one input is needed"):
        from_arrays(np.zeros((0, 2)), nothing, nothing)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_names_its_row(value: float) -> None:
    with pytest.raises(InputError, match=r"NaN or infinite values in 1 row\(s\): 1; remove or impute"):
        _three(inputs=[[0.5, 1.0], [2.0, value], [4.0, 5.0]])


def test_of_many_bad_rows_the_first_five_are_named() -> None:
    inputs = np.full(7, np.nan)
    with pytest.raises(InputError, match=r"in 7 row\(s\): 0, 1, 2, 3, 4, …; remove"):
        from_arrays(inputs, [0] * 7, ["a"] * 7)


def test_columns_given_directly_must_be_integer_tensors() -> None:
    with pytest.raises(InputError, match=r"domains must be integers, got torch\.float32"):
        replace(_three(), domains=torch.zeros(3))


def test_whole_numbers_and_strings_may_be_mixed_in_a_table_column() -> None:
    data = _three(objects=np.array(["p8", 9, "p8"], dtype=object), domains=np.array([2, 1, 2], dtype=object))
    assert data.objects is not None
    assert data.objects.tolist() == [1, 0, 1]
    assert data.domain_names == ("1", "2")
