import json
from pathlib import Path

import pytest

from matchdg.core.errors import InputError
from matchdg.experiments.paper import printed_row, printed_table, printed_tables

SHARED = Path(__file__).parents[2].parent / "shared" / "paper" / "results.json"


def test_all_fourteen_tables_are_there():
    assert len(printed_tables()) == 14


def test_every_row_has_a_mean_in_every_column_it_prints():
    for table in printed_tables().values():
        for row in table["rows"]:
            assert set(row["values"]) <= set(table["columns"])
            assert all(isinstance(value["mean"], float | int) for value in row["values"].values())


def test_numbers_of_the_slab_table():
    row = printed_row("slab", "PerfMatch", "object matching")
    assert row["values"]["Target"] == {"mean": 77.8, "std": 6.01}
    assert printed_row("slab", "IRM", "further baselines") is None


def test_unknown_table_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'slab'"):
        printed_table("slabs")


@pytest.mark.skipif(not SHARED.exists(), reason="the checked numbers are not beside this checkout")
def test_the_package_holds_the_checked_numbers():
    assert list(printed_tables().values()) == json.loads(SHARED.read_text())
