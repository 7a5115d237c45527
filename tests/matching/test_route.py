"""Match tables out of pairwise assignments: order, absences, trees, and what they are good for."""

import networkx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.matching import ABSENT, MatchTable, anchor_positions, base_domains
from matchdg.matching.assign import assign
from matchdg.matching.route import along, distances, match_rows, route, spanning_tree

INF = float("inf")
quick = settings(max_examples=30, deadline=None)


def points(count, features=8, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def dataset(labels, domains, objects=None, classes=None, columns=None):
    return DomainDataset.from_arrays(
        torch.zeros(len(labels), 1),
        labels,
        domains,
        objects,
        tuple(str(label) for label in range(classes or max(labels) + 1)),
        tuple("abcdefgh"[: columns or max(domains) + 1]),
    )


def rows_of(features, data, **options):
    return match_rows(features, data.labels, data.domains, len(data.domain_names), base_domains(data), **options)


def chain(count, columns, step=1.2, seed=0):
    """Per domain the same points, moving on by a random step of each: only neighbours are alike."""
    moved = points(count, 8, seed)
    found = [moved]
    for domain in range(1, columns):
        moved = moved + step * points(count, 8, seed + domain) / 8**0.5
        found.append(moved)
    return found


@st.composite
def irregular(draw):
    """A data set in which any class may be absent from any domain, and features."""
    count = draw(st.integers(1, 30))
    classes, columns = draw(st.integers(1, 3)), draw(st.integers(1, 4))

    def column(top):
        return draw(st.lists(st.integers(0, top), min_size=count, max_size=count))

    return dataset(column(classes - 1), column(columns - 1), None, classes, columns), points(count, 4)


@quick
@given(irregular())
def test_the_papers_matches_are_those_of_a_slow_loop(case):
    data, features = case
    rows = rows_of(features, data)
    bases = base_domains(data)
    for row, anchor in zip(rows.tolist(), anchor_positions(data).tolist(), strict=True):
        for domain, match in enumerate(row):
            there = [
                position
                for position in range(len(data))
                if data.labels[position] == data.labels[anchor] and data.domains[position] == domain
            ]
            if domain == bases[data.labels[anchor]]:
                assert match == anchor
            elif there:
                lengths = (features[there] - features[anchor]).norm(dim=1)
                assert float((features[match] - features[anchor]).norm()) <= float(lengths.min()) + 1e-5
                assert match in there
            else:
                assert match == ABSENT


@quick
@given(irregular(), st.sampled_from(["nearest", "one-to-one"]), st.sampled_from(["direct", "tree"]), st.integers(0, 2))
def test_every_table_is_valid_and_absent_only_where_a_class_is(case, assignment, how, rounds):
    data, features = case
    rows = rows_of(features, data, assignment=assignment, how=how, rounds=rounds)
    anchors = anchor_positions(data)
    MatchTable(rows, data.domains[anchors]).check(data)
    assert torch.equal(rows[torch.arange(len(rows)), data.domains[anchors]], anchors)
    present = (data.counts > 0).T[data.labels[anchors]]
    assert torch.equal(rows != ABSENT, present)
    assert bool((data.labels[rows] == data.labels[anchors][:, None])[present].all())


def test_direct_assigns_each_domain_to_the_base():
    features = [points(5), points(6, seed=1), points(4, seed=2)]
    rows = route(features, 1, "direct", "one-to-one")
    assert rows[:, 1].tolist() == list(range(6))
    for domain in (0, 2):
        assert torch.equal(rows[:, domain], assign(features[1], features[domain], "one-to-one"))


def test_along_composes_from_the_root():
    features = [torch.tensor([[0.0], [10.0]]), torch.tensor([[14.0], [4.0]]), torch.tensor([[8.0], [18.0]])]
    assert along(features, 0, [-1, 0, 1], "nearest").tolist() == [[0, 1, 0], [1, 0, 1]]
    assert along(features, 0, [-1, 0, 0], "nearest").tolist() == [[0, 1, 0], [1, 0, 0]]


def test_a_smaller_domain_on_the_way_does_not_narrow_what_follows():
    features = [points(30), points(10, seed=1), points(30, seed=2)]
    rows = along(features, 0, [-1, 0, 1], "one-to-one")
    assert rows[:, 1].bincount().tolist() == [3] * 10
    assert len(rows[:, 2].unique()) == 30


@pytest.mark.parametrize("how", ["direct", "tree"])
def test_a_class_that_a_domain_lacks_and_one_of_a_single_point(how):
    rows = route([points(3), points(0), points(1, seed=1), points(3, seed=2)], 0, how, "one-to-one")
    assert rows[:, 1].tolist() == [ABSENT] * 3
    assert rows[:, 2].tolist() == [0] * 3
    assert sorted(rows[:, 3].tolist()) == [0, 1, 2]


def test_distances_by_hand():
    features = [torch.tensor([[0.0], [1.0]]), torch.tensor([[5.0], [3.0]]), torch.zeros(0, 1)]
    expected = [[INF, 3.5, INF], [3.5, INF, INF], [INF, INF, INF]]
    assert distances(features, "one-to-one").tolist() == expected
    assert distances(features, "nearest")[0, 1] == 2.5


@quick
@given(st.integers(1, 7), st.integers(0, 1000))
def test_the_tree_is_a_minimum_spanning_tree(size, seed):
    weights = points(size, size, seed).abs()
    weights = weights + weights.T
    root = seed % size
    parents = spanning_tree(weights, root)
    graph = networkx.from_numpy_array(weights.numpy())
    least = sum(edge["weight"] for _, _, edge in networkx.minimum_spanning_edges(graph))
    assert parents[root] == -1
    assert sum(float(weights[parent, own]) for own, parent in enumerate(parents) if own != root) == pytest.approx(least)
    tree = networkx.empty_graph(size)
    tree.add_edges_from((own, parent) for own, parent in enumerate(parents) if own != root)
    assert networkx.is_tree(tree)


def test_a_domain_that_no_path_leads_to_has_no_parent():
    weights = torch.tensor([[INF, 1.0, INF], [1.0, INF, INF], [INF, INF, INF]])
    assert spanning_tree(weights, 1) == [1, -1, -1]


def test_a_tree_follows_a_chain_of_domains():
    assert spanning_tree(distances(chain(60, 5), "one-to-one"), 2) == [1, 2, -1, 2, 3]


def test_along_a_chain_the_tree_finds_more_true_matches_than_the_direct_way():
    features = chain(150, 6)
    truth = torch.arange(150)[:, None]
    direct, tree = (
        float((route(features, 0, how, "one-to-one") == truth)[:, 1:].float().mean()) for how in ("direct", "tree")
    )
    assert tree > direct + 0.1


def test_classes_share_the_tree():
    # Class 1 alone would see both other domains at the same distance; class 0 says that c is nearer to b.
    near, far = torch.tensor([[0.0, 0.0], [0.0, 9.0]]), torch.tensor([[100.0, 0.0], [100.0, 9.0]])
    features = torch.cat([near, near + torch.tensor([3.0, 0]), near + torch.tensor([4.0, 0]), far, far, far])
    data = dataset([0] * 6 + [1] * 6, [0, 0, 1, 1, 2, 2] * 2)
    rows = rows_of(features, data, assignment="one-to-one", how="tree")
    assert rows.tolist() == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]


def test_refining_helps_in_a_table():
    views = [points(80, 32, seed) + points(80, 32, 99) for seed in range(6)]
    data = dataset([0] * 480, [domain for domain in range(6) for _ in range(80)])
    features = torch.cat(views)
    truth = torch.arange(80)[:, None] + 80 * torch.arange(6)

    def overlap(rounds):
        rows = rows_of(features, data, assignment="one-to-one", rounds=rounds)
        return float((rows == truth)[:, 1:].float().mean())

    assert overlap(10) > overlap(0) + 0.1


def test_identical_features_give_a_valid_table():
    data = dataset([0] * 12, [0] * 4 + [1] * 4 + [2] * 4)
    rows = rows_of(torch.ones(12, 3), data, assignment="one-to-one", how="tree", rounds=2)
    assert [sorted(column) for column in rows.T.tolist()] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert rows_of(torch.ones(12, 3), data).tolist() == [[anchor, 4, 8] for anchor in range(4)]


def test_not_finite_names_the_row_of_the_data():
    data = dataset([0, 0], [0, 1])
    with pytest.raises(InputError, match=r"features have NaN, .* in 1 row\(s\): 1"):
        rows_of(torch.tensor([[0.0], [float("nan")]]), data)
