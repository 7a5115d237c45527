import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.data.catalogue import COLLECTIONS, FASHION_MNIST, FILES, MNIST, collection_of
from matchdg.data.idx import parse_idx
from matchdg.data.originals import read_collection
from matchdg.data.sources import cache_folder, explain, places, search
from matchdg.data.status import checked, located

LAST = FILES[-1]


def test_both_collections_have_four_files_with_checksums_of_their_own() -> None:
    for collection in (MNIST, FASHION_MNIST):
        assert set(collection.checksums) == set(FILES)
        assert len(collection.class_names) == 10
    assert not set(MNIST.checksums.values()) & set(FASHION_MNIST.checksums.values())


def test_names_are_looked_up_kindly() -> None:
    assert collection_of("fashion-mnist") is collection_of("rotated-fashion-mnist") is FASHION_MNIST
    with pytest.raises(InputError, match="unknown data 'fasion-mnist'; did you mean 'fashion-mnist'"):
        collection_of("fasion-mnist")


def test_a_whole_collection_is_training_then_test(stand: Any, tmp_path: Path) -> None:
    originals = read_collection("mnist", stand.write(tmp_path / "mine"))
    assert originals.official_test == 20
    pieces = [parse_idx(stand.contents[file], Path(file)) for file in FILES]
    assert np.array_equal(originals.images.numpy(), np.concatenate([pieces[0], pieces[2]]))
    assert np.array_equal(originals.labels.numpy(), np.concatenate([pieces[1], pieces[3]]))


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("below", [".", "raw", "mnist", "MNIST", "MNIST/raw", "mnist/raw", "rotated-mnist"])
def test_a_user_s_folder_may_be_any_of_these(stand: Any, tmp_path: Path, below: str, suffix: str) -> None:
    stand.write(tmp_path / "mine" / below, suffix)
    found, tried = search(stand.collection, tmp_path / "mine")
    assert found is not None
    assert found.files[LAST] == tmp_path / "mine" / below / f"{LAST}{suffix}"
    assert found.place.why == "--data-dir"
    assert all("has no train-images-idx3-ubyte" in line for line in tried)


def test_names_spelt_with_a_dot_are_known(stand: Any, tmp_path: Path) -> None:
    for path in stand.write(tmp_path, ".gz").glob("*.gz"):
        path.rename(path.with_name(path.name.replace("-idx", ".idx")))
    found, _ = search(stand.collection, tmp_path)
    assert found is not None
    assert found.files[LAST].name == "t10k-labels.idx1-ubyte.gz"


def test_plain_files_come_before_gzipped_ones(stand: Any, tmp_path: Path) -> None:
    stand.write(tmp_path, ".gz")
    stand.write(tmp_path)
    found, _ = search(stand.collection, tmp_path)
    assert found is not None
    assert {path.suffix for path in found.files.values()} == {""}


def test_the_places_are_tried_in_the_order_documented(
    stand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATCHDG_DATA", str(tmp_path / "variable"))
    folders = {
        "--data-dir": tmp_path / "option",
        "MATCHDG_DATA": tmp_path / "variable",
        "cache": tmp_path / "cache" / "matchdg" / "mnist",
    }
    for why, folder in reversed(folders.items()):
        stand.write(folder)
        found, _ = search(stand.collection, tmp_path / "option")
        assert found is not None
        assert (found.place.why, found.place.path) == (why, folder)


def test_fashion_mnist_may_come_from_debian_s_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MATCHDG_DATA", raising=False)
    last = places(FASHION_MNIST)[-1]
    assert last.path == Path("/usr/share/datasets/fashion-mnist")
    assert last.why == "Debian's package dataset-fashion-mnist"
    assert [place.why for place in places(MNIST)] == ["cache"]


def test_the_cache_follows_the_system_s_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder(MNIST) == Path("/somewhere/matchdg/mnist")
    monkeypatch.setenv("HOME", "/home/me")
    for unset in ("", None):
        monkeypatch.delenv("XDG_CACHE_HOME") if unset is None else monkeypatch.setenv("XDG_CACHE_HOME", unset)
        assert cache_folder(MNIST) == Path("/home/me/.cache/matchdg/mnist")


def test_a_home_s_tilde_is_understood(stand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    stand.write(tmp_path / "mine")
    found, _ = search(stand.collection, Path("~/mine"))
    assert found is not None


def test_an_incomplete_folder_is_passed_over_and_told(stand: Any, tmp_path: Path) -> None:
    (stand.write(tmp_path / "mine") / LAST).unlink()
    stand.write(cache_folder(stand.collection))
    found, tried = search(stand.collection, tmp_path / "mine")
    assert found is not None
    assert found.place.why == "cache"
    assert tried[0] == f"{tmp_path / 'mine'} (--data-dir): has no {LAST}"


@pytest.mark.parametrize("where", ["mine", "mine/MNIST/raw", "cache/matchdg/mnist"])
def test_a_wrong_file_is_an_error_wherever_it_is(stand: Any, tmp_path: Path, where: str) -> None:
    wrong = stand.write(tmp_path / where) / LAST
    wrong.write_bytes(stand.contents[LAST][:-1] + b"\x09")
    with pytest.raises(
        InputError, match=rf"{wrong} \(28 bytes\) has the checksum \w+, expected \w+ \(MD5\); delete it"
    ):
        read_collection("mnist", tmp_path / "mine")


def test_the_files_of_the_other_collection_have_the_same_names_and_are_told_apart(stand: Any, tmp_path: Path) -> None:
    """One folder of the environment serves both data sets."""
    found, tried = search(FASHION_MNIST, stand.write(tmp_path / "mine"))
    assert tried[0] == f"{tmp_path / 'mine'} (--data-dir): holds MNIST"
    assert found is None or found.place.path != tmp_path / "mine"


def test_a_folder_that_is_not_there_or_closed_is_told(stand: Any, tmp_path: Path, monkeypatch: Any) -> None:
    _, tried = search(stand.collection, tmp_path / "none")
    assert tried[0] == f"{tmp_path / 'none'} (--data-dir): no such folder, or not readable"

    def closed(path: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_dir", closed)
    _, tried = search(stand.collection, tmp_path)
    assert tried[0] == f"{tmp_path} (--data-dir): no such folder, or not readable"


def test_what_can_be_done_is_said_for_each_collection() -> None:
    mnist, fashion = (str(explain(collection, ("here: gone",))) for collection in COLLECTIONS.values())
    assert "MNIST was not found and could not be fetched. Tried:\n  here: gone\n" in mnist
    assert "`matchdg data get mnist`" in mnist
    assert "install npm" in mnist
    assert "apt-get" not in mnist
    assert "apt-get install dataset-fashion-mnist" in fashion
    assert "install npm" not in fashion


# --- what `matchdg data list` and `check` say ------------------------------------------------------------------


def test_every_collection_is_listed_with_the_first_complete_place(stand: Any, tmp_path: Path) -> None:
    mnist, fashion, pacs = located(tmp_path / "mine")
    assert (pacs["name"], pacs["folder"]) == ("pacs", None)
    assert (mnist["name"], mnist["folder"], mnist["where"]) == ("mnist", None, None)
    assert fashion["name"] == "fashion-mnist"
    stand.write(tmp_path / "mine")
    mnist, *_ = located(tmp_path / "mine")
    assert (mnist["folder"], mnist["where"]) == (str(tmp_path / "mine"), "--data-dir")


def test_every_place_with_files_is_checked(stand: Any, tmp_path: Path) -> None:
    assert checked(stand.collection) == []
    stand.write(cache_folder(stand.collection))
    mine = stand.write(tmp_path / "mine", ".gz")
    (mine / f"{FILES[0]}.gz").write_bytes(gzip.compress(b"something else"))
    (mine / f"{FILES[1]}.gz").unlink()
    wrong, good = checked(stand.collection, mine)
    assert (good["where"], good["problems"]) == ("cache", [])
    assert wrong["folder"] == str(mine)
    assert len(wrong["problems"]) == 2
    assert f"{mine / FILES[0]}.gz" in wrong["problems"][0]
    assert wrong["problems"][1] == f"{mine} (--data-dir): has no {FILES[1]}; run `matchdg data get mnist`"
