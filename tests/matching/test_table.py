"""`MatchTable`: what counts as valid, and where anchors come from."""

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.matching import ABSENT, MatchTable, anchor_positions, base_domains


def dataset(labels, domains, classes=2, names=("a", "b", "c")):
    class_names = tuple(str(label) for label in range(classes))
    return DomainDataset.from_arrays(
        torch.zeros(len(labels), 1), labels, domains, class_names=class_names, domain_names=names
    )


@pytest.fixture
def data():
    # Positions 0, 1 lie in a; 2, 3 in b; 4, 5 in c.
    return dataset([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2])


def table(rows, anchors=None):
    rows = torch.as_tensor(rows)
    return MatchTable(rows, torch.zeros(len(rows), dtype=torch.int64) if anchors is None else anchors)


def test_a_valid_table_passes(data):
    whole = table([[0, 2, 4], [1, 3, 5]])
    whole.check(data)
    assert len(whole) == 2
    assert whole.complete


def test_absent_cells_are_valid_and_make_it_incomplete(data):
    partial = table([[0, ABSENT, 4], [1, 3, ABSENT]])
    partial.check(data)
    assert not partial.complete


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (6,), (1, 2, 3)])
def test_wrong_shape(data, shape):
    with pytest.raises(InputError, match=r"match table has shape .*, expected \(anchors, 3\)"):
        table(torch.zeros(shape, dtype=torch.int64)).check(data)


def test_empty(data):
    with pytest.raises(InputError, match="match table is empty; at least one anchor is needed"):
        table(torch.zeros((0, 3), dtype=torch.int64)).check(data)


@pytest.mark.parametrize(
    ("rows", "said"), [([[0, 2, 6]], "from 0 to 6, expected -1 to 5"), ([[0, -2, 4]], "from -2 to 4")]
)
def test_out_of_range(data, rows, said):
    with pytest.raises(InputError, match=said):
        table(rows).check(data)


def test_wrong_domain_names_the_first_wrong_cell(data):
    with pytest.raises(InputError, match="row 1 has position 4 in the column of domain 'b', but it lies in 'c'"):
        table([[0, 2, 4], [1, 4, 3]]).check(data)


def test_base_domain_is_where_the_class_is_most_frequent():
    data = dataset([0, 0, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1])
    assert base_domains(data).tolist() == [0, 1]


def test_base_domain_of_equals_is_the_first():
    data = dataset([0, 1, 0, 1, 1], [2, 2, 1, 1, 0])
    assert base_domains(data).tolist() == [1, 0]


def test_anchors_are_the_inputs_in_the_base_domain_of_their_class():
    data = dataset([0, 0, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1])
    assert anchor_positions(data).tolist() == [0, 1, 4, 5]


def test_a_class_without_inputs_has_no_anchor():
    data = dataset([0, 2], [0, 1], classes=3)
    assert anchor_positions(data).tolist() == [0, 1]
