"""`GroupedCandidates`: the vectorised deal against a slow loop, and what every deal promises."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.data import DATASETS, DomainDataset
from matchdg.matching import ABSENT, GroupedCandidates

quick = settings(max_examples=60, deadline=None)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def dataset(labels, domains, objects, classes=None, columns=None):
    return DomainDataset.from_arrays(
        torch.zeros(len(labels), 1),
        labels,
        domains,
        objects,
        tuple(str(label) for label in range(classes or max(labels) + 1)),
        tuple("abcdef"[: columns or max(domains) + 1]),
    )


@st.composite
def datasets(draw):
    """Small and irregular: classes, domains and objects may be missing anywhere, labels of an object may differ."""
    count = draw(st.integers(1, 30))
    classes, columns = draw(st.integers(1, 3)), draw(st.integers(1, 4))

    def column(top):
        return draw(st.lists(st.integers(0, top), min_size=count, max_size=count))

    return dataset(column(classes - 1), column(columns - 1), column(8), classes, columns)


@st.composite
def deals(draw):
    """A data set, its groups (classes or objects) and a seed."""
    data = draw(datasets())
    groups = data.labels if draw(st.booleans()) else data.objects
    return data, groups, draw(st.integers(0, 1000))


def slow_anchors(data):
    """Per class the first domain with most inputs of it; all its inputs of the class are anchors."""
    sizes = Counter(zip(data.labels.tolist(), data.domains.tolist(), strict=True))
    columns = range(len(data.domain_names))
    anchors = []
    for position in range(len(data)):
        label, domain = int(data.labels[position]), int(data.domains[position])
        if domain == max(columns, key=lambda column: (sizes[label, column], -column)):
            anchors.append(position)
    return anchors


def slow_draw(data, groups, random):
    """The deal as one would do it by hand: shuffle the inputs, let the anchors come in random order, take turns."""
    hands = defaultdict(list)
    for position in torch.randperm(len(data), generator=random).tolist():
        hands[int(groups[position]), int(data.domains[position])].append(position)
    anchors = slow_anchors(data)
    columns = len(data.domain_names)
    rows = [[ABSENT] * columns for _ in anchors]
    dealt = Counter()
    for row in torch.randperm(len(anchors), generator=random).tolist():
        anchor = anchors[row]
        for column in range(columns):
            cell = int(groups[anchor]), column
            if column == data.domains[anchor]:
                rows[row][column] = anchor
            elif hands[cell]:
                rows[row][column] = hands[cell][dealt[cell] % len(hands[cell])]
                dealt[cell] += 1
    return rows


@quick
@given(deals())
def test_the_same_as_a_slow_loop(deal):
    data, groups, seed = deal
    table = GroupedCandidates(data, groups).draw(generator(seed))
    assert table.rows.tolist() == slow_draw(data, groups, generator(seed))
    assert table.anchors.tolist() == data.domains[slow_anchors(data)].tolist()


@quick
@given(deals())
def test_matches_are_of_the_right_group_and_domain_and_absent_only_where_none_exists(deal):
    data, groups, seed = deal
    table = GroupedCandidates(data, groups).draw(generator(seed))
    table.check(data)
    existing = set(zip(groups.tolist(), data.domains.tolist(), strict=True))
    for row, anchor in zip(table.rows.tolist(), slow_anchors(data), strict=True):
        assert row[data.domains[anchor]] == anchor
        for column, position in enumerate(row):
            if (int(groups[anchor]), column) in existing:
                assert groups[position] == groups[anchor]
                assert data.domains[position] == column
            else:
                assert position == ABSENT


@quick
@given(deals())
def test_each_candidate_is_used_equally_often_give_or_take_one(deal):
    data, groups, seed = deal
    table = GroupedCandidates(data, groups).draw(generator(seed))
    used = Counter()
    for row, own in zip(table.rows.tolist(), table.anchors.tolist(), strict=True):
        used.update(position for column, position in enumerate(row) if column not in (own, ABSENT))
    asked = {(int(groups[row.max()]), int(own)) for row, own in zip(table.rows, table.anchors, strict=True)}
    for group, column in product({group for group, _ in asked}, range(len(data.domain_names))):
        inside = (groups == group) & (data.domains == column)
        times = [used[position] for position in inside.nonzero().flatten().tolist()]
        assert not times or max(times) - min(times) <= 1


def test_views_of_one_object_with_different_labels_are_dealt_evenly_too():
    # Class 0 starts from domain a, class 1 from b, and all are one object: anchors of both look into both.
    data = dataset([0] * 4 + [1] * 2 + [0] * 2 + [1] * 4, [0] * 6 + [1] * 6, [0] * 12)
    for seed in range(5):
        table = GroupedCandidates(data, data.objects).draw(generator(seed))
        for column in (0, 1):
            matches = table.rows[table.anchors != column, column].tolist()
            assert len(set(matches)) == len(matches) == 4


def test_equal_sizes_give_a_one_to_one_matching():
    labels = [0, 0, 0, 1, 1] * 3
    data = dataset(labels, [0] * 5 + [1] * 5 + [2] * 5, labels)
    table = GroupedCandidates(data, data.labels).draw(generator())
    assert table.complete
    for column in range(3):
        assert sorted(table.rows[:, column].tolist()) == list(range(5 * column, 5 * column + 5))


def test_by_hand_two_anchors_share_the_only_candidate():
    data = dataset([0, 0, 0], [0, 0, 1], [0, 0, 0])
    table = GroupedCandidates(data, data.labels).draw(generator())
    assert table.rows.tolist() == [[0, 2], [1, 2]]
    assert table.anchors.tolist() == [0, 0]


def test_a_class_that_one_source_domain_lacks():
    data = dataset([0, 1, 0, 1, 0], [0, 0, 1, 1, 2], [0, 1, 0, 1, 0])
    table = GroupedCandidates(data, data.labels).draw(generator())
    assert table.rows.tolist() == [[0, 2, 4], [1, 3, ABSENT]]


def test_a_class_that_all_but_one_source_domain_lack():
    data = dataset([0, 0, 0, 1, 1], [0, 1, 2, 1, 1], [0] * 5)
    table = GroupedCandidates(data, data.labels).draw(generator())
    table.check(data)
    assert table.rows[1:].tolist() == [[ABSENT, 3, ABSENT], [ABSENT, 4, ABSENT]]
    assert table.anchors.tolist() == [0, 1, 1]


def test_groups_may_be_any_integers():
    data = dataset([0] * 4, [0, 0, 1, 1], [0] * 4)
    odd = GroupedCandidates(data, torch.tensor([-7, 10**12, 10**12, -7])).draw(generator())
    assert odd.rows.tolist() == [[0, 3], [1, 2]]


@pytest.mark.parametrize("column", ["labels", "objects"])
def test_the_slab_data(column):
    train = DATASETS["slab"](train_per_domain=200).build(3).train
    groups = getattr(train, column)
    table = GroupedCandidates(train, groups).draw(generator(1))
    assert table.rows.tolist() == slow_draw(train, groups, generator(1))


def test_every_draw_is_another_one_and_leaves_the_candidates_as_they_are():
    train = DATASETS["slab"](train_per_domain=100).build(0).train
    candidates, random = GroupedCandidates(train, train.labels), generator()
    first, second = candidates.draw(random), candidates.draw(random)
    assert not torch.equal(first.rows, second.rows)
    assert torch.equal(candidates.draw(generator()).rows, first.rows)
