from pathlib import Path
from typing import Any

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import DATASETS, DomainDataset, PixelInputs
from matchdg.data.catalogue import FASHION_MNIST
from matchdg.data.originals import bundled_digits, read_collection
from matchdg.data.rotated import RotatedDigitsSettings, RotatedFashionMnistSettings, RotatedMnistSettings
from matchdg.data.rotation import rotate

SHARED = Path(__file__).parents[3] / "shared" / "data"
FASHION = FASHION_MNIST.debian[1] if FASHION_MNIST.debian else Path()
ROTATED = [RotatedMnistSettings, RotatedFashionMnistSettings, RotatedDigitsSettings]
SMALL = {"train_per_domain": 20, "validation_per_domain": 6, "test_per_domain": 10}

needs_mnist = pytest.mark.skipif(
    not (SHARED / "MNIST" / "raw").is_dir(), reason="needs MNIST's files in shared/data beside the repository"
)
needs_fashion = pytest.mark.skipif(not FASHION.is_dir(), reason="needs Debian's package dataset-fashion-mnist")


def _digits(**changes: Any) -> RotatedDigitsSettings:
    return RotatedDigitsSettings.parse({**SMALL, **changes}, "dataset")


def _pixels(data: DomainDataset, domain: int = 0) -> torch.Tensor:
    assert isinstance(data.inputs, PixelInputs)
    return data.inputs.pixels[data.domains == domain, 0]


def _objects(data: DomainDataset, domain: int = 0) -> list[int]:
    assert data.objects is not None
    return data.objects[data.domains == domain].tolist()


def test_the_defaults_are_the_paper_s_main_set_up() -> None:
    mnist, fashion, digits = (settings() for settings in ROTATED)
    for settings in (mnist, fashion, digits):
        assert settings.sources == (15, 30, 45, 60, 75)
        assert settings.targets == (0, 90)
        assert (settings.digits, settings.validation_per_domain) == ("separate", None)
    assert (mnist.size, mnist.train_per_domain, mnist.test_per_domain) == (28, 2000, 2000)
    assert (fashion.size, fashion.train_per_domain, fashion.test_per_domain) == (28, 10_000, 2000)
    assert (digits.size, digits.train_per_domain, digits.test_per_domain) == (32, 1000, None)


def test_bundled_digits_need_nothing_and_have_the_sizes_documented() -> None:
    split = RotatedDigitsSettings().build(0)
    assert (len(split.train), len(split.validation), len(split.test)) == (5 * 1000, 5 * 200, 2 * 597)
    assert split.train.input_shape == (1, 32, 32)
    assert split.train.class_names == tuple("0123456789")


def test_the_content_is_the_same_on_every_machine() -> None:
    split = _digits().build(7)
    assert split.train.fingerprint == "87556823d0f2015d"
    assert split.validation.fingerprint == "9465d7417331c30d"
    assert split.test.fingerprint == "62ec11a5044fd212"
    assert _digits().build(0).train.fingerprint != split.train.fingerprint


def test_domains_are_named_by_their_angles_in_the_order_given() -> None:
    split = _digits(sources=[60, 22.5, -15], targets=[90, 0]).build(0)
    assert split.sources == split.validation.domain_names == ("60", "22.5", "-15")
    assert split.targets == split.test.domain_names == ("90", "0")
    assert split.train.domains.tolist() == [0] * 20 + [1] * 20 + [2] * 20


def test_every_domain_of_a_part_shows_the_same_digits_each_at_its_angle() -> None:
    split = _digits(sources=[10, 20, 30], targets=[0, 90]).build(0)
    originals = bundled_digits()
    for part, angles in ((split.train, (10, 20, 30)), (split.validation, (10, 20, 30)), (split.test, (0, 90))):
        assert part.objects is not None
        shown = part.objects[part.domains == 0]
        for domain, angle in enumerate(angles):
            assert _objects(part, domain) == shown.tolist()
            assert torch.equal(part.labels[part.domains == domain], originals.labels[shown])
            assert torch.equal(_pixels(part, domain), rotate(originals.images[shown], angle, 32))


def test_separate_parts_show_different_digits() -> None:
    split = _digits().build(0)
    parts = [set(_objects(part)) for part in (split.train, split.validation, split.test)]
    assert [len(part) for part in parts] == [20, 6, 10]
    assert len(set.union(*parts)) == 36


def test_the_same_digits_may_be_in_all_domains() -> None:
    split = _digits(digits="same", test_per_domain=None).build(0)
    assert _objects(split.test) == _objects(split.train)
    assert not set(_objects(split.validation)) & set(_objects(split.train))


def test_upright_at_the_native_size_is_the_original() -> None:
    split = _digits(size=8, sources=[0, 15], targets=[90]).build(0)
    originals = bundled_digits().images
    assert torch.equal(_pixels(split.train), originals[_objects(split.train)])
    assert torch.equal(_pixels(split.test), torch.rot90(originals[_objects(split.test)], 1, (1, 2)))
    assert originals.max() == 255


def test_all_digits_can_be_used() -> None:
    split = _digits(train_per_domain="all", validation_per_domain=None, test_per_domain=None, targets=[90, 120]).build(
        0
    )
    assert len(split.train) / 5 + len(split.validation) / 5 + len(split.test) / 2 == 1797


def test_settings_come_back_from_plain_values() -> None:
    settings = _digits(train_per_domain="all", sources=[1, 2.5])
    assert RotatedDigitsSettings.parse(settings.dump(), "dataset") == settings


def test_where_the_files_are_is_no_part_of_a_run_s_name() -> None:
    assert RotatedMnistSettings(data_dir=Path("here")).dump() == RotatedMnistSettings().dump()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sources": [15, 400]}, "dataset: angles are degrees from -360 to 360, not 400"),
        ({"targets": [-361]}, "angles are degrees from -360 to 360, not -361"),
        ({"sources": [15, float("nan")]}, "dataset.sources.1: Input should be a finite number"),
        ({"sources": [15, "up"]}, "dataset.sources.1: .*number"),
        ({"sources": [15]}, "at least two source domains, not 1"),
        ({"targets": []}, "dataset.targets: .*at least 1 item"),
        ({"sources": [15, 30, 15]}, "the same rotation is given twice: 15, 15; give each angle once"),
        ({"sources": [-345, 30, 15]}, "the same rotation is given twice: -345, 15"),
        ({"targets": [0, 360]}, "the same rotation is given twice: 0, 360"),
        ({"targets": [90, 30]}, "30: a target domain must not be a source domain as well"),
        ({"targets": [390 - 360 - 360]}, "-330: a target domain must not be a source domain as well"),
        ({"size": 7}, "dataset.size: .*greater than or equal to 8"),
        ({"size": 1025}, "dataset.size: .*less than or equal to 1024"),
        ({"train_per_domain": 0}, 'dataset.train_per_domain: expected a whole number from 1 up, or "all", got 0'),
        ({"train_per_domain": "many"}, "expected a whole number from 1 up, or \"all\", got 'many'"),
        ({"train_per_domain": True}, 'expected a whole number from 1 up, or "all", got True'),
        ({"test_per_domain": 0}, "dataset.test_per_domain: "),
        ({"digits": "some"}, "dataset.digits: "),
        ({"angles": [3]}, "unknown key in dataset 'angles'"),
    ],
)
@pytest.mark.parametrize("settings", ROTATED)
def test_settings_that_make_no_sense_are_refused(settings: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings.parse(changes, "dataset")


def test_more_digits_than_there_are_are_refused_with_the_numbers() -> None:
    with pytest.raises(InputError, match=r"digits: asked for train_per_domain 1700 \+ .* 340 .* 1797 together"):
        RotatedDigitsSettings(train_per_domain=1700).build(0)


def test_the_files_that_are_found_are_used(stand: Any, tmp_path: Path) -> None:
    settings = RotatedMnistSettings(data_dir=stand.write(tmp_path / "mine"), size=8, **SMALL)
    split = settings.build(0)
    originals = read_collection("mnist", tmp_path / "mine")
    assert originals.official_test == 20
    assert max(_objects(split.train)) < 40 <= min(_objects(split.test))
    assert torch.equal(_pixels(split.test), originals.images[_objects(split.test)])
    assert split.train.class_names == tuple("0123456789")


@pytest.mark.parametrize("name", ["rotated-mnist", "rotated-fashion-mnist", "rotated-digits"])
def test_the_data_sets_are_registered(name: str) -> None:
    assert DATASETS[name] in ROTATED


@needs_mnist
def test_mnist_itself() -> None:
    split = RotatedMnistSettings(data_dir=SHARED, **SMALL, sources=(0, 30), targets=(90,)).build(0)
    originals = read_collection("mnist", SHARED)
    assert originals.images.shape == (70_000, 28, 28)
    assert originals.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert originals.labels[60_000:60_003].tolist() == [7, 2, 1]
    assert torch.equal(_pixels(split.train), originals.images[_objects(split.train)])
    with pytest.raises(InputError, match=r"MNIST: asked for .* 55000 .* 11000 images, .* 60000"):
        RotatedMnistSettings(data_dir=SHARED, train_per_domain=55_000).build(0)


@needs_fashion
def test_fashion_mnist_itself() -> None:
    originals = read_collection("fashion-mnist", FASHION)
    assert originals.labels[:3].tolist() == [9, 0, 0]
    assert originals.class_names[9] == "ankle boot"
    split = RotatedFashionMnistSettings(data_dir=FASHION, **{**SMALL, "train_per_domain": 200}).build(0)
    assert len(split.train) == 1000
