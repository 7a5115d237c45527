from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.data import DATASETS
from matchdg.data.arrays import ArraysSettings
from matchdg.data.catalogue import COLLECTIONS


def _columns() -> dict[str, np.ndarray]:
    return {
        "inputs": np.arange(48.0).reshape(24, 2),
        "labels": np.arange(24) % 2,
        "domains": np.repeat(["lab", "clinic", "ward"], 8),
        "objects": np.arange(24) // 2,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data.npz"
    np.savez(path, **_columns())
    return path


def _build(path: Path, **values: Any) -> Any:
    return ArraysSettings.parse({"path": path, "targets": ["ward"], **values}, "arrays").build(0)


def test_a_file_is_read_and_split(path: Path) -> None:
    split = _build(path)
    assert split.sources == ("clinic", "lab")
    assert split.targets == ("ward",)
    assert split.test.inputs.tolist() == np.arange(32.0, 48.0).reshape(8, 2).tolist()
    assert split.test.labels.tolist() == [0, 1] * 4
    assert split.test.objects.tolist() == [8, 8, 9, 9, 10, 10, 11, 11]
    assert split.train.counts.tolist() == [[3, 3], [3, 3]]
    assert split.validation.counts.tolist() == [[1, 1], [1, 1]]


def test_the_settings_reach_the_split(path: Path) -> None:
    split = _build(path, targets=["lab"], sources=["ward", "clinic"], validation_fraction=0.5)
    assert split.sources == ("ward", "clinic")
    assert split.validation.counts.tolist() == [[2, 2], [2, 2]]


def test_the_seed_cuts_the_sources(path: Path) -> None:
    settings = ArraysSettings(path=path, targets=("ward",))
    assert settings.build(1).train.fingerprint == settings.build(1).train.fingerprint
    assert settings.build(1).train.fingerprint != settings.build(2).train.fingerprint
    assert settings.build(1).test.fingerprint == settings.build(2).test.fingerprint


def test_compressed_files_without_objects_are_fine(tmp_path: Path) -> None:
    columns = _columns()
    del columns["objects"]
    np.savez_compressed(tmp_path / "data.npz", **columns)
    assert _build(tmp_path / "data.npz").train.objects is None


def test_the_settings_can_be_written_down_and_read_back(path: Path) -> None:
    settings = ArraysSettings(path=path, targets=("ward",))
    assert settings.dump()["path"] == str(path)
    assert ArraysSettings.parse(settings.dump(), "arrays") == settings


@pytest.mark.parametrize("missing", ["inputs", "labels", "domains"])
def test_a_missing_array_is_named(tmp_path: Path, missing: str) -> None:
    columns = _columns()
    del columns[missing]
    np.savez(tmp_path / "data.npz", **columns)
    with pytest.raises(InputError, match=rf"data\.npz has no array '{missing}'; it has .*objects"):
        _build(tmp_path / "data.npz")


def test_a_file_of_no_arrays_has_none(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz")
    with pytest.raises(InputError, match="has no array 'inputs'; it has none"):
        _build(tmp_path / "data.npz")


def test_an_unknown_array_is_answered_with_the_nearest(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", **_columns(), object=np.arange(24))
    with pytest.raises(InputError, match=r"unknown array in .* 'object'; did you mean 'objects'"):
        _build(tmp_path / "data.npz")


def test_a_file_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.npz does not exist; give the path of a \.npz file"):
        _build(tmp_path / "absent.npz")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 and no more"], ids=["empty", "csv", "cut"])
def test_another_kind_of_file_is_not_readable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"is not a readable \.npz file of plain arrays .* numpy\.savez"):
        _build(tmp_path / "data.npz")


def test_a_folder_is_not_readable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a readable"):
        _build(tmp_path)


def test_a_file_cut_short_is_not_readable(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="is not a readable"):
        _build(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_that_was_changed_on_the_way_is_not_readable(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "data.npz"
    save(path, **{**_columns(), "inputs": np.random.default_rng(0).random((24, 40))})
    raw = bytearray(path.read_bytes())
    for place in range(400, 800):
        raw[place] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(InputError, match="is not a readable"):
        _build(path)


def test_one_array_is_not_a_file_of_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.zeros(3))
    with pytest.raises(InputError, match="is not a readable"):
        _build(tmp_path / "data.npy")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    columns = {**_columns(), "objects": np.array([{"p": 1}] * 24, dtype=object)}
    np.savez(tmp_path / "data.npz", **columns)
    with pytest.raises(InputError, match="is not a readable"):
        _build(tmp_path / "data.npz")


def test_columns_are_checked_as_those_of_any_data_set(tmp_path: Path) -> None:
    columns = _columns()
    columns["inputs"][5, 1] = np.nan
    np.savez(tmp_path / "data.npz", **columns)
    with pytest.raises(InputError, match=r"NaN or infinite values in 1 row\(s\): 5"):
        _build(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"targets": ["ward 1"]}, "unknown domain 'ward 1'; did you mean 'ward'?"),
        ({"targets": []}, "arrays.targets: Tuple should have at least 1 item"),
        ({"targets": "ward"}, "arrays.targets: Input should be a valid tuple, got 'ward'"),
        ({"sources": ["ward", "lab"]}, "ward: a target domain must not be a source domain as well"),
        ({"validation_fraction": 0}, "arrays.validation_fraction: Input should be greater than 0, got 0"),
        ({"validation_fraction": 1}, "arrays.validation_fraction: Input should be less than 1, got 1"),
        ({"target": ["ward"]}, "unknown key in arrays 'target'; did you mean 'targets'?"),
    ],
)
def test_wrong_settings_are_refused(path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        _build(path, **values)
    assert message in str(caught.value)


def test_the_path_must_be_given() -> None:
    with pytest.raises(InputError, match=r"arrays\.path: Field required"):
        ArraysSettings.parse({"targets": ["ward"]}, "arrays")


def test_every_family_member_reads_its_own_defaults_back(path: Path) -> None:
    given: dict[str, dict[str, Any]] = {
        "arrays": {"path": str(path), "targets": ["ward"]},
        "folder": {"path": str(path.parent), "targets": ["ward"]},
    }
    for name, settings in DATASETS.items():
        parsed = settings.parse(given.get(name, {}), name)
        assert settings.parse(parsed.dump(), name) == parsed
        if name.removeprefix("rotated-") not in {*COLLECTIONS, "folder", "pacs", "chest-xray"}:  # those need files
            split = parsed.build(0)
            assert not set(split.targets) & set(split.sources)
