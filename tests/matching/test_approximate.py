"""Approximate search: exact when every cluster is looked into, and its recall measured."""

import sys

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.matching.approximate import nearest_approximate, recall
from matchdg.matching.assign import assign
from matchdg.matching.search import nearest


def points(count, features=8, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def needs_faiss():
    return pytest.importorskip("faiss", reason="FAISS is an extra: pip install 'matchdg[faiss]'")


def test_all_probes_give_the_exact_neighbours():
    needs_faiss()
    queries, candidates = points(50), points(400, seed=1)
    found, distances = nearest_approximate(queries, candidates, 5, probes=20)
    exact, lengths = nearest(queries, candidates, 5)
    assert torch.equal(found, exact)
    torch.testing.assert_close(distances, lengths, rtol=1e-4, atol=1e-4)
    assert recall(queries, candidates, 5, probes=20) == 1


def test_recall_grows_with_the_probes_and_is_a_share_of_the_exact_neighbours():
    needs_faiss()
    queries, candidates = points(200), points(2000, seed=1)
    few, more = (recall(queries, candidates, 10, probes=probes) for probes in (1, 10))
    assert 0.05 < few < more < 1
    exact, found = nearest(queries, candidates, 10)[0], nearest_approximate(queries, candidates, 10, 1)[0]
    shared = [len(set(left) & set(right)) for left, right in zip(exact.tolist(), found.tolist(), strict=True)]
    assert few == pytest.approx(sum(shared) / 2000)


def test_too_few_in_the_clusters_seen():
    needs_faiss()
    found, distances = nearest_approximate(points(3), points(9, seed=1), 9, probes=1)
    assert bool((found == -1).any())
    assert torch.equal(found == -1, distances.isinf())


def test_one_candidate_k_above_it_and_none():
    needs_faiss()
    assert nearest_approximate(points(3), points(1, seed=1), 4)[0].tolist() == [[0]] * 3
    assert nearest_approximate(points(3), points(0), 4)[0].shape == (3, 0)


def test_bad_input():
    needs_faiss()
    with pytest.raises(InputError, match="must be at least 1, got 0 and 8"):
        nearest_approximate(points(3), points(3), 0)
    with pytest.raises(InputError, match="recall needs at least one query, got a sample of 1000 of 0"):
        recall(points(0), points(3))
    queries = points(3)
    queries[1] = float("nan")
    with pytest.raises(InputError, match=r"queries have NaN, .* in 1 row\(s\): 1"):
        nearest_approximate(queries, points(3))


def test_without_faiss_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match=r"approximate search needs FAISS; install it: pip install 'matchdg\[faiss\]'"):
        nearest_approximate(points(3), points(3))


def test_as_an_assignment_it_is_exact_where_every_cluster_is_seen_and_near_it_elsewhere():
    needs_faiss()
    queries, candidates = points(40), points(60, seed=1)
    assert torch.equal(assign(queries, candidates, "nearest-approximate"), assign(queries, candidates, "nearest"))
    queries, candidates = points(500), points(2000, seed=1)
    found = assign(queries, candidates, "nearest-approximate")
    assert int(found.min()) >= 0
    share = (found == assign(queries, candidates, "nearest")).double().mean()
    assert 0.3 < share < 1
