import json

import pytest

from matchdg.cli import names


@pytest.mark.parametrize("family", names.FAMILIES)
def test_every_family_is_listed_for_people_and_programs(matchdg, family):
    text = matchdg("list", family).out
    entries = json.loads(matchdg("list", family, "--json").out)
    assert entries
    for entry in entries:
        assert entry["name"] in text
        assert entry["about"]


def test_methods_come_with_settings_help_and_grids(matchdg):
    entries = {entry["name"]: entry for entry in json.loads(matchdg("list", "methods", "--json").out)}
    assert entries["perfmatch"]["matcher"] == "perfect"
    assert entries["perfmatch"]["search"]["slab"]["penalty"] == [0.1, 1.0, 10.0]
    assert all(setting["about"] for entry in entries.values() for setting in entry["settings"])


def test_all_fourteen_tables_are_listed(matchdg):
    entries = json.loads(matchdg("list", "tables", "--json").out)
    assert len(entries) == 14
    assert [entry["name"] for entry in entries if entry["reproducible"]] == list(names.TABLES)


def test_unknown_family(matchdg):
    ran = matchdg("list", "method")
    assert ran.code == 2
    assert "did you mean 'methods'?" in ran.err
