"""Nearest matching: against a search by hand of every candidate, when it is renewed, and where it starts."""

from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from matchdg.core.errors import InputError
from matchdg.data import DATASETS, DomainDataset, PixelInputs
from matchdg.matching import ABSENT, NearestSettings, PerfectSettings, RandomSettings, anchor_positions
from matchdg.matching.nearest import input_features

DOMAINS = 3


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def views(objects=8, domains=DOMAINS, classes=2):
    """Every object once in every domain; the position is domain * objects + object."""
    numbers = torch.arange(objects).repeat(domains)
    columns = torch.arange(domains).repeat_interleave(objects)
    return DomainDataset.from_arrays(torch.zeros(len(numbers), 1), numbers % classes, columns, numbers)


def matched(data, features, **values):
    features = torch.as_tensor(features, dtype=torch.float32)
    features = features[:, None] if features.dim() == 1 else features
    table = NearestSettings(**values).build(data).update(features)
    table.check(data)
    return table


def slow(data, features):
    """The nearest input of each anchor's class in each domain, the first of equals."""
    rows = []
    for anchor in anchor_positions(data).tolist():
        row = []
        for domain in range(len(data.domain_names)):
            inside = (data.labels == data.labels[anchor]) & (data.domains == domain)
            candidates = inside.nonzero().flatten().tolist()
            gaps = [float((features[anchor] - features[other]).double().norm()) for other in candidates]
            nearest = candidates[gaps.index(min(gaps))] if candidates else ABSENT
            row.append(anchor if domain == data.domains[anchor] else nearest)
        rows.append(row)
    return rows


def true_share(table, data):
    return float((data.objects[table.rows] == data.objects[table.rows[:, :1]]).double().mean())


@st.composite
def datasets(draw):
    """Up to thirty inputs of up to three classes, whatever cells are empty; features are small whole numbers."""
    count = draw(st.integers(1, 30))
    column = st.lists(st.integers(0, 2), min_size=count, max_size=count)
    data = DomainDataset.from_arrays(
        torch.zeros(count, 1),
        draw(column),
        draw(column),
        class_names=("0", "1", "2"),
        domain_names=("a", "b", "c"),
    )
    return data, torch.tensor(draw(st.lists(column, min_size=2, max_size=2)), dtype=torch.float32).T


@settings(max_examples=60, deadline=None)
@given(datasets())
def test_an_update_is_the_search_of_every_candidate(drawn):
    data, features = drawn
    table = matched(data, features)
    assert table.rows.tolist() == slow(data, features)
    assert table.anchors.tolist() == data.domains[anchor_positions(data)].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_by_cosine_the_length_of_features_does_not_matter(seed):
    data = views()
    features = torch.randn(len(data), 3, generator=generator(seed))
    table = matched(data, features, metric="cosine")
    assert table.rows.tolist() == slow(data, normalize(features, dim=1))
    lengths = 0.01 + 9 * torch.rand(len(data), 1, generator=generator(seed))
    assert torch.equal(matched(data, features * lengths, metric="cosine").rows, table.rows)
    assert not torch.equal(matched(data, features * lengths).rows, table.rows)


def test_centring_takes_out_a_shift_of_each_class_within_each_domain():
    data = views()
    objects = data.objects.float()
    shift = 5.0 * data.domains * (1 - 2 * data.labels)
    assert true_share(matched(data, objects + shift), data) < 0.7
    assert true_share(matched(data, objects + shift, normalise="centre"), data) == 1


def test_whitening_takes_out_a_stretch_of_each_class_within_each_domain():
    data = views(objects=64)
    features = torch.randn(64, 2, generator=generator()).repeat(DOMAINS, 1)
    stretched = features * torch.tensor([[1.0, 1.0], [8.0, 1.0], [1.0, 8.0]])[data.domains]
    centred, whitened = (true_share(matched(data, stretched, normalise=how), data) for how in ("centre", "whiten"))
    assert whitened > centred + 0.2


def test_one_to_one_uses_each_input_once_at_the_least_total_cost():
    data = views(objects=10)
    features = torch.randn(len(data), 2, generator=generator(3))
    table = matched(data, features, assignment="one-to-one")
    for label in range(2):
        rows = table.rows[data.labels[table.rows[:, 0]] == label]
        for domain in range(DOMAINS):
            inside = ((data.labels == label) & (data.domains == domain)).nonzero().flatten()
            assert sorted(rows[:, domain].tolist()) == inside.tolist()
            costs = torch.cdist(features[rows[:, 0]].double(), features[inside].double()).square()
            found = (features[rows[:, 0]] - features[rows[:, domain]]).double().square().sum()
            best = min(float(costs[range(5), order].sum()) for order in permutations(range(5)))
            assert float(found) == pytest.approx(best, rel=1e-5)
    assert not torch.equal(table.rows, matched(data, features).rows)


def test_one_to_one_with_more_anchors_than_candidates_shares_them_out_evenly():
    # Five anchors in a, two candidates in b, and more candidates than anchors in c.
    domains = [0] * 5 + [1] * 2 + [2] * 4
    data = DomainDataset.from_arrays(torch.zeros(11, 1), [0] * 11, domains)
    table = matched(data, [0, 1, 2, 3, 4, 0, 4, 0, 1.1, 3.2, 4.4], assignment="one-to-one")
    counts = torch.bincount(table.rows[:, 1] - 5)
    assert sorted(counts.tolist()) == [2, 3]
    assert table.rows[:2, 1].tolist() == [5, 5]
    assert table.rows[3:, 1].tolist() == [6, 6]
    assert sorted(torch.bincount(table.rows[:, 2] - 7).tolist()) == [1, 1, 1, 2]


def test_a_tree_goes_from_domain_to_near_domain():
    """Each domain is shifted by 0.4: from a to c the first input of c is nearest to both, and by way of b it is not."""
    data = views(objects=2, classes=1)
    features = [0.0, 1.0, 0.4, 1.4, 0.8, 1.8]
    assert matched(data, features).rows.tolist() == [[0, 2, 4], [1, 3, 4]]
    assert matched(data, features, route="tree").rows.tolist() == [[0, 2, 4], [1, 3, 5]]


def test_rounds_match_each_domain_anew_to_the_mean_of_the_others():
    """The anchors alone mix up b's views; c, which they know, tells b's apart by a feature that they lack."""
    data = views(objects=2, classes=1)
    features = [[0.0, 0.0], [1.0, 0.0], [0.6, 0.0], [0.4, 3.0], [0.0, 0.3], [1.0, 3.3]]
    assert matched(data, features, assignment="one-to-one").rows.tolist() == [[0, 3, 4], [1, 2, 5]]
    assert matched(data, features, assignment="one-to-one", rounds=2).rows.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("assignment", ["nearest", "one-to-one"])
@pytest.mark.parametrize("route", ["direct", "tree"])
class TestOddData:
    def test_a_class_that_one_domain_lacks_is_absent_there(self, assignment, route):
        data = DomainDataset.from_arrays(torch.zeros(5, 1), [0, 0, 0, 1, 1], [0, 1, 2, 0, 2])
        table = matched(data, [0, 0, 0, 1, 1], assignment=assignment, route=route)
        assert table.rows.tolist() == [[0, 1, 2], [3, ABSENT, 4]]
        assert not table.complete

    def test_a_class_with_one_point_is_matched_with_nothing(self, assignment, route):
        data = DomainDataset.from_arrays(torch.zeros(4, 1), [0, 0, 0, 1], [0, 1, 2, 1])
        table = matched(data, [0, 0, 0, 7], assignment=assignment, route=route)
        assert table.rows.tolist() == [[0, 1, 2], [ABSENT, 3, ABSENT]]
        assert table.anchors.tolist() == [0, 1]

    def test_identical_features_give_a_valid_table_the_same_every_time(self, assignment, route):
        data = views()
        table = matched(data, torch.ones(len(data), 4), assignment=assignment, route=route)
        assert torch.equal(matched(data, torch.ones(len(data), 4), assignment=assignment, route=route).rows, table.rows)
        assert (data.labels[table.rows] == data.labels[table.rows[:, :1]]).all()
        if assignment == "nearest":
            assert table.rows.tolist() == slow(data, torch.ones(len(data), 4))
        else:
            assert all(len(set(column)) == len(column) for column in table.rows.T.tolist())

    def test_zero_features_have_no_direction_and_break_nothing(self, assignment, route):
        data = views()
        for how in ("none", "centre", "whiten"):
            matched(data, torch.zeros(len(data), 4), assignment=assignment, route=route, metric="cosine", normalise=how)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_features_that_are_no_numbers_are_named_and_the_table_stays(value, metric):
    data = views()
    matcher = NearestSettings(metric=metric).build(data)
    before = matcher.draw(generator())
    features = torch.zeros(len(data), 2)
    features[[3, 5], 1] = value
    with pytest.raises(InputError, match=r"features of 2 input\(s\) are NaN or infinite, the first of input 3"):
        matcher.update(features)
    assert matcher.draw(generator()) is before


def test_a_memory_too_small_for_one_block_is_an_error():
    data = views()
    with pytest.raises(InputError, match="too small"):
        matched(data, torch.ones(len(data), 40_000), memory_mb=1)


@pytest.mark.parametrize(("every", "expected"), [(1, [1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (5, [5]), (None, [])])
def test_epochs_that_begin_with_an_update(every, expected):
    matcher = NearestSettings(every=every).build(views())
    assert [epoch for epoch in range(7) if matcher.due(epoch)] == expected


def test_the_first_matches_are_random_ones():
    data = views()
    first = NearestSettings().build(data).draw(generator(4))
    assert torch.equal(first.rows, RandomSettings().build(data).draw(generator(4)).rows)


def test_the_first_matches_are_the_true_ones_where_an_oracle_says_so():
    data = views()
    first = NearestSettings(start="perfect").build(data).draw(generator(4))
    assert torch.equal(first.rows, PerfectSettings().build(data).draw(generator(4)).rows)
    assert true_share(first, data) == 1
    unknown = DomainDataset.from_arrays([[0.0], [1.0]], [0, 0], ["a", "b"])
    with pytest.raises(InputError, match="needs known objects"):
        NearestSettings(start="perfect").build(unknown).draw(generator())


def test_the_first_matches_are_nearest_in_the_inputs():
    """The second column tells objects apart, and is small beside the first: inputs are standardised."""
    objects = torch.arange(6).repeat(2).float()
    noise = 1000 * torch.tensor([1.0, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1])
    data = DomainDataset.from_arrays(
        torch.stack([noise, objects], 1), torch.zeros(12).long(), [0] * 6 + [1] * 6, torch.arange(6).repeat(2)
    )
    first = NearestSettings(start="inputs").build(data).draw(generator())
    assert true_share(first, data) == 1


def test_a_table_stays_until_it_is_updated():
    data = views()
    matcher = NearestSettings().build(data)
    first = matcher.draw(generator(1))
    assert matcher.draw(generator(2)) is first
    second = matcher.update(torch.randn(len(data), 2, generator=generator()))
    assert matcher.draw(generator(3)) is second
    assert torch.equal(second.anchors, first.anchors)


class TestInputFeatures:
    def test_flat_inputs_are_standardised_and_a_constant_column_is_nothing(self):
        inputs = torch.cat([torch.randn(50, 2, generator=generator()) * 9 + 4, torch.full((50, 1), 7.0)], 1)
        data = DomainDataset.from_arrays(inputs, torch.zeros(50).long(), torch.arange(50) % 2)
        features = input_features(data)
        torch.testing.assert_close(features.mean(0), torch.zeros(3), atol=1e-5, rtol=0)
        torch.testing.assert_close(features.std(0), torch.tensor([1.0, 1.0, 0.0]))

    @pytest.mark.parametrize(("side", "patches"), [(8, 8), (14, 14), (28, 14), (45, 14)])
    def test_images_are_thinned_to_so_many_patches(self, side, patches):
        pixels = torch.randint(256, (4, 2, side, side), dtype=torch.uint8, generator=generator())
        features = input_features(images(pixels))
        assert features.shape == (4, 2 * patches**2)
        assert features.dtype == torch.float32

    def test_blurring_makes_a_moved_picture_nearer_than_another_one(self):
        pixels = torch.zeros(3, 1, 28, 28, dtype=torch.uint8)
        pixels[0, 0, 5:20, 9:11] = 255
        pixels[1, 0, 5:20, 11:13] = 255
        pixels[2, 0, 12:14, 9:20] = 255
        first, moved, other = input_features(images(pixels))
        assert (first - moved).norm() < 0.8 * (first - other).norm()

    def test_a_picture_stays_where_it_is(self):
        pixels = torch.zeros(1, 1, 28, 28, dtype=torch.uint8)
        pixels[0, 0, 12:16, 12:16] = 255
        blurred = input_features(images(pixels)).view(14, 14)
        torch.testing.assert_close(blurred, blurred.flip(0))
        torch.testing.assert_close(blurred, blurred.flip(1))

    def test_the_size_of_the_parts_does_not_matter(self):
        pixels = torch.randint(256, (7, 1, 12, 12), dtype=torch.uint8, generator=generator())
        torch.testing.assert_close(input_features(images(pixels), memory=2 * 8 * 144), input_features(images(pixels)))


def images(pixels):
    columns = torch.arange(len(pixels)) % 2
    return DomainDataset(PixelInputs(pixels), torch.zeros(len(pixels)).long(), columns, None, ("0",), ("a", "b"))


@pytest.mark.parametrize(
    "values", [{"every": 0}, {"start": "true"}, {"assignment": "greedy"}, {"rounds": -1}, {"memory_mb": 0}]
)
def test_wrong_settings_are_named(values):
    (key,) = values
    with pytest.raises(InputError, match=rf"matcher\.{key}"):
        NearestSettings.parse(values, "matcher")


@pytest.mark.parametrize("assignment", ["nearest", "one-to-one"])
@pytest.mark.parametrize("route", ["direct", "tree"])
def test_matches_do_not_depend_on_the_order_of_the_data(assignment, route):
    """Every domain lists the same objects in the same order: were that used, matches would be true for no reason."""
    ordered = DATASETS["rotated-digits"](train_per_domain=150, size=8).build(0).train
    order = torch.randperm(len(ordered), generator=generator())
    found = []
    for data in (ordered, ordered.select(order)):
        rows = NearestSettings(start="inputs", assignment=assignment, route=route).build(data).draw(generator()).rows
        found.append({tuple(row) for row in data.objects[rows].tolist()})
    assert found[0] == found[1]
