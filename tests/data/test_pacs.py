"""PACS as a folder that the user has: where it is looked for, the official lists, and the split without them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from matchdg.core.errors import InputError
from matchdg.data import MappedInputs
from matchdg.data.pacs import DOMAINS, PacsSettings, find_pacs
from matchdg.data.views import PACS_VIEWS, ViewSettings

CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
REAL = os.environ.get("MATCHDG_DATA", str(Path(__file__).parents[3] / "shared" / "data"))

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paint: Callable[..., Path]) -> Path:
    """A data folder with a PACS of ten dogs and ten elephants a domain; MATCHDG_DATA names it."""
    folder = tmp_path / "data"
    for domain, name in enumerate(DOMAINS):
        for label, kind in enumerate(CLASSES[:2]):
            for index in range(10):
                suffix = "png" if name == "sketch" else "webp"
                paint(folder / "PACS" / name / kind / f"pic {index}.{suffix}", 1000 * domain + 100 * label + index)
    monkeypatch.setenv("MATCHDG_DATA", str(folder))
    return folder


def _settings(**changes: Any) -> PacsSettings:
    return PacsSettings.parse({"size": 16, **changes}, "dataset")


def _lists(folder: Path, skip: int = 0, prefix: str = "") -> None:
    """Every domain's first two images of a class validate, and the others train but for the last `skip`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in DOMAINS:
        suffix = "png" if name == "sketch" else "webp"
        for part, chosen in (("crossval", range(2)), ("train", range(2, 10 - skip))):
            lines = [
                f"{prefix}{name}/{kind}/pic {index}.{suffix} {label + 1}"
                for label, kind in enumerate(CLASSES[:2])
                for index in chosen
            ]
            (folder / f"{name}_{part}_kfold.txt").write_text("\n".join(lines) + "\n")


def test_the_defaults_are_the_paper_s() -> None:
    settings = PacsSettings()
    assert (settings.targets, settings.sources) == (("sketch",), ("photo", "art_painting", "cartoon"))
    assert (settings.size, settings.views, settings.on_corrupt) == (224, PACS_VIEWS, "error")


@pytest.mark.parametrize("target", DOMAINS)
def test_without_lists_a_tenth_of_each_class_and_domain_validates(data: Path, target: str) -> None:
    split = _settings(targets=[target]).build(0)
    assert split.sources == tuple(name for name in DOMAINS if name != target)
    assert split.train.counts.tolist() == [[9, 9]] * 3
    assert split.validation.counts.tolist() == [[1, 1]] * 3
    assert split.test.counts.tolist() == [[10, 10]]
    assert split.views == PACS_VIEWS
    assert any("one tenth of each class and source domain validates, drawn with seed 0" in n for n in split.notices)


def test_the_split_does_not_depend_on_the_run_s_seed(data: Path) -> None:
    assert _settings().build(0).train.fingerprint == _settings().build(7).train.fingerprint


@pytest.mark.parametrize("place", ["", "splits"])
def test_official_lists_are_used_where_they_are_found(data: Path, place: str) -> None:
    _lists(data / "PACS" / place)
    split = _settings().build(0)
    assert split.train.counts.tolist() == [[8, 8]] * 3
    assert split.validation.counts.tolist() == [[2, 2]] * 3
    assert split.test.counts.tolist() == [[10, 10]]
    assert "training and validation images are those of the official lists" in split.notices
    assert isinstance(split.validation.inputs, MappedInputs)


def test_the_official_archive_has_images_in_a_folder_kfold_and_lists_in_another(data: Path) -> None:
    images = data / "PACS" / "kfold"
    images.mkdir()
    for name in DOMAINS:
        (data / "PACS" / name).rename(images / name)
    _lists(data / "PACS" / "Train val splits", prefix="somewhere/kfold/")
    assert _settings().build(0).train.counts.tolist() == [[8, 8]] * 3


def test_images_in_no_list_are_left_out(data: Path) -> None:
    _lists(data / "PACS", skip=3)
    assert _settings().build(0).train.counts.tolist() == [[5, 5]] * 3


def test_lists_of_the_target_are_not_needed(data: Path) -> None:
    _lists(data / "PACS")
    for path in (data / "PACS").glob("sketch_*"):
        path.unlink()
    assert _settings(targets=["sketch"]).build(0).train.counts.tolist() == [[8, 8]] * 3


def test_a_list_naming_a_missing_file_is_refused(data: Path) -> None:
    _lists(data / "PACS")
    (data / "PACS" / "photo" / "dog" / "pic 5.webp").unlink()
    with pytest.raises(InputError, match=r"photo_train_kfold\.txt, line 4: there is no .*photo/dog/pic 5\.webp; bring"):
        _settings().build(0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "photo/dog/pic 1.webp",
            r"line 1: 'photo/dog/pic 1.webp', expected DOMAIN/CLASS/FILE and a number from 1 to 2",
        ),
        ("photo/dog/pic 1.webp 0", "a number from 1 to 2"),
        ("photo/dog/pic 1.webp 2", r"with label 2 \(elephant\) does not belong there"),
        ("cartoon/dog/pic 1.webp 1", "expected an image of photo whose folder is its class"),
        ("photo/dog/pic 1.webp 1", "photo/dog/pic 1.webp is in a list to train on and in one to validate"),
    ],
)
def test_wrong_lines_are_named(data: Path, line: str, message: str) -> None:
    _lists(data / "PACS")
    (data / "PACS" / "photo_train_kfold.txt").write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        _settings().build(0)


def test_a_list_that_is_no_text_is_named(data: Path) -> None:
    _lists(data / "PACS")
    (data / "PACS" / "photo_train_kfold.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"photo_train_kfold\.txt cannot be read"):
        _settings().build(0)


def test_some_lists_without_the_others_are_refused(data: Path) -> None:
    _lists(data / "PACS")
    (data / "PACS" / "photo_crossval_kfold.txt").unlink()
    with pytest.raises(InputError, match=r"has no photo_crossval_kfold\.txt beside it; add all lists"):
        _settings().build(0)


@pytest.mark.parametrize("name", ["PACS", "pacs", "."])
def test_pacs_may_be_in_the_data_folder_or_be_it(data: Path, tmp_path: Path, name: str) -> None:
    if name == ".":
        assert find_pacs(data / "PACS") == data / "PACS"
    else:
        (data / "PACS").rename(data / name)
        assert find_pacs() == data / name


def test_a_named_folder_goes_before_the_variable(data: Path, tmp_path: Path) -> None:
    for domain in DOMAINS:
        (tmp_path / "mine" / domain).mkdir(parents=True)
    assert find_pacs(tmp_path / "mine") == tmp_path / "mine"


def test_pacs_that_is_nowhere_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _settings(data_dir=str(tmp_path)).build(0)
    assert f"{tmp_path} (--data-dir or dataset.data_dir): has no folder PACS or pacs with photo, art_painting" in str(
        caught.value
    )
    assert "--data-dir, dataset.data_dir or MATCHDG_DATA" in str(caught.value)
    assert _settings().fingerprint is None


def test_the_name_has_the_content_and_not_the_folder(data: Path, paint: Callable[..., Path], tmp_path: Path) -> None:
    first = _settings()
    assert first.fingerprint is not None
    assert _settings(data_dir=str(data)).dump() == first.dump()
    assert "data_dir" not in first.dump()
    _lists(data / "PACS")
    with_lists = _settings().fingerprint
    assert with_lists != first.fingerprint
    paint(data / "PACS" / "photo" / "dog" / "pic 0.webp", seed=5, age=50)
    assert _settings().fingerprint not in (first.fingerprint, with_lists)
    with pytest.raises(InputError, match=r"the images in .*PACS have the fingerprint"):
        first.build(0)


def test_a_domain_cannot_be_named_twice_and_two_must_be_left() -> None:
    with pytest.raises(InputError, match="a domain is named twice"):
        _settings(targets=["photo", "photo"])
    with pytest.raises(InputError, match="at least two domains must be left to train on, not 1"):
        _settings(targets=["photo", "sketch", "cartoon"])
    with pytest.raises(InputError, match=r"dataset\.targets"):
        _settings(targets=["phot"])


def test_views_can_be_turned_off(data: Path) -> None:
    assert _settings(views="none").build(0).views == ViewSettings()


@pytest.mark.skipif(not (Path(REAL) / "PACS" / "photo").is_dir(), reason="needs PACS in the folder MATCHDG_DATA")
def test_the_real_pacs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCHDG_DATA", REAL)
    split = _settings(size=8, targets=["art_painting"]).build(0)
    assert split.train.class_names == CLASSES
    assert len(split.test) == 2048
    assert len(split.train) + len(split.validation) == 1670 + 2344 + 3929
