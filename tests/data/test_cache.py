"""Images are decoded once: what is cached is known by content, and is whole or not there."""

import json
import multiprocessing
import os
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from matchdg.core.errors import InputError, OutputError
from matchdg.data import cache as module
from matchdg.data import contents
from matchdg.data.cache import CachedImages, cached_images
from matchdg.data.image_table import ImageTable, load_images, read_images
from matchdg.data.images import read_image
from matchdg.data.mapped import MappedInputs

SIZE = 8

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def files(tmp_path: Path, paint: Callable[..., Path]) -> list[Path]:
    return [paint(tmp_path / "images" / f"{index}.png", index) for index in range(5)]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were decoded."""
    seen: list[Path] = []
    original = module.read_pixels

    def watch(path: Path, *arguments: Any) -> torch.Tensor:
        seen.append(path)
        return original(path, *arguments)

    monkeypatch.setattr(module, "read_pixels", watch)
    return seen


def _pixels(cached: CachedImages, channels: int = 3) -> np.ndarray:
    whole = np.fromfile(cached.path, np.uint8).reshape(cached.count, SIZE, SIZE, channels)
    return whole[cached.rows].transpose(0, 3, 1, 2)


def _expected(files: list[Path], channels: int = 3) -> np.ndarray:
    return np.stack([read_image(path, SIZE, channels) for path in files])


@pytest.mark.parametrize("channels", [1, 3])
def test_the_cache_holds_what_the_decoder_gives_in_the_order_of_the_files(files: list[Path], channels: int) -> None:
    files = [files[3], files[0], files[4]]
    assert np.array_equal(_pixels(cached_images(files, SIZE, channels), channels), _expected(files, channels))


def test_a_second_start_neither_reads_nor_decodes(
    files: list[Path], decoded: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached_images(files, SIZE)
    assert sorted(decoded) == sorted(files)
    decoded.clear()

    def fail(name: str) -> str:
        raise AssertionError(f"{name} was read")

    monkeypatch.setattr(contents, "_digest", fail)
    assert cached_images(files, SIZE) == first
    assert decoded == []


def test_a_changed_file_is_noticed_and_it_alone_decoded(
    files: list[Path], decoded: list[Path], paint: Callable[..., Path]
) -> None:
    first = cached_images(files, SIZE)
    decoded.clear()
    paint(files[2], seed=77, age=50)
    second = cached_images(files, SIZE)
    assert decoded == [files[2]]
    assert second.path != first.path
    assert np.array_equal(_pixels(second), _expected(files))


def test_a_change_that_leaves_size_and_time_alone_is_noticed_while_the_file_is_new(
    files: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / "images" / "new.bmp"
    content = bytearray(_bmp(0))
    path.write_bytes(content)
    stat = path.stat()
    before = _pixels(cached_images([path], SIZE))
    path.write_bytes(_bmp(255))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = _pixels(cached_images([path], SIZE))
    assert (before.max(), after.min()) == (0, 255)


def _bmp(value: int) -> bytes:
    from io import BytesIO

    from PIL import Image

    stream = BytesIO()
    Image.new("L", (4, 4), value).save(stream, "bmp")
    return stream.getvalue()


@pytest.mark.parametrize("change", ["touched", "moved"])
def test_files_touched_or_moved_are_not_decoded_again(
    files: list[Path], decoded: list[Path], tmp_path: Path, change: str
) -> None:
    first = cached_images(files, SIZE)
    decoded.clear()
    if change == "touched":
        os.utime(files[1], (time.time() - 10,) * 2)
    else:
        shutil.move(tmp_path / "images", tmp_path / "elsewhere")
        files = [tmp_path / "elsewhere" / path.name for path in files]
    second = cached_images(files, SIZE)
    assert decoded == []
    assert second == first


def test_some_of_the_files_or_another_order_are_copied_and_not_decoded(files: list[Path], decoded: list[Path]) -> None:
    cached_images(files, SIZE)
    decoded.clear()
    some = [files[4], files[1]]
    assert np.array_equal(_pixels(cached_images(some, SIZE)), _expected(some))
    assert decoded == []


def test_equal_images_are_kept_once(files: list[Path], tmp_path: Path) -> None:
    shutil.copy(files[0], tmp_path / "images" / "copy.png")
    cached = cached_images([*files, tmp_path / "images" / "copy.png"], SIZE)
    assert cached.count == 5
    assert cached.rows == [0, 1, 2, 3, 4, 0]


def test_rows_of_another_version_are_not_copied(
    files: list[Path], decoded: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "VERSION", 0)
        cached_images(files, SIZE)
    decoded.clear()
    cached_images(files[1:], SIZE)
    assert sorted(decoded) == sorted(files[1:])


def test_sizes_and_channels_have_arrays_of_their_own(files: list[Path]) -> None:
    paths = {cached_images(files, size, channels).path for size in (8, 16) for channels in (1, 3)}
    assert len(paths) == 4


def test_a_damaged_or_lost_index_means_decoding_again(files: list[Path], decoded: list[Path]) -> None:
    cached = cached_images(files, SIZE)
    for damage in ("{", "[]", '{"keys": 3, "corrupt": {}}'):
        (cached.path.parent / "index.json").write_text(damage)
        decoded.clear()
        assert np.array_equal(_pixels(cached_images(files, SIZE)), _expected(files))
        assert sorted(decoded) == sorted(files)
    cached.path.write_bytes(b"short")
    assert np.array_equal(_pixels(cached_images(files, SIZE)), _expected(files))


def test_a_damaged_memory_of_digests_means_reading_again(files: list[Path], cache: Path) -> None:
    first = cached_images(files, SIZE)
    for damage in ("{", "[]"):
        for path in (cache / "contents").iterdir():
            path.write_text(damage)
        assert cached_images(files, SIZE) == first


def test_an_interrupted_build_leaves_nothing(files: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = module.read_pixels

    def interrupt(path: Path, *arguments: Any) -> torch.Tensor:
        if path == files[3]:
            raise KeyboardInterrupt
        return original(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, "read_pixels", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cached_images(files, SIZE)
    left = [path.name for path in (cache / "images").rglob("*") if path.is_file()]
    assert left == [".lock"]
    assert np.array_equal(_pixels(cached_images(files, SIZE)), _expected(files))


def test_what_a_killed_build_left_is_removed_later_and_never_used(files: list[Path]) -> None:
    cached = cached_images(files, SIZE)
    old, young = (cached.path.parent / f".pixels.bin.{name}" for name in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"part")
    os.utime(old, (1, 1))
    (cached.path.parent / "index.json").unlink()
    assert np.array_equal(_pixels(cached_images(files, SIZE)), _expected(files))
    assert (old.exists(), young.exists()) == (False, True)


def _build(files: list[Path], results: Any) -> None:
    results.put(cached_images(files, SIZE).rows)


def test_two_processes_may_build_at_once(files: list[Path]) -> None:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_build, args=(files, results)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert found == [[0, 1, 2, 3, 4]] * 2
    assert np.array_equal(_pixels(cached_images(files, SIZE)), _expected(files))


def test_a_cache_that_cannot_be_written_says_what_to_do(files: list[Path], cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(OutputError, match="name another folder for caches in MATCHDG_CACHE"):
        cached_images(files, SIZE)


def test_a_full_disk_says_what_to_do(files: list[Path], monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def full(*arguments: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "pwrite", full)
        with pytest.raises(OutputError, match=r"No space left on device\); make room there"):
            cached_images(files, SIZE)
    assert not list((cache / "images").rglob("pixels*"))


def _table(files: list[Path]) -> ImageTable:
    count = len(files)
    return ImageTable(
        tuple(files), torch.arange(count) % 2, torch.arange(count) // 3, ("cat", "dog"), ("here", "there"),
        torch.arange(count) + 100, torch.arange(count) * 10,
    )  # fmt: skip


def test_a_table_becomes_a_data_set(files: list[Path]) -> None:
    data = load_images(_table(files), SIZE)
    assert data.input_shape == (3, SIZE, SIZE)
    assert torch.equal(data.inputs[torch.tensor([4, 1])], torch.from_numpy(_expected([files[4], files[1]])) / 255)
    assert (data.class_names, data.domain_names) == (("cat", "dog"), ("here", "there"))
    assert data.objects is not None
    assert data.objects.tolist() == [100, 101, 102, 103, 104]


def test_corrupt_files_are_all_named(files: list[Path]) -> None:
    files[1].write_bytes(b"no image")
    files[3].unlink()
    for _ in range(2):  # the second time it is known from the cache
        with pytest.raises(InputError) as caught:
            load_images(_table(files), SIZE)
        text = str(caught.value)
        assert text.startswith("2 of 5 images cannot be read: ")
        assert f"{files[1]} is not a readable image: it is of no format that Pillow knows" in text
        assert f"{files[3]} cannot be read: No such file or directory" in text
        assert "--on-corrupt skip" in text


def test_corrupt_files_can_be_left_out(files: list[Path]) -> None:
    files[1].write_bytes(b"no image")
    (files[3].unlink(), files[3].mkdir())
    loaded = read_images(_table(files), SIZE, on_corrupt="skip")
    assert loaded.table.files == (files[0], files[2], files[4])
    assert loaded.table.extra is not None
    assert loaded.table.extra.tolist() == [0, 20, 40]
    assert loaded.dataset.labels.tolist() == [0, 0, 0]
    assert torch.equal(loaded.inputs[torch.tensor([1])] * 255, torch.from_numpy(_expected([files[2]])).float())
    (notice,) = loaded.notices
    assert notice.startswith("2 files were left out, as they cannot be read: ")
    assert f"{files[3]} cannot be read: Is a directory" in notice


def test_many_corrupt_files_are_counted_and_none_left_is_an_error(files: list[Path]) -> None:
    for path in files:
        path.write_bytes(path.name.encode())
    more = [path.with_suffix(".txt") for path in files]
    for path in more:
        path.write_bytes(path.name.encode())
    with pytest.raises(InputError, match=r"10 of 10 images cannot be read: .*; and 5 more"):
        load_images(_table(files + more), SIZE)
    with pytest.raises(InputError, match="none of 10 images can be read"):
        load_images(_table(files + more), SIZE, on_corrupt="skip")


@pytest.mark.skipif(os.geteuid() == 0, reason="needs a user whom permissions concern")
def test_files_that_may_not_be_read_are_named(files: list[Path]) -> None:
    files[0].chmod(0)
    with pytest.raises(InputError, match=r"0\.png cannot be read: Permission denied"):
        load_images(_table(files), SIZE)


def test_files_that_may_not_be_read_are_named_whoever_asks(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    original = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "0.png":
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match=r"0\.png cannot be read: Permission denied"):
        load_images(_table(files), SIZE)


def test_a_link_that_leads_nowhere_is_named(files: list[Path], tmp_path: Path) -> None:
    files[0].unlink()
    files[0].symlink_to(tmp_path / "gone.png")
    with pytest.raises(InputError, match=r"0\.png cannot be read: No such file"):
        load_images(_table(files), SIZE)


def test_names_with_spaces_other_letters_and_newlines(tmp_path: Path, paint: Callable[..., Path]) -> None:
    names = ["two words.png", "größe 猫.png", "line\nbreak.png", os.fsdecode(b"not utf-8 \xff.png")]
    files = [paint(tmp_path / "odd\nfolder é" / name, seed) for seed, name in enumerate(names)]
    for _ in range(2):
        assert np.array_equal(_pixels(cached_images(files, SIZE)), _expected(files))


def test_decoders_of_other_files_are_part_of_what_is_cached(tmp_path: Path) -> None:
    path = tmp_path / "a.raw"
    path.write_bytes(b"x")
    for decode, value in ((_black, 0), (_white, 255)):
        assert (_pixels(cached_images([path], SIZE, decoders={".raw": decode})) == value).all()


def _black(path: Path) -> np.ndarray:
    return np.zeros((2, 2), np.uint8)


def _white(path: Path) -> np.ndarray:
    return np.full((2, 2), 255, np.uint8)


def test_a_table_needs_files_and_columns_of_their_length(files: list[Path]) -> None:
    with pytest.raises(InputError, match="there is no image"):
        ImageTable((), torch.zeros(0), torch.zeros(0), ("a",), ("b",))
    with pytest.raises(InputError, match="labels has 2 values, expected 5: one a file"):
        ImageTable(tuple(files), torch.zeros(2), torch.zeros(5), ("a",), ("b",))


@pytest.fixture
def mapped(files: list[Path]) -> MappedInputs:
    cached = cached_images(files, SIZE)
    return MappedInputs(cached.path, cached.count, (3, SIZE, SIZE))


def test_mapped_images_become_numbers_from_0_to_1_in_the_order_asked_for(
    mapped: MappedInputs, files: list[Path]
) -> None:
    order = torch.tensor([3, 0, 3])
    found = mapped[order]
    assert found.dtype == torch.float32
    assert torch.equal(found, torch.from_numpy(_expected(files))[order] / 255)
    assert (len(mapped), mapped.shape, mapped.device.type) == (5, (5, 3, SIZE, SIZE), "cpu")


def test_a_subset_copies_no_pixels(mapped: MappedInputs) -> None:
    some = mapped.subset(torch.tensor([4, 2]))
    assert some._pixels is None
    assert torch.equal(some[torch.tensor([1, 0])], mapped[torch.tensor([2, 4])])
    assert torch.equal(some.subset(torch.tensor([1]))[torch.tensor([0])], mapped[torch.tensor([2])])


def test_gathering_leaves_the_cache_alone(mapped: MappedInputs) -> None:
    before = mapped.path.read_bytes()
    mapped[torch.arange(5)].zero_()
    assert mapped.path.read_bytes() == before


def test_memory_is_let_go_of_and_comes_back(mapped: MappedInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mapped[torch.arange(5)]
    monkeypatch.setattr("matchdg.data.mapped._RELEASE_BYTES", 1)
    for _ in range(3):
        assert torch.equal(mapped[torch.arange(5)], expected)


def test_another_process_opens_the_file_itself(mapped: MappedInputs) -> None:
    expected = mapped[torch.arange(5)]
    packed = pickle.dumps(mapped.subset(torch.tensor([2, 1])))
    assert len(packed) < 2000
    assert torch.equal(pickle.loads(packed)[torch.tensor([0])], expected[[2]])


def test_moving_takes_the_bytes_of_these_images_along(mapped: MappedInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mapped.to("cpu") is mapped
    moved = mapped.subset(torch.tensor([3, 1])).to("meta")
    assert (moved.device.type, moved.shape) == ("meta", (2, 3, SIZE, SIZE))


def test_a_cache_removed_meanwhile_is_told(mapped: MappedInputs) -> None:
    mapped.path.unlink()
    with pytest.raises(InputError, match="of the cache is gone or cut short"):
        mapped[torch.tensor([0])]


def test_rows_beyond_the_file_are_refused(mapped: MappedInputs) -> None:
    with pytest.raises(InputError, match="rows go from 0 to 5, expected 0 to 4"):
        MappedInputs(mapped.path, 5, (3, SIZE, SIZE), torch.tensor([0, 5]))


def test_the_index_is_plain_json(files: list[Path]) -> None:
    index = json.loads((cached_images(files, SIZE).path.parent / "index.json").read_text())
    assert (len(index["keys"]), index["corrupt"]) == (5, {})
