from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from matchdg.cli import main
from matchdg.core.errors import InputError
from matchdg.data.chest_xray import ChestXraySettings
from matchdg.data.dataset import DomainDataset
from matchdg.data.views import CHEST_XRAY_VIEWS

pytest.importorskip("torchxrayvision", reason="the extra [xray] is not installed: pip install 'matchdg[xray]'")

Write = Callable[..., Path]
SMALL = {"size": 28, "train_per_domain": 8, "validation_per_domain": 4, "test_per_domain": 6}
DOMAINS = ("NIH", "CheXpert", "RSNA")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCHDG_CACHE", str(tmp_path / "cache"))
    # Set first, so that what a command sets does not outlive the test.
    monkeypatch.setenv("MATCHDG_DATA", "")
    monkeypatch.delenv("MATCHDG_DATA")


def settings(root: Path, **changes: object) -> ChestXraySettings:
    return ChestXraySettings.parse({**SMALL, "data_dir": root, **changes}, "dataset")


def tops(data: DomainDataset) -> list[int]:
    """Of each image the first row that is not black."""
    images = data.inputs[torch.arange(len(data))]
    return [int((image.amax((0, 2)) > 0.2).nonzero()[0]) for image in images]


@pytest.mark.parametrize("target", DOMAINS)
def test_any_of_the_three_may_be_the_target(three: Write, target: str) -> None:
    split = settings(three(), targets=[target]).build(0)
    sources = tuple(name for name in DOMAINS if name != target)
    assert split.sources == split.validation.domain_names == sources
    assert split.test.domain_names == split.targets == (target,)
    assert split.train.class_names == ("no pneumonia", "pneumonia")
    assert split.train.counts.tolist() == [[4, 4]] * 2
    assert split.validation.counts.tolist() == [[2, 2]] * 2
    assert split.test.counts.tolist() == [[3, 3]]
    assert split.train.input_shape == (3, 28, 28)
    assert split.train.objects is None
    assert split.notices == ()
    assert split.views == CHEST_XRAY_VIEWS


def test_only_class_0_of_the_sources_is_further_down_and_by_the_printed_pixels_at_224(three: Write) -> None:
    # At 28 pixels, 45, 35 and 15 at 224 are 5.6, 4.4 and 1.9. The bodies begin after a quarter, in every domain.
    shifted = {"NIH": 6, "CheXpert": 4, "RSNA": 2}
    for target in DOMAINS:
        split = settings(three(), targets=[target]).build(0)
        for data in (split.train, split.validation):
            names = [data.domain_names[domain] for domain in data.domains.tolist()]
            down = [shifted[name] * (1 - label) for name, label in zip(names, data.labels.tolist(), strict=True)]
            assert [top - moved for top, moved in zip(tops(data), down, strict=True)] == [7] * len(data)
        assert tops(split.test) == [7] * len(split.test)


def test_at_224_the_shift_is_exactly_the_printed_number_of_pixels(three: Write) -> None:
    split = settings(three(2), size=224, train_per_domain=2, validation_per_domain=2, test_per_domain=2).build(0)
    plain = settings(
        three(2), size=224, train_per_domain=2, validation_per_domain=2, test_per_domain=2, shifts=[0, 0, 0]
    ).build(0)
    for domain, shift in enumerate((45, 35)):
        rows = ((split.train.domains == domain) & (split.train.labels == 0)).nonzero().flatten()
        shown, original = split.train.inputs[rows], plain.train.inputs[rows]
        assert torch.equal(shown[:, :, shift:], original[:, :, :-shift])
        assert not shown[:, :, :shift].any()
    ones = (split.train.labels == 1).nonzero().flatten()
    assert torch.equal(split.train.inputs[ones], plain.train.inputs[ones])


def test_channels_are_the_same_grey_three_times_or_one(three: Write) -> None:
    root = three()
    images = settings(root).build(0).train.inputs[torch.arange(16)]
    assert torch.equal(images[:, 0], images[:, 1])
    assert torch.equal(images[:, 0], images[:, 2])
    grey = settings(root, channels=1).build(0).train.inputs[torch.arange(16)]
    assert torch.allclose(grey[:, 0], images[:, 0], atol=1 / 255)


def test_an_x_ray_is_in_one_part_and_its_label_is_that_of_the_tables(three: Write) -> None:
    split = settings(three(), shifts=[0, 0, 0]).build(0)
    for data in (split.train, split.validation, split.test):
        images = data.inputs[torch.arange(len(data))]
        # Pneumonia is bright on the left.
        bright = images[:, 0, 14, 3] > 0.9
        assert torch.equal(bright, data.labels == 1)


def test_equal_seeds_give_equal_data_and_others_others(three: Write) -> None:
    root = three(40)
    prints = [settings(root).build(seed).train.fingerprint for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]


def test_too_few_are_counted_and_used(three: Write) -> None:
    split = settings(three(5), train_per_domain=800, validation_per_domain=200, test_per_domain=400).build(0)
    assert split.train.counts.tolist() == [[4, 4]] * 2
    assert split.validation.counts.tolist() == [[1, 1]] * 2
    assert split.test.counts.tolist() == [[5, 5]]
    assert [notice.split(" in ")[0] for notice in split.notices] == list(DOMAINS)
    assert all("X-rays of 5 with no pneumonia, 5 with pneumonia" in notice for notice in split.notices)
    assert "where 500 of each are wanted; used are 4 + 1 of each" in split.notices[0]
    assert "where 200 of each are wanted; used are 5 of each" in split.notices[2]


def test_too_few_are_an_error_when_strict(three: Write) -> None:
    root = three(5)
    with pytest.raises(InputError, match=r"NIH in .* has X-rays of 5 with no pneumonia, 5 with pneumonia.*500 of each"):
        settings(root, train_per_domain=800, validation_per_domain=200, strict=True).build(0)


def test_the_command_line_says_how_many_were_found_and_trains_or_with_strict_does_not(
    three: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["-s", "dataset.size=16", "-s", "training.epochs=1", "--network", "small-cnn", "-m", "erm"]
    command = ["matchdg", "train", "-d", "chest-xray", "--data-dir", str(three(6)), *small]
    monkeypatch.setattr("sys.argv", [*command, "--strict"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "error: NIH in " in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    said = capsys.readouterr()
    assert said.err.count("X-rays of 6 with no pneumonia, 6 with pneumonia") == 3
    assert "RSNA" in said.out


def test_deep_inverted_and_signed_dicom_look_like_the_same_x_rays(three: Write, rsna: Write) -> None:
    root = three()
    expected = settings(root).build(0).test
    classes = ["Normal", "Lung Opacity"] * 10
    # The bodies' brightest row is white when deep files are spread over all greys.
    rsna(classes, transform=lambda pixels: pixels.astype(np.int16) * 8 - 1000, bits=12)
    signed = settings(root).build(0).test
    rsna(
        classes,
        transform=lambda pixels: 4095 - pixels.astype(np.uint16) * 16,
        bits=12,
        PhotometricInterpretation="MONOCHROME1",
    )
    inverted = settings(root).build(0).test
    for data in (signed, inverted):
        assert torch.equal(data.labels, expected.labels)
        assert tops(data) == tops(expected)
        images, before = (one.inputs[torch.arange(len(one))].flatten(1) for one in (data, expected))
        stretched = before / before.amax(1, keepdim=True)
        assert (images - stretched).abs().max() < 0.03


def test_a_file_that_is_none_is_named_or_left_out(three: Write) -> None:
    root = three(3)
    few = {"train_per_domain": 4, "validation_per_domain": 2, "test_per_domain": 6}
    broken = next(root.rglob("*.dcm"))
    broken.write_bytes(b"no DICOM")
    with pytest.raises(InputError, match=rf"{broken.name} .*cannot be read as a DICOM image"):
        settings(root, **few).build(0)
    split = settings(root, **few, on_corrupt="skip").build(0)
    assert len(split.test) == 5
    assert any(broken.name in notice for notice in split.notices)


def test_colours_and_transparency_of_some_nih_files_do_not_matter(three: Write) -> None:
    root = three()
    expected = settings(root).build(0).train
    for path in root.rglob("*.png"):
        Image.open(path).convert("RGBA").save(path)
    found = settings(root).build(0).train
    positions = torch.arange(len(found))
    assert torch.allclose(found.inputs[positions], expected.inputs[positions], atol=1 / 255)


def test_the_run_s_name_has_the_tables_and_the_names_of_the_files_but_not_the_folder(
    three: Write, tmp_path: Path
) -> None:
    root = three()
    before = settings(root).dump()
    assert before["fingerprint"]
    assert "data_dir" not in before
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in [path for path in root.iterdir() if path.is_dir() and path.name not in ("elsewhere", "cache")]:
        path.rename(moved / path.name)
    assert settings(moved).dump() == before
    next(moved.rglob("*.dcm")).unlink()
    with pytest.raises(InputError, match="fingerprint"):
        settings(moved, fingerprint=before["fingerprint"]).build(0)
    assert settings(moved).dump() != before


def test_settings_without_the_files_are_settings_and_building_says_what_is_missing(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert found.fingerprint is None
    with pytest.raises(InputError, match="the X-rays of NIH were not found"):
        found.build(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ["nih"]}, "'NIH', 'CheXpert' or 'RSNA', got 'nih'"),
        ({"targets": []}, "at least 1 item"),
        ({"targets": ["NIH", "RSNA"]}, "at most 1 item"),
        ({"train_per_domain": 801}, "multiple of 2"),
        ({"shifts": [45, 35]}, "dataset.shifts"),
        ({"shifts": [45, 35, 224]}, "expected three numbers of pixels from 0 to 223"),
        ({"shifts": [-1, 0, 0]}, "expected three numbers of pixels from 0 to 223"),
        ({"uncertain": "ignore"}, "'leave-out', 'without-pneumonia' or 'pneumonia'"),
        ({"negatives": "all"}, "'without-pneumonia' or 'no-finding'"),
        ({"channels": 2}, "Input should be 1 or 3"),
        ({"views": "chest"}, "did you mean 'chest-xray'"),
        ({"strickt": True}, "did you mean 'strict'"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings(tmp_path, **changes)
