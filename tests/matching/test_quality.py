"""Measures of match quality against values by hand and slow loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.matching import PerfectSettings, anchor_positions
from matchdg.matching.quality import augmentation_overlap, mutual_share, quality, stability, table_overlap

quick = settings(max_examples=40, deadline=None)


def points(count, features=4, seed=0):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed))


def dataset(labels, domains, objects=None, columns=None):
    return DomainDataset.from_arrays(
        torch.zeros(len(labels), 1), labels, domains, objects, None, tuple("abcd"[: columns or max(domains) + 1])
    )


def grid(objects, domains, classes=1):
    """Each object once in each domain, domain by domain."""
    labels = [own % classes for own in range(objects)] * domains
    return dataset(labels, [d for d in range(domains) for _ in range(objects)], list(range(objects)) * domains)


def slow_places(features, data):
    """For each anchor and other domain with a true match, the best place of one among all sorted candidates."""
    places = []
    for anchor in anchor_positions(data).tolist():
        for domain in range(len(data.domain_names)):
            inside = (data.labels == data.labels[anchor]) & (data.domains == domain)
            candidates = inside.nonzero().flatten()
            if domain == data.domains[anchor] or not bool((data.objects[candidates] == data.objects[anchor]).any()):
                continue
            order = (features[candidates] - features[anchor]).double().norm(dim=1).argsort(stable=True)
            places.append(1 + (data.objects[candidates][order] == data.objects[anchor]).int().argmax().item())
    return torch.tensor(places).double()


@st.composite
def irregular(draw):
    """Objects may be missing from a domain, be there several times, and carry several labels."""
    count = draw(st.integers(2, 40))

    def column(top):
        return draw(st.lists(st.integers(0, top), min_size=count, max_size=count))

    return dataset(column(1), column(2), column(6), 3), points(count)


@quick
@given(irregular())
def test_quality_is_that_of_a_slow_loop(case):
    data, features = case
    places = slow_places(features, data)
    if len(places) == 0:
        with pytest.raises(InputError, match="no anchor has a true match in another domain"):
            quality(features, data)
        return
    found = quality(features, data)
    assert found["overlap"] == pytest.approx(100 * (places == 1).double().mean().item())
    assert found["top10_overlap"] == pytest.approx(100 * (places <= 10).double().mean().item())
    assert found["mean_rank"] == pytest.approx(places.mean().item())


def test_quality_by_hand():
    # Anchors at 0 and 10; in b their views lie at 1 and 2, in c at 11 and 12.
    data = grid(2, 3)
    features = torch.tensor([[0.0], [10.0], [1.0], [2.0], [11.0], [12.0]])
    assert quality(features, data) == {"overlap": 75.0, "top10_overlap": 100.0, "mean_rank": 1.25}


def test_perfect_features_score_perfectly_and_random_ones_as_chance_has_it():
    data = grid(400, 2)
    latent = points(400, 16)
    assert quality(latent.repeat(2, 1), data) == {"overlap": 100.0, "top10_overlap": 100.0, "mean_rank": 1.0}
    chance = quality(points(800, 16), data)
    assert chance["overlap"] < 3
    assert chance["mean_rank"] == pytest.approx(200, rel=0.15)


def test_a_network_that_maps_all_to_one_point_scores_as_chance_has_it():
    assert quality(torch.ones(200, 5), grid(100, 2)) == {"overlap": 1.0, "top10_overlap": 10.0, "mean_rank": 50.5}


def test_quality_needs_objects():
    with pytest.raises(InputError, match=r"needs known objects, .* give an object column"):
        quality(points(4), dataset([0] * 4, [0, 0, 1, 1]))


def test_objects_of_one_domain_only_leave_nothing_to_measure():
    with pytest.raises(InputError, match="no anchor has a true match in another domain"):
        quality(points(4), dataset([0] * 4, [0, 0, 1, 1], [0, 1, 2, 3]))


def test_table_overlap_by_hand():
    data = grid(2, 3)
    rows = torch.tensor([[0, 2, 5], [1, -1, 5]])
    assert table_overlap(rows, data) == pytest.approx(100 * 2 / 3)


def test_the_perfect_table_overlaps_fully():
    data = grid(30, 4, classes=3)
    rows = PerfectSettings().build(data).draw(torch.Generator().manual_seed(0)).rows
    assert table_overlap(rows, data) == 100


def test_overlap_of_a_table_without_pairs_is_no_number():
    data = dataset([0, 0], [0, 0], [0, 1], columns=2)
    assert math.isnan(table_overlap(torch.tensor([[0, -1], [1, -1]]), data))


def test_mutual_share_by_hand():
    # In b, 0.4 is nearest to both anchors, and its nearest is the first; in c both are mutual.
    data = grid(2, 3)
    features = torch.tensor([[0.0], [1.0], [0.4], [9.0], [0.1], [1.1]])
    assert mutual_share(features, data) == 75


def test_mutual_share_of_one_domain_is_no_number():
    assert math.isnan(mutual_share(points(2), dataset([0, 0], [0, 0])))


def test_stability_counts_neither_anchors_nor_absent_cells():
    data = grid(2, 3)
    one, other = torch.tensor([[0, 2, 4], [1, 3, -1]]), torch.tensor([[0, 2, 5], [1, 3, -1]])
    assert stability(one, one, data) == 100
    assert stability(one, other, data) == pytest.approx(100 * 2 / 3)


def test_tables_of_other_data():
    data = grid(2, 3)
    with pytest.raises(InputError, match=r"match tables have shapes \(2, 3\) and \(4, 3\)"):
        stability(torch.zeros(2, 3), torch.zeros(4, 3), data)
    with pytest.raises(InputError, match=r"match table has shape \(4, 3\), expected \(2, 3\)"):
        table_overlap(torch.zeros(4, 3, dtype=torch.int64), data)


def test_augmentation_overlap_by_hand():
    # Only inputs of the same class and domain compete: the last is alone, though the first is nearer to it.
    originals = torch.tensor([[0.0], [1.0], [0.0]])
    augmented = torch.tensor([[0.9], [0.1], [5.0]])
    labels, domains = torch.tensor([0, 0, 1]), torch.tensor([0, 0, 0])
    found = augmentation_overlap(originals, augmented, labels, domains)
    assert found == {"overlap": pytest.approx(100 / 3), "top10_overlap": 100.0, "mean_rank": pytest.approx(5 / 3)}


def test_augmentations_of_other_inputs():
    with pytest.raises(InputError, match="got 3 originals and 2 augmentations, expected one of each"):
        augmentation_overlap(points(3), points(2), torch.zeros(3).long(), torch.zeros(3).long())


@pytest.mark.parametrize("measure", [quality, mutual_share])
def test_bad_features(measure):
    data, features = grid(2, 2), points(4)
    with pytest.raises(InputError, match="got features of 3 inputs, expected those of all 4 in the data"):
        measure(features[:3], data)
    features[2] = float("nan")
    with pytest.raises(InputError, match=r"features have NaN, .* in 1 row\(s\): 2"):
        measure(features, data)
