import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchdg.core.errors import InputError, OutputError
from matchdg.core.files import (
    DamagedFileError,
    digest,
    read_checked,
    write_bytes,
    write_checked,
    write_json,
    write_text,
)


def _full_disk(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def _interrupted(descriptor: int) -> None:
    raise KeyboardInterrupt


def test_bytes_are_written_and_missing_folders_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_bytes(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert path.stat().st_mode & 0o777 == 0o644


def test_text_is_utf8(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "λ = 0.1")
    assert (tmp_path / "file").read_bytes() == "λ = 0.1".encode()


def test_json_is_indented_and_ends_with_a_line_break(tmp_path: Path) -> None:
    write_json(tmp_path / "file", {"a": [1]})
    assert (tmp_path / "file").read_text() == '{\n  "a": [\n    1\n  ]\n}\n'


def test_json_with_nan_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": 1}


def test_writing_replaces_what_was_there_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"a long first content")
    write_bytes(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(OutputError, match="No space left on device") as caught:
        write_bytes(path, b"new")
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, InputError)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_makes_no_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(OutputError):
        write_checked(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    monkeypatch.setattr(os, "fsync", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="could not write"):
        write_bytes(tmp_path / "file" / "inner", b"new")


def test_a_folder_in_the_place_of_the_file_is_an_output_error_and_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(OutputError, match="could not write"):
        write_bytes(tmp_path / "place", b"new")
    assert list(tmp_path.iterdir()) == [tmp_path / "place"]


@pytest.mark.parametrize("content", [b"", b"some content"])
def test_a_checked_file_reads_back(tmp_path: Path, content: bytes) -> None:
    write_checked(tmp_path / "file", content)
    assert read_checked(tmp_path / "file") == content


@pytest.mark.parametrize("place", [0, 8, 39, 40, -1], ids=["magic", "digest", "digest end", "content", "last"])
def test_one_changed_bit_is_noticed(tmp_path: Path, place: int) -> None:
    path = tmp_path / "file"
    write_checked(path, b"some content")
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DamagedFileError, match="is damaged"):
        read_checked(path)


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
def test_a_file_cut_short_is_noticed(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "file"
    write_checked(path, b"some content")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DamagedFileError):
        read_checked(path)


def test_a_missing_checked_file_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_checked(tmp_path / "absent")


def test_a_digest_never_changes() -> None:
    # Folders of finished runs are named by it: sha256 of '{"a":1,"b":[true,null]}'.
    assert digest({"b": [True, None], "a": 1}) == "1cc69c7fa23616ca"


def test_a_digest_of_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"a": float("nan")})


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, Any]) -> None:
    assert digest(dict(reversed(value.items()))) == digest(value)


@settings(deadline=None, max_examples=50)
@given(PLAIN, PLAIN)
def test_a_digest_tells_different_values_apart(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(one) == digest(other)) == same
