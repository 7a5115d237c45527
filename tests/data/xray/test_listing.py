from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from matchdg.core.errors import InputError
from matchdg.data.xray import extra
from matchdg.data.xray.collections import CHEXPERT, NIH, RSNA, XRAYS
from matchdg.data.xray.listing import list_xrays

pytest.importorskip("torchxrayvision", reason="the extra [xray] is not installed: pip install 'matchdg[xray]'")

Write = Callable[..., Path]
NIH_ROWS = [("No Finding", 1), ("Infiltration|Pneumonia", 1), ("Hernia", 2), ("Pneumonia", 3), ("Pneumothorax", 4)]
# No Finding, Pneumonia, patient: healthy, with, without, uncertain, not mentioned.
CHEXPERT_ROWS = [("1.0", "", 1), ("", "1.0", 2), ("", "0.0", 3), ("", "-1.0", 4), ("", "", 5)]
RSNA_ROWS = ["Normal", "Lung Opacity", "No Lung Opacity / Not Normal"]


def test_nih_is_with_pneumonia_or_not(nih: Write) -> None:
    found = list_xrays(NIH, nih(NIH_ROWS))
    assert found.labels.tolist() == [0, 1, 0, 1, 0]
    assert found.patients.tolist() == ["1", "1", "2", "3", "4"]
    assert [path.name for path in found.files][:2] == ["00000001_000.png", "00000001_001.png"]
    assert {path.parent.parent.name for path in found.files} == {"images_001", "images_002"}
    assert found.absent == 0


def test_nih_is_with_pneumonia_or_without_finding(nih: Write) -> None:
    found = list_xrays(NIH, nih(NIH_ROWS), negatives="no-finding")
    assert found.labels.tolist() == [0, 1, 1]
    assert found.patients.tolist() == ["1", "1", "3"]


@pytest.mark.parametrize(
    ("uncertain", "labels"),
    [("leave-out", [0, 1, 0]), ("without-pneumonia", [0, 1, 0, 0]), ("pneumonia", [0, 1, 0, 1])],
)
def test_uncertain_labels_of_chexpert_count_as_the_setting_says(
    chexpert: Write, uncertain: str, labels: list[int]
) -> None:
    found = list_xrays(CHEXPERT, chexpert(CHEXPERT_ROWS), uncertain=uncertain)
    assert found.labels.tolist() == labels
    assert found.patients.tolist() == ["00001", "00002", "00003", "00004"][: len(labels)]
    assert found.files[0].parts[-4:] == ("train", "patient00001", "study1", "view1_frontal.jpg")


def test_chexpert_is_with_pneumonia_or_without_finding(chexpert: Write) -> None:
    assert list_xrays(CHEXPERT, chexpert(CHEXPERT_ROWS), negatives="no-finding").labels.tolist() == [0, 1]


def test_labels_of_one_visit_are_not_mixed_with_those_of_another(chexpert: Write) -> None:
    found = list_xrays(CHEXPERT, chexpert([("", "", 1), ("1.0", "", 1), ("", "1.0", 1)]))
    assert found.labels.tolist() == [0, 1]
    assert [path.parent.name for path in found.files] == ["study2", "study3"]


def test_lateral_x_rays_are_left_out(chexpert: Write) -> None:
    found = list_xrays(CHEXPERT, chexpert([*CHEXPERT_ROWS, ("1.0", "", 6, "lateral")]))
    assert found.patients.tolist() == ["00001", "00002", "00003"]


def test_rsna_has_a_row_a_box_and_one_label_an_x_ray(rsna: Write) -> None:
    found = list_xrays(RSNA, rsna(RSNA_ROWS))
    assert found.labels.tolist() == [0, 1, 0]
    assert len(set(found.patients.tolist())) == 3
    assert {path.suffix for path in found.files} == {".dcm"}
    assert [path.stem for path in found.files] == found.patients.tolist()


def test_rsna_tells_normal_from_other_findings_by_its_second_table(rsna: Write) -> None:
    root = rsna(RSNA_ROWS)
    assert list_xrays(RSNA, root, negatives="no-finding").labels.tolist() == [0, 1]
    next(root.rglob("stage_2_detailed_class_info.csv")).unlink()
    with pytest.raises(InputError, match=r"class_info\.csv does not exist.*dataset\.negatives=without-pneumonia"):
        list_xrays(RSNA, root, negatives="no-finding")


def test_what_has_no_file_is_left_out_and_counted(nih: Write, chexpert: Write, rsna: Write) -> None:
    nih(NIH_ROWS), chexpert(CHEXPERT_ROWS)
    root = rsna(RSNA_ROWS)
    for name, collection in XRAYS.items():
        before = list_xrays(collection, root)
        before.files[1].unlink()
        after = list_xrays(collection, root)
        assert after.absent == 1, name
        assert after.files == (before.files[0], *before.files[2:])
        assert after.labels.tolist() == [before.labels[0], *before.labels[2:]]


def test_a_folder_without_a_table_is_read_with_the_one_that_torchxrayvision_brings(nih: Write) -> None:
    root = nih([("anything", 1), ("anything", 2)])
    next(root.rglob("Data_Entry_2017.csv")).unlink()
    found = list_xrays(NIH, root)
    # The original first two patients: cardiomegaly, and no finding.
    assert [path.name for path in found.files] == ["00000001_000.png", "00000002_000.png"]
    assert found.labels.tolist() == [0, 0]
    assert found.absent == 112_120 - 2


def test_the_order_and_the_labels_do_not_depend_on_global_random_numbers_which_stay_as_they_are(nih: Write) -> None:
    root = nih(NIH_ROWS)
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    list_xrays(NIH, root)
    assert np.random.random() == expected  # noqa: NPY002


@pytest.mark.parametrize("below", [".", "chest-xray"])
@pytest.mark.parametrize("name", ["NIH", "CXR8"])
def test_folders_may_have_any_of_these_names(nih: Write, tmp_path: Path, below: str, name: str) -> None:
    root = tmp_path / "with space é\n" / below
    nih(NIH_ROWS, root)
    (root / "NIH").rename(root / name)
    assert len(list_xrays(NIH, tmp_path / "with space é\n").labels) == 5


def test_the_folder_of_one_collection_may_be_named_itself(nih: Write) -> None:
    assert len(list_xrays(NIH, nih(NIH_ROWS) / "NIH").labels) == 5


def test_the_variable_names_a_folder_too(nih: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCHDG_DATA", str(nih(NIH_ROWS)))
    assert len(list_xrays(NIH).labels) == 5


def test_dicom_comes_before_other_files_of_the_same_x_ray(rsna: Write) -> None:
    root = rsna(RSNA_ROWS)
    for path in list(root.rglob("*.dcm")):
        (path.parent.parent / "jpg").mkdir(exist_ok=True)
        (path.parent.parent / "jpg" / f"{path.stem}.jpg").touch()
    assert {path.suffix for path in list_xrays(RSNA, root).files} == {".dcm"}


@pytest.mark.parametrize("collection", list(XRAYS.values()), ids=list(XRAYS))
def test_a_collection_that_is_nowhere_is_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: type
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MATCHDG_DATA", raising=False)
    with pytest.raises(InputError) as error:
        list_xrays(collection, tmp_path)
    assert str(error.value).startswith(f"the X-rays of {collection.name} were not found in {tmp_path}, ")
    assert collection.example in str(error.value)
    assert "--data-dir" in str(error.value)


@pytest.mark.parametrize("collection", list(XRAYS.values()), ids=list(XRAYS))
def test_a_table_without_a_column_is_named(three: Write, collection: type) -> None:
    root = three(1)
    path = next(root.rglob(collection.tables[0]))
    path.write_text(path.read_text().replace(collection.columns[1], "other", 1))
    with pytest.raises(InputError, match=rf"{collection.tables[0]} has no column '{collection.columns[1]}'"):
        list_xrays(collection, root)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b'a,b\n"'])
def test_a_table_that_is_something_else_is_named(nih: Write, content: bytes) -> None:
    root = nih(NIH_ROWS)
    next(root.rglob("*.csv")).write_bytes(content)
    with pytest.raises(InputError, match=r"Data_Entry_2017\.csv (could not be read as a CSV file|has no column)"):
        list_xrays(NIH, root)


def test_a_table_with_text_for_numbers_is_named(nih: Write) -> None:
    root = nih(NIH_ROWS)
    path = next(root.rglob("*.csv"))
    path.write_text(path.read_text().replace(",50,", ",fifty,"))
    with pytest.raises(InputError, match="could not be read as the labels of NIH"):
        list_xrays(NIH, root)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch, nih: Write) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".", maxsplit=1)[0])

    root = nih(NIH_ROWS)
    monkeypatch.setattr(extra, "import_module", missing)
    with pytest.raises(InputError, match=r"need torchxrayvision.*pip install 'matchdg\[xray\]'"):
        list_xrays(NIH, root)
