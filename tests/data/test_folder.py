"""A folder of images DOMAIN/CLASS/FILE: read, split and named by its content; what is wrong with it is said."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from matchdg.core.errors import InputError
from matchdg.data import MappedInputs
from matchdg.data.folder import FolderSettings
from matchdg.data.images import read_image
from matchdg.data.tree import read_tree
from matchdg.data.views import PACS_VIEWS, ViewSettings
from matchdg.training import RunSettings, execute

pytestmark = pytest.mark.usefixtures("cache")

DOMAINS, CLASSES = ("clinic", "street", "web"), ("cat", "dog")


@pytest.fixture
def root(tmp_path: Path, paint: Callable[..., Path]) -> Path:
    """Three domains of two classes of five images."""
    folder = tmp_path / "animals"
    for domain, name in enumerate(DOMAINS):
        for label, kind in enumerate(CLASSES):
            for index in range(5):
                paint(folder / name / kind / f"{index}.png", 100 * domain + 10 * label + index)
    return folder


def _settings(root: Path, **changes: Any) -> FolderSettings:
    return FolderSettings.parse({"path": str(root), "targets": ["web"], "size": 16, **changes}, "dataset")


def test_domains_and_classes_are_the_names_of_folders_in_their_order(root: Path) -> None:
    table = read_tree(root)
    assert (table.domain_names, table.class_names) == (DOMAINS, CLASSES)
    assert [path.relative_to(root).as_posix() for path in table.files[4:7]] == [
        "clinic/cat/4.png", "clinic/dog/0.png", "clinic/dog/1.png",
    ]  # fmt: skip
    assert table.labels.tolist() == ([0] * 5 + [1] * 5) * 3
    assert table.domains.tolist() == [0] * 10 + [1] * 10 + [2] * 10


def test_the_split_holds_the_target_out_and_shows_the_files(root: Path) -> None:
    split = _settings(root).build(0)
    assert (split.sources, split.targets) == (("clinic", "street"), ("web",))
    assert (len(split.train), len(split.validation), len(split.test)) == (16, 4, 10)
    assert isinstance(split.train.inputs, MappedInputs)
    expected = torch.from_numpy(read_image(root / "web" / "dog" / "3.png", 16)) / 255
    assert torch.equal(split.test.inputs[torch.tensor([8])][0], expected)
    assert _settings(root).build(0).train.fingerprint == split.train.fingerprint
    assert _settings(root).build(1).train.fingerprint != split.train.fingerprint


def test_sources_may_be_named(root: Path, paint: Callable[..., Path]) -> None:
    for label, kind in enumerate(CLASSES):
        paint(root / "zoo" / kind / "a.png", 900 + label)
        paint(root / "zoo" / kind / "b.png", 910 + label)
    assert _settings(root, sources=["zoo", "clinic"]).build(0).sources == ("zoo", "clinic")


def test_views_are_none_by_default_and_can_be_named_or_given(root: Path) -> None:
    assert _settings(root).views == ViewSettings()
    assert _settings(root, views="pacs").views == PACS_VIEWS
    assert _settings(root, views={"name": "pacs", "flip": 0.0}).views == PACS_VIEWS.model_copy(update={"flip": 0.0})
    assert _settings(root, views={"flip": 0.25}).build(0).views == ViewSettings(flip=0.25)
    with pytest.raises(InputError, match="unknown views 'pcs'; did you mean 'pacs'"):
        _settings(root, views="pcs")


def test_a_run_is_named_by_what_the_images_are_and_not_by_how_they_are_read(
    root: Path, paint: Callable[..., Path]
) -> None:
    def name(settings: FolderSettings) -> str:
        return RunSettings.parse({"dataset": {"name": "folder", **settings.dump()}, "network": "small-cnn"}).hash

    first = name(_settings(root))
    assert _settings(root).fingerprint is not None
    assert name(_settings(root)) == first
    paint(root / "web" / "cat" / "0.png", seed=999, age=50)
    changed = name(_settings(root))
    assert changed != first
    (root / "web" / "cat" / "0.png").rename(root / "web" / "dog" / "new.png")
    assert name(_settings(root)) not in (first, changed)


def test_the_fingerprint_is_the_same_wherever_the_folder_is(root: Path, tmp_path: Path) -> None:
    first = _settings(root).fingerprint
    shutil.copytree(root, tmp_path / "copy")
    assert _settings(tmp_path / "copy").fingerprint == first


def test_images_other_than_those_that_name_the_run_are_refused(root: Path, paint: Callable[..., Path]) -> None:
    settings = FolderSettings.parse(_settings(root).dump(), "dataset")
    paint(root / "web" / "cat" / "0.png", seed=999, age=50)
    with pytest.raises(InputError, match=f"expected {settings.fingerprint}: they are not those that this run is named"):
        settings.build(0)


def test_a_run_trains_on_views_of_images_and_resumes_its_name(root: Path, tmp_path: Path) -> None:
    dataset = {"name": "folder", "path": str(root), "targets": ["web"], "size": 16, "views": "pacs"}
    training = {"epochs": 2, "batch_rows": 4}
    run = RunSettings.parse({"dataset": dataset, "network": "small-cnn", "method": "randmatch", "training": training})
    result = execute(run, tmp_path / "out")
    assert result.epochs == 2
    assert set(result.test) == {"web"}
    assert execute(RunSettings.parse(run.dump()), tmp_path / "out") == result


def test_files_beside_folders_and_hidden_ones_are_passed_over(root: Path) -> None:
    expected = read_tree(root).files
    (root / "README.txt").write_text("about")
    (root / "web" / "notes.csv").write_text("a,b")
    (root / ".git").mkdir()
    (root / "web" / "cat" / ".DS_Store").write_bytes(b"x")
    (root / "web" / "cat" / "Thumbs.db").write_bytes(b"x")
    assert read_tree(root).files == expected


def test_files_that_are_no_images_are_named(root: Path) -> None:
    (root / "web" / "cat" / "labels.csv").write_text("a,b")
    with pytest.raises(InputError, match=r"1 of 31 images of animals cannot be read: .*labels\.csv is not a readable"):
        _settings(root).build(0)
    split = _settings(root, on_corrupt="skip").build(0)
    assert len(split.test) == 10
    assert any("labels.csv" in notice for notice in split.notices)


def test_an_empty_class_folder_is_named(root: Path) -> None:
    (root / "street" / "horse").mkdir()
    with pytest.raises(InputError, match=r"class folder .*street/horse has no images; add some or remove it"):
        _settings(root).build(0)


def test_an_empty_domain_folder_is_named(root: Path) -> None:
    (root / "film").mkdir()
    with pytest.raises(InputError, match=r"domain folder .*film has no class folders; expected folders DOMAIN/CLASS"):
        _settings(root).build(0)


def test_a_folder_without_folders_and_no_folder_are_named(tmp_path: Path, root: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty has no folders; expected folders DOMAIN/CLASS"):
        _settings(tmp_path / "empty").build(0)
    with pytest.raises(InputError, match="gone does not exist; expected folders DOMAIN/CLASS"):
        _settings(tmp_path / "gone").build(0)
    with pytest.raises(InputError, match=r"0\.png cannot be read \(Not a directory\)"):
        _settings(root / "web" / "cat" / "0.png").build(0)
    with pytest.raises(InputError, match="has no folder 'film'; it has clinic, street, web"):
        read_tree(root, ["film"])


def test_a_folder_among_images_is_named(root: Path) -> None:
    (root / "web" / "cat" / "more").mkdir()
    with pytest.raises(InputError, match="web/cat/more is a folder, expected an image file"):
        _settings(root).build(0)


def test_a_class_in_one_source_domain_only_is_told(root: Path, paint: Callable[..., Path]) -> None:
    for index in range(3):
        paint(root / "clinic" / "horse" / f"{index}.png", 500 + index)
    notices = _settings(root).build(0).notices
    assert notices == ("source domain 'street' has no input of class 'horse'; its matches are left out there",)


def test_a_class_in_the_target_only_is_refused(root: Path, paint: Callable[..., Path]) -> None:
    paint(root / "web" / "horse" / "0.png", 500)
    with pytest.raises(InputError, match="class 'horse' is in the target but in no source domain"):
        _settings(root).build(0)


@pytest.mark.parametrize(("old", "new", "kind"), [("web", "Street", "domains"), ("web/dog", "web/Cat", "classes")])
def test_names_that_differ_by_case_alone_are_refused(root: Path, old: str, new: str, kind: str) -> None:
    (root / old).rename(root / new)
    with pytest.raises(InputError, match=rf"{kind} '\w+' and '\w+' in .* differ by case alone; give one of them"):
        _settings(root).build(0)


def test_names_with_spaces_other_letters_and_newlines(tmp_path: Path, paint: Callable[..., Path]) -> None:
    domains, kinds = ("old photos", "größe", "two\nlines"), ("a cat", "猫\n2")
    for domain in domains:
        for kind in kinds:
            for index in range(3):
                paint(tmp_path / "all images" / domain / kind / f"é {index}\n.png", hash((domain, kind, index)) % 1000)
    split = _settings(tmp_path / "all images", targets=["größe"]).build(0)
    assert split.sources == ("old photos", "two\nlines")
    assert split.test.class_names == kinds


def test_a_folder_that_may_not_be_read_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("matchdg.data.tree.os.scandir", refuse)
    with pytest.raises(InputError, match=r"animals cannot be read \(Permission denied\)"):
        _settings(root).build(0)


def test_an_unknown_target_is_named(root: Path) -> None:
    with pytest.raises(InputError, match="unknown domain 'wbe'; did you mean 'web'"):
        _settings(root, targets=["wbe"]).build(0)
