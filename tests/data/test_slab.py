import math
from typing import Any

import numpy as np
import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import DomainDataset
from matchdg.data.slab import LINEAR_FEATURE, SLAB_FEATURE, SlabSettings

LARGE = SlabSettings(test_per_domain=20_000, train_per_domain=2, validation_per_domain=2).build(1).test
LENGTH, MARGIN = 0.2, 0.1


def _feature(data: DomainDataset, index: int) -> np.ndarray:
    return data.inputs[torch.arange(len(data))].double().numpy()[:, index]


def _objects(data: DomainDataset) -> np.ndarray:
    assert data.objects is not None
    return data.objects.numpy()


def _share(mask: Any) -> float:
    return float(np.asarray(mask).mean())


def test_the_sizes_are_the_settings() -> None:
    split = SlabSettings(train_per_domain=5, validation_per_domain=3, test_per_domain=4).build(0)
    assert split.sources == split.validation.domain_names == ("Source 1", "Source 2")
    assert split.test.domain_names == ("Source 1", "Source 2", "Target")
    assert split.targets == ("Target",)
    assert split.train.domains.tolist() == [0] * 5 + [1] * 5
    assert split.validation.domains.tolist() == [0] * 3 + [1] * 3
    assert split.test.domains.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_the_defaults_are_the_paper_s() -> None:
    settings = SlabSettings()
    assert (settings.slabs, settings.label_noise) == (7, 0.1)
    assert (settings.source_noise, settings.target_noise) == ((0.0, 0.1), (1.0,))
    assert (settings.train_per_domain, settings.validation_per_domain) == (1000, 250)


def test_more_domains_are_numbered() -> None:
    split = SlabSettings(source_noise=(0, 0.1, 0.2), target_noise=(0.5, 1)).build(0)
    assert split.sources == ("Source 1", "Source 2", "Source 3")
    assert split.targets == ("Target 1", "Target 2")


def test_the_object_is_the_slab_that_x2_lies_in() -> None:
    x2, slab = _feature(LARGE, SLAB_FEATURE), _objects(LARGE)
    start = -1 + slab * (LENGTH + MARGIN)
    assert np.all(x2 >= start - 1e-6)
    assert np.all(x2 <= start + LENGTH + 1e-6)
    assert set(slab.tolist()) == set(range(7))


@pytest.mark.parametrize(("slabs", "margin"), [(7, 0.1), (2, 0.5), (5, 0.0), (12, 0.02)])
def test_the_slabs_and_their_gaps_fill_the_range_from_minus_1_to_1(slabs: int, margin: float) -> None:
    data = SlabSettings(slabs=slabs, margin=margin, test_per_domain=12_000).build(0).test
    x2, slab = _feature(data, SLAB_FEATURE), _objects(data)
    length = (2 - margin * (slabs - 1)) / slabs
    lows = np.array([x2[slab == index].min() for index in range(slabs)])
    highs = np.array([x2[slab == index].max() for index in range(slabs)])
    near = {"abs": 0.02 * length}
    assert lows[0] == pytest.approx(-1, **near)
    assert highs[-1] == pytest.approx(1, **near)
    assert highs - lows == pytest.approx(np.full(slabs, length), **near)
    assert lows[1:] - highs[:-1] == pytest.approx(np.full(slabs - 1, margin), abs=0.04 * length)


@pytest.mark.parametrize("label_noise", [0.0, 0.1, 1.0])
def test_the_parity_of_the_slab_is_the_label_but_for_the_label_noise(label_noise: float) -> None:
    data = SlabSettings(label_noise=label_noise, test_per_domain=10_000).build(0).test
    differs = _objects(data) % 2 != data.labels.numpy()
    assert _share(differs) == pytest.approx(label_noise, abs=4 * math.sqrt(0.09 / 30_000) * (label_noise == 0.1))


def test_the_slabs_of_a_parity_are_equally_frequent() -> None:
    slab = _objects(LARGE)
    for index in range(7):
        within = slab[slab % 2 == index % 2] == index
        assert _share(within) == pytest.approx(1 / (4 if index % 2 == 0 else 3), abs=0.015)


def test_the_classes_are_equally_frequent_in_every_domain() -> None:
    for domain in range(3):
        assert _share(LARGE.labels[LARGE.domains == domain]) == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize(("domain", "noise"), [(0, 0.0), (1, 0.1), (2, 1.0)])
def test_x1_lies_in_its_class_s_band_but_for_the_domain_s_noise(domain: int, noise: float) -> None:
    here = (LARGE.domains == domain).numpy()
    x1, label = _feature(LARGE, LINEAR_FEATURE)[here], LARGE.labels.numpy()[here]
    noisy = np.abs(x1) < 0.1
    assert _share(noisy) == pytest.approx(noise, abs=0.01 * (0 < noise < 1))
    clean = x1[~noisy] * (2 * label[~noisy] - 1)
    if noise < 1:
        assert clean.min() == pytest.approx(0.1, abs=0.001)
        assert clean.max() == pytest.approx(1, abs=0.001)
        assert clean.mean() == pytest.approx(0.55, abs=0.01)
    if noise > 0:
        assert x1[noisy].min() == pytest.approx(-0.1, abs=0.001)
        assert x1[noisy].max() == pytest.approx(0.1, abs=0.001)
        assert np.corrcoef(x1[noisy], label[noisy])[0, 1] == pytest.approx(0, abs=0.08)


def test_x2_has_the_same_distribution_in_every_domain() -> None:
    slab = _objects(LARGE)
    shares = [np.bincount(slab[(LARGE.domains == d).numpy()], minlength=7) / 20_000 for d in range(3)]
    assert shares[1] == pytest.approx(shares[0], abs=0.02)
    assert shares[2] == pytest.approx(shares[0], abs=0.02)


# --- determinism -----------------------------------------------------------------------------------------------


def test_seed_zero_is_the_same_data_on_every_machine() -> None:
    split = SlabSettings().build(0)
    assert split.train.fingerprint == "e8637f63c1da1744"
    assert split.validation.fingerprint == "aec8a5c2e3c1d289"
    assert split.test.fingerprint == "1eaaacc2a551c01a"


def test_the_first_point_of_seed_zero_by_hand() -> None:
    # Its six draws, in order: label, slab's class, slab, noise, place in x1's band, place in the slab.
    draws = np.random.Generator(np.random.PCG64(0)).random((6, 2000))[:, 0]
    assert draws == pytest.approx([0.636962, 0.977281, 0.603475, 0.649720, 0.658471, 0.568007], abs=1e-6)
    # 0.637 >= 0.5: class 0. 0.977 >= 0.1: an even slab, of which 0.603 is the third. 0.650 >= 0: clean.
    train = SlabSettings().build(0).train
    assert train.labels[0] == 0
    assert _objects(train)[0] == 4
    assert _feature(train, LINEAR_FEATURE)[0] == pytest.approx(-(0.1 + 0.9 * 0.658471), abs=1e-6)
    assert _feature(train, SLAB_FEATURE)[0] == pytest.approx(-1 + 4 * 0.3 + 0.2 * 0.568007, abs=1e-6)


def test_other_seeds_are_other_data() -> None:
    assert SlabSettings().build(0).train.fingerprint != SlabSettings().build(1).train.fingerprint


def test_training_validation_and_test_share_no_point() -> None:
    split = SlabSettings().build(0)
    parts = [
        {tuple(row) for row in part.inputs[torch.arange(len(part))].tolist()}
        for part in (split.train, split.validation, split.test)
    ]
    assert len(set.union(*parts)) == sum(len(part) for part in parts) == 5500


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"slabs": 1}, "slab.slabs: Input should be greater than or equal to 2, got 1"),
        ({"margin": -0.1}, "slab.margin: Input should be greater than or equal to 0, got -0.1"),
        ({"label_noise": 1.5}, "slab.label_noise: Input should be less than or equal to 1, got 1.5"),
        ({"train_per_domain": 0}, "slab.train_per_domain: Input should be greater than or equal to 1, got 0"),
        ({"validation_per_domain": -3}, "slab.validation_per_domain"),
        ({"test_per_domain": 0}, "slab.test_per_domain"),
        ({"test_per_domain": "many"}, "slab.test_per_domain"),
        ({"slabs": 21, "margin": 0.1}, "slab: 21 slabs with margins of 0.1 do not fit into [-1, 1]"),
        ({"source_noise": (0.0, 1.1)}, "slab: noise must be probabilities between 0 and 1, got 1.1"),
        ({"target_noise": (-0.1,)}, "slab: noise must be probabilities between 0 and 1, got -0.1"),
        ({"source_noise": (0.0, float("nan"))}, "slab.source_noise.1: Input should be a finite number"),
        ({"slab": 7}, "unknown key in slab 'slab'; did you mean 'slabs'?"),
    ],
)
def test_wrong_settings_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        SlabSettings.parse(values, "slab")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SlabSettings(source_noise=(0.1,)), "at least two source domains, got 1: Source"),
        (SlabSettings(target_noise=()), "no target domain was named"),
    ],
)
def test_too_few_domains_are_refused(settings: SlabSettings, message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings.build(0)
