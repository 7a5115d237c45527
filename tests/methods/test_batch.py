"""`Batch`: flat inputs and the way back to the grid, against loops over cells."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.data import DomainDataset
from matchdg.methods import Batch

ROWS, COLUMNS, CLASSES = 5, 3, 2


@pytest.fixture
def dataset():
    count = ROWS * COLUMNS
    labels = torch.randint(CLASSES, (count,), generator=torch.Generator().manual_seed(0))
    return DomainDataset.from_arrays(
        torch.randn(count, 4), labels, torch.arange(count) % COLUMNS, class_names=("0", "1")
    )


@pytest.fixture(params=["complete", "incomplete"])
def rows(request):
    rows = torch.randperm(ROWS * COLUMNS, generator=torch.Generator().manual_seed(1)).view(ROWS, COLUMNS)
    rows = rows.sort(1).values
    if request.param == "incomplete":
        rows[0, 1] = rows[2, 0] = rows[2, 2] = rows[4, 1] = -1
    return rows


@pytest.fixture
def batch(dataset, rows):
    return Batch.gather(dataset, rows, complete=bool((rows >= 0).all()))


def cells(rows):
    """Present cells in the order of flat inputs, domain by domain: (row, column, position)."""
    return [
        (row, column, position)
        for column, positions in enumerate(rows.T.tolist())
        for row, position in enumerate(positions)
        if position >= 0
    ]


def test_gather(dataset, rows, batch):
    positions = [position for *_, position in cells(rows)]
    assert torch.equal(batch.inputs, dataset.inputs[positions])
    assert torch.equal(batch.labels, dataset.labels[positions])
    assert (batch.rows, batch.columns, batch.classes) == (ROWS, COLUMNS, CLASSES)


def test_by_hand():
    dataset = DomainDataset.from_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 0], ["a", "b", "c", "a"])
    batch = Batch.gather(dataset, torch.tensor([[0, 1, -1], [3, -1, 2]]), complete=False)
    assert batch.inputs.flatten().tolist() == [0.0, 3.0, 1.0, 2.0]
    assert batch.labels.tolist() == [0, 0, 1, 0]
    assert batch.domains.tolist() == [0, 0, 1, 2]
    assert batch.cells.tolist() == [0, 1, 2, 5]
    assert batch.mask.tolist() == [[True, True, False], [True, False, True]]
    assert batch.grid(batch.inputs)[..., 0].tolist() == [[0.0, 1.0, 0.0], [3.0, 0.0, 2.0]]


def test_cells_are_the_places_in_the_flattened_grid(rows, batch):
    if bool((rows >= 0).all()):
        assert batch.cells is None
    else:
        assert batch.cells.tolist() == [column * ROWS + row for row, column, _ in cells(rows)]


def test_domains(rows, batch):
    assert batch.domains.tolist() == [column for _, column, _ in cells(rows)]


def test_mask(rows, batch):
    if bool((rows >= 0).all()):
        assert batch.mask is None
    else:
        assert torch.equal(batch.mask, rows >= 0)


def test_grid(rows, batch):
    values = torch.randn(len(batch.labels), 4)
    expected = torch.zeros(ROWS, COLUMNS, 4)
    for value, (row, column, _) in zip(values, cells(rows), strict=True):
        expected[row, column] = value
    assert torch.equal(batch.grid(values), expected)
    assert torch.equal(batch.grid(values.T.contiguous().T), expected)


def test_domain_means(rows, batch):
    values = torch.randn(len(batch.labels))
    for column, mean in enumerate(batch.domain_means(values)):
        own = [value for value, (_, k, _) in zip(values.tolist(), cells(rows), strict=True) if k == column]
        assert mean.item() == pytest.approx(sum(own) / len(own))


def test_a_domain_without_inputs_has_no_mean(make_batch):
    batch = make_batch([[0, None, 0], [1, None, None]])
    means = batch.domain_means(torch.tensor([1.0, 6.0, 2.0]))
    assert means[[0, 2]].tolist() == [3.5, 2.0]
    assert means[1].isnan()


def test_gradients_go_back_to_the_inputs_that_are_present(batch):
    values = torch.randn(len(batch.labels), 1, requires_grad=True)
    batch.grid(values).sum().backward()
    assert values.grad.tolist() == [[1.0]] * len(batch.labels)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 1000))
def test_complete_rows_give_the_same_either_way(rows, columns, seed):
    random = torch.Generator().manual_seed(seed)
    count = rows * columns
    dataset = DomainDataset.from_arrays(
        torch.randn(count, 2, generator=random), torch.zeros(count).long(), torch.arange(count) % columns
    )
    table = torch.arange(count).view(rows, columns)
    quick, careful = (Batch.gather(dataset, table, complete) for complete in (True, False))
    assert torch.equal(quick.domains, careful.domains)
    assert torch.equal(quick.grid(quick.inputs), careful.grid(careful.inputs))
    assert careful.mask.all()
    torch.testing.assert_close(quick.domain_means(quick.inputs[:, 0]), careful.domain_means(careful.inputs[:, 0]))


def test_the_extra_part_is_gathered_beside_the_rows(dataset, rows):
    extra = torch.tensor([7, 0, 7])
    batch = Batch.gather(dataset, rows, bool((rows >= 0).all()), extra)
    inputs, labels = batch.extra
    assert torch.equal(inputs, dataset.inputs[extra])
    assert torch.equal(labels, dataset.labels[extra])
    plain = Batch.gather(dataset, rows, bool((rows >= 0).all()))
    assert plain.extra is None
    assert torch.equal(batch.inputs, plain.inputs)
    assert torch.equal(batch.domains, plain.domains)


def test_everything_moves_to_a_device(dataset, rows):
    batch = Batch.gather(dataset, rows, bool((rows >= 0).all()), torch.tensor([1, 2])).to(torch.device("meta"))
    parts = [batch.inputs, batch.labels, *batch.extra] + ([] if batch.cells is None else [batch.cells])
    assert all(part.device.type == "meta" for part in parts)
    assert Batch.gather(dataset, rows, complete=False).to(torch.device("cpu")).extra is None
