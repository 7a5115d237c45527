import errno

import pytest

from matchdg.core.errors import OutputError
from matchdg.training.records import Records, read_records


def test_records_are_lines_that_can_be_read_back(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    records.append({"epoch": 0, "terms": {"match": 0.5}})
    records.append({"epoch": 1, "terms": {"match": 0.25}})
    assert read_records(tmp_path / "records.jsonl") == records.lines


def test_numbers_without_a_word_in_json_become_null(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    records.append({"epoch": 0, "loss": float("nan"), "terms": [float("inf"), 1.0]})
    assert read_records(records.path) == [{"epoch": 0, "loss": None, "terms": [None, 1.0]}]


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"epoch": 0}\n{"epoch": 1}\n{"epo')
    assert [record["epoch"] for record in read_records(path)] == [0, 1]


def test_rewind_drops_what_came_after_the_checkpoint(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    for epoch in range(5):
        records.append({"epoch": epoch})
    records.rewind(3)
    assert [record["epoch"] for record in records.lines] == [0, 1, 2]
    assert read_records(records.path) == records.lines


def test_rewind_in_memory():
    records = Records()
    records.append({"epoch": 0})
    records.rewind(0)
    assert records.lines == []


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    records = Records(tmp_path / "records.jsonl")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    with pytest.raises(OutputError, match="No space left on device"):
        records.append({"epoch": 0})
