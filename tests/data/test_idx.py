import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.data import idx
from matchdg.data.idx import WrongFileError, parse_idx, read_idx

# Two images of 1x3, by hand: magic number, three axes, six values.
CONTENT = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255])
MD5 = hashlib.md5(CONTENT).hexdigest()


def test_an_array_by_hand() -> None:
    assert parse_idx(CONTENT, Path("file")).tolist() == [[[1, 2, 3]], [[4, 5, 255]]]
    assert parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), Path("file")).tolist() == [7, 9]


@pytest.mark.parametrize("name", ["file", "file.gz"])
def test_plain_and_gzipped_files_are_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT) if name.endswith("gz") else CONTENT)
    array = read_idx(path, MD5)
    assert array.dtype == np.uint8
    assert array.tolist() == [[[1, 2, 3]], [[4, 5, 255]]]


def test_what_was_verified_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    first = read_idx(path, MD5)
    with monkeypatch.context() as patch:
        patch.setattr(idx, "verified", lambda *arguments: pytest.fail("it was read again"))
        assert read_idx(path, MD5) is first
    path.write_bytes(CONTENT[:-1] + b"\x00")
    os.utime(path, ns=(0, 0))
    with pytest.raises(WrongFileError):
        read_idx(path, MD5)


def test_what_is_remembered_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    with pytest.raises(ValueError, match="read-only"):
        read_idx(path, MD5)[0] = 0


@pytest.mark.parametrize("length", [0, 1, 10, 30, -1])
def test_a_truncated_gzip_file_is_named_with_what_to_do(tmp_path: Path, length: int) -> None:
    path = tmp_path / "train.gz"
    path.write_bytes(gzip.compress(CONTENT)[:length])
    with pytest.raises(InputError) as caught:
        read_idx(path, MD5)
    assert str(path) in str(caught.value)
    assert "delete it and run `matchdg data get`" in str(caught.value)


def test_damage_within_a_gzip_file_is_found(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(CONTENT))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "train.gz"
    path.write_bytes(packed)
    with pytest.raises(WrongFileError, match=r"train\.gz \(\d+ bytes\)"):
        read_idx(path, MD5)


def test_a_plain_file_under_a_gzip_name_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "train.gz"
    path.write_bytes(CONTENT)
    with pytest.raises(WrongFileError, match="is truncated or damaged: Not a gzipped file"):
        read_idx(path, MD5)


def test_a_wrong_checksum_says_both(tmp_path: Path) -> None:
    path = tmp_path / "train"
    path.write_bytes(CONTENT[:-1])
    found = hashlib.md5(CONTENT[:-1]).hexdigest()
    with pytest.raises(WrongFileError, match=rf"\(21 bytes\) has the checksum {found}, expected {MD5}") as caught:
        read_idx(path, MD5)
    assert caught.value.found == found


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"could not be read: Is a directory; make it readable or use --data-dir"):
        read_idx(tmp_path, MD5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no idx file of bytes: it begins with nothing"),
        (b"PK\x03\x04rest", "is no idx file of bytes: it begins with 50 4b 03 04"),
        (bytes([0, 0, 13, 1, 0, 0, 0, 0]), "begins with 00 00 0d 01"),
        (CONTENT[:10], "begins with 00 00 08 03"),
        (CONTENT[:-2], r"holds 4 values, expected 6 for the shape \(2, 1, 3\)"),
        (CONTENT + b"\x00", "holds 7 values, expected 6"),
    ],
)
def test_what_is_no_idx_file_is_told(content: bytes, message: str) -> None:
    with pytest.raises(WrongFileError, match=message):
        parse_idx(content, Path("file"))
