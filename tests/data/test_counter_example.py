from typing import Any

import numpy as np
import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.data.counter_example import CounterExampleSettings

# Section 3.1: x_c given the class, and alpha.
RANGES = {
    ("Source 1", 1): (1, 3),
    ("Source 1", 0): (-2, 0),
    ("Source 2", 1): (0, 2),
    ("Source 2", 0): (-3, -1),
    ("Target", 1): (0, 2),
    ("Target", 0): (-2, 0),
}
SHIFTS = {"Source 1": 1, "Source 2": 2, "Target": 0}


def _columns(data: DomainDataset) -> tuple[np.ndarray, np.ndarray]:
    x1, x2 = data.inputs[torch.arange(len(data))].double().numpy().T
    return x1, x2


def _cell(data: DomainDataset, domain: str, label: int) -> np.ndarray:
    return ((data.domains == data.domain_names.index(domain)) & (data.labels == label)).numpy()


@pytest.mark.parametrize("kappa", [0.0, 1.6])
@pytest.mark.parametrize(("domain", "label"), RANGES)
def test_each_cell_is_uniform_on_the_paper_s_range(kappa: float, domain: str, label: int) -> None:
    data = CounterExampleSettings(kappa=kappa, test_per_domain=4000).build(0).test
    x1, x2 = _columns(data)
    cell = _cell(data, domain, label)
    stable = (x1 - x2)[cell]
    sign = 1 if label == 1 else -1
    low, high = (end + sign * kappa for end in RANGES[domain, label])
    assert cell.sum() == 2000
    assert x2[cell] == pytest.approx(SHIFTS[domain] + kappa * (domain != "Target"), abs=1e-6)
    assert stable.min() == pytest.approx(low, abs=0.01)
    assert stable.max() == pytest.approx(high, abs=0.01)
    assert np.histogram(stable, bins=4, range=(low, high))[0] == pytest.approx(500, abs=80)


def test_the_label_is_the_sign_of_the_stable_feature() -> None:
    data = CounterExampleSettings().build(0).test
    x1, x2 = _columns(data)
    assert np.array_equal(x1 - x2 >= 0, data.labels.numpy() == 1)


@pytest.mark.parametrize("kappa", [0.0, 1.6])
def test_x1_has_the_same_range_given_the_class_in_both_sources(kappa: float) -> None:
    train = CounterExampleSettings(kappa=kappa, train_per_domain=4000).build(0).train
    x1, _ = _columns(train)
    for label, (low, high) in {0: (-1, 1), 1: (2 + 2 * kappa, 4 + 2 * kappa)}.items():
        for source in train.domain_names:
            cell = x1[_cell(train, source, label)]
            assert (cell.min(), cell.max()) == pytest.approx((low, high), abs=0.01)


@pytest.mark.parametrize("width", [0.1, 0.5])
def test_an_object_is_a_bin_of_the_stable_feature(width: float) -> None:
    data = CounterExampleSettings(object_width=width).build(0).test
    x1, x2 = _columns(data)
    assert data.objects is not None
    left = data.objects.numpy() * width
    assert np.all(x1 - x2 >= left - 1e-6)
    assert np.all(x1 - x2 <= left + width + 1e-6)


def test_some_objects_are_in_one_source_only_and_some_in_both() -> None:
    train = CounterExampleSettings().build(0).train
    assert train.objects is not None
    first, second = (set(train.objects[train.domains == source].tolist()) for source in (0, 1))
    # Only source 1 reaches x_c of 2 to 3; both have 1 to 2; only source 2 has -3 to -2.
    assert {20, 29} <= first - second
    assert {10, 19} <= first & second
    assert {-30, -21} <= second - first


def test_the_sizes_and_names_are_the_settings() -> None:
    split = CounterExampleSettings(train_per_domain=5, validation_per_domain=3, test_per_domain=4).build(0)
    assert split.sources == ("Source 1", "Source 2")
    assert split.targets == ("Target",)
    assert split.train.domains.tolist() == [0] * 5 + [1] * 5
    assert split.train.labels.tolist() == [0, 1, 0, 1, 0] * 2
    assert split.validation.domains.tolist() == [0] * 3 + [1] * 3
    assert split.test.domains.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_seed_zero_is_the_same_data_on_every_machine() -> None:
    split = CounterExampleSettings().build(0)
    assert split.train.fingerprint == "67ebb08d4af1e346"
    assert split.validation.fingerprint == "77fca8f85765acc9"
    assert split.test.fingerprint == "ef379974daaa8321"
    assert CounterExampleSettings(kappa=1.6).build(0).train.fingerprint == "3feeea5e5fab9587"
    assert CounterExampleSettings().build(1).train.fingerprint != split.train.fingerprint


def test_the_first_points_of_seed_zero_by_hand() -> None:
    draws = np.random.Generator(np.random.PCG64(0)).random(2)
    assert draws == pytest.approx([0.636962, 0.269787], abs=1e-6)
    train = CounterExampleSettings().build(0).train
    # Class 0, x_c = -2 + 2 * 0.637 = -0.726; class 1, x_c = 1 + 2 * 0.270 = 1.540; alpha = 1.
    assert train.labels[:2].tolist() == [0, 1]
    assert train.inputs[torch.tensor([0, 1])].numpy() == pytest.approx(
        np.array([[-0.726077 + 1, 1], [1.539573 + 1, 1]]), abs=1e-6
    )
    assert train.objects is not None
    assert train.objects[:2].tolist() == [-8, 15]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kappa": -1}, "counter-example.kappa: Input should be greater than or equal to 0, got -1"),
        ({"object_width": 0}, "counter-example.object_width: Input should be greater than 0, got 0"),
        ({"train_per_domain": 1}, "counter-example.train_per_domain"),
        ({"test_per_domain": -1}, "counter-example.test_per_domain"),
        ({"capa": 1}, "unknown key in counter-example 'capa'; did you mean 'kappa'?"),
    ],
)
def test_wrong_settings_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        CounterExampleSettings.parse(values, "counter-example")
    assert message in str(caught.value)
