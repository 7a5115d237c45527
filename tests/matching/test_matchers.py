"""The family `MATCHERS`: which matches are valid, how many are true, and what a seed decides."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError
from matchdg.data import DATASETS, DomainDataset
from matchdg.matching import ABSENT, MATCHERS, PartlyPerfectSettings, PerfectSettings, RandomSettings

OBJECTS, DOMAINS = 40, 3
# Learnt matches come from a phase 1, not from the data alone: see test_learnt.
FROM_DATA = [name for name in MATCHERS if name != "learnt"]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def views(objects=OBJECTS, domains=DOMAINS, classes=2):
    """Every object once in every domain, all its views of one class; the position is domain * objects + object."""
    numbers = torch.arange(objects).repeat(domains)
    columns = torch.arange(domains).repeat_interleave(objects)
    return DomainDataset.from_arrays(torch.zeros(len(numbers), 1), numbers % classes, columns, numbers)


def true_rows(table, data):
    """Which anchors are matched to their own object in every domain."""
    objects = data.objects[table.rows]
    return (objects == objects[:, :1]).all(1)


@pytest.fixture
def slab():
    return DATASETS["slab"](train_per_domain=60, source_noise=(0.0, 0.1, 0.2)).build(0).train


@pytest.fixture
def noisy():
    # Object 0 has another label in domain b, object 1 is always of class 1.
    return DomainDataset.from_arrays(torch.zeros(4, 1), [0, 1, 1, 1], ["a", "a", "b", "b"], [0, 1, 0, 1])


@pytest.mark.parametrize("name", FROM_DATA)
class TestFamily:
    def test_defaults_give_a_valid_table(self, name, slab):
        MATCHERS[name]().build(slab).draw(generator()).check(slab)

    def test_a_seed_decides_the_table(self, name, slab):
        table, again, other = (MATCHERS[name]().build(slab).draw(generator(seed)) for seed in (1, 1, 2))
        assert torch.equal(table.rows, again.rows)
        assert torch.equal(table.anchors, again.anchors)
        assert not torch.equal(table.rows, other.rows)

    def test_the_anchors_do_not_depend_on_the_seed(self, name, slab):
        tables = [MATCHERS[name]().build(slab).draw(generator(seed)) for seed in range(3)]
        inputs = [table.rows[torch.arange(len(table)), table.anchors] for table in tables]
        assert all(torch.equal(inputs[0], other) for other in inputs)
        assert (slab.domains[inputs[0]] == tables[0].anchors).all()

    def test_a_class_that_all_but_one_domain_lack(self, name):
        data = DomainDataset.from_arrays(torch.zeros(6, 1), [0, 0, 0, 1, 1, 1], [0, 1, 2, 1, 1, 1], [0, 0, 0, 1, 2, 3])
        table = MATCHERS[name]().build(data).draw(generator())
        table.check(data)
        assert table.rows.tolist() == [
            [0, 1, 2],
            [ABSENT, 3, ABSENT],
            [ABSENT, 4, ABSENT],
            [ABSENT, 5, ABSENT],
        ]


@pytest.mark.parametrize("name", MATCHERS)
def test_settings_have_help_and_read_back(name):
    settings = MATCHERS[name]()
    assert MATCHERS[name].parse(settings.dump(), "matcher") == settings
    assert all(field.description for field in MATCHERS[name].model_fields.values())


@pytest.mark.parametrize("settings", [PerfectSettings(), PartlyPerfectSettings()])
def test_unknown_objects_are_an_error_that_says_what_to_do(settings):
    data = DomainDataset.from_arrays([[0.0], [1.0]], [0, 0], ["a", "b"])
    with pytest.raises(InputError, match=r"needs known objects.*give an object column or use the matcher 'random'"):
        settings.build(data)


def test_random_matches_need_no_objects_and_share_the_class():
    data = DomainDataset.from_arrays(torch.zeros(6, 1), [0, 1, 0, 1, 1, 0], list("aabbcc"))
    table = RandomSettings().build(data).draw(generator())
    assert table.complete
    assert (data.labels[table.rows] == data.labels[table.rows[:, :1]]).all()


def test_perfect_matches_are_the_same_object():
    data = views()
    table = PerfectSettings().build(data).draw(generator())
    assert table.complete
    assert true_rows(table, data).all()


def test_perfect_matches_may_differ_in_label(noisy):
    table = PerfectSettings().build(noisy).draw(generator())
    # Class 0 starts from a; class 1 has most inputs in b, so both of b's are anchors, and object 0 appears twice.
    assert table.rows.tolist() == [[0, 2], [0, 2], [1, 3]]
    assert table.anchors.tolist() == [0, 1, 1]


def test_perfect_matches_of_the_same_class(noisy):
    table = PerfectSettings(same_class=True).build(noisy).draw(generator())
    assert table.rows.tolist() == [[0, ABSENT], [ABSENT, 2], [1, 3]]


def test_same_class_holds_on_noisy_labels(slab):
    def agree(same_class):
        table = PerfectSettings(same_class=same_class).build(slab).draw(generator())
        labels, present = slab.labels[table.rows.clamp(min=0)], table.rows != ABSENT
        own = labels.gather(1, table.anchors[:, None])
        return bool(((labels == own) | ~present).all())

    assert agree(same_class=True)
    assert not agree(same_class=False)


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.75])
def test_partly_perfect_gives_the_stated_fraction_a_true_match_the_same_in_every_epoch(fraction):
    data = views()
    matcher = PartlyPerfectSettings(fraction=fraction).build(data)
    epochs = [true_rows(matcher.draw(generator(seed)), data) for seed in range(20)]
    # A random match is true by chance now and then, but not twenty times in turn.
    always = torch.stack(epochs).all(0)
    assert int(always.sum()) == round(fraction * OBJECTS)


def test_partly_perfect_random_rows_share_the_class():
    data = views()
    table = PartlyPerfectSettings(fraction=0.25).build(data).draw(generator())
    assert not true_rows(table, data).all()
    assert (data.labels[table.rows] == data.labels[table.rows[:, :1]]).all()


def test_partly_perfect_chooses_other_anchors_with_another_seed():
    data = views()
    first = PartlyPerfectSettings(seed=0).build(data)
    second = PartlyPerfectSettings(seed=1).build(data)
    assert not torch.equal(first.is_true, second.is_true)
    assert torch.equal(first.is_true, PartlyPerfectSettings(seed=0).build(data).is_true)


def test_partly_perfect_of_the_same_class(noisy):
    table = PartlyPerfectSettings(fraction=1.0, same_class=True).build(noisy).draw(generator())
    assert table.rows.tolist() == [[0, ABSENT], [ABSENT, 2], [1, 3]]


@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_a_fraction_lies_between_zero_and_one(fraction):
    with pytest.raises(InputError, match=r"matcher\.fraction"):
        PartlyPerfectSettings.parse({"fraction": fraction}, "matcher")


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(2, 4), st.floats(0, 1), st.integers(0, 1000))
def test_partly_perfect_is_between_random_and_perfect(objects, domains, fraction, seed):
    data = views(objects, domains)
    matcher = PartlyPerfectSettings(fraction=fraction, seed=seed).build(data)
    table = matcher.draw(generator(seed))
    table.check(data)
    assert int(matcher.is_true.sum()) == round(fraction * objects)
    assert true_rows(table, data)[matcher.is_true].all()
    if fraction == 1:
        assert true_rows(table, data).all()
