import json

import pytest

from matchdg.cli import names
from matchdg.experiments import printed_tables
from matchdg.methods import METHODS, PHASE1_METHODS


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


def test_phase_1_is_listed_with_what_matchdg_sets_in_it(matchdg):
    entries = {entry["name"]: entry for entry in json.loads(matchdg("list", "methods", "--json").out)}
    assert [name for name, entry in entries.items() if entry["kind"] == "phase 1"] == list(PHASE1_METHODS)
    for name in ("matchdg", "matchdg-paper"):
        shown = {setting["name"]: setting["default"] for setting in entries[name]["phase1"]}
        assert shown == {
            f"phase1.{section}.{key}": value
            for section, values in {**METHODS[name].phase1, **METHODS[name].phase1_on_images}.items()
            for key, value in values.items()
        }
        assert all(setting["about"] for setting in entries[name]["phase1"])
    assert entries["erm"]["phase1"] == entries["contrastive"]["phase1"] == []
    text = matchdg("list", "methods").out
    assert "contrastive  [phase 1] MatchDG phase 1" in text
    every = METHODS["matchdg"].phase1["matcher"]["every"]
    assert f"    phase1.matcher.every = {every}  epochs between" in text


def test_printed_tables_own_tables_and_figures_are_listed_in_this_order(matchdg):
    entries = json.loads(matchdg("list", "tables", "--json").out)
    listed = [entry["name"] for entry in entries]
    own = [name for name in names.TABLES if name not in printed_tables()]
    assert listed == [*printed_tables(), *own, *names.FIGURES]
    assert len(printed_tables()) == 14
    assert own == ["rotated_digits", "phase1_ablation", "pacs_lite0", "pacs_lite0_frozen", "pacs_lite0_layers"]
    assert {entry["name"] for entry in entries if entry["reproducible"]} == {*names.TABLES, *names.FIGURES}


def test_unknown_family(matchdg):
    ran = matchdg("list", "method")
    assert ran.code == 2
    assert "did you mean 'methods'?" in ran.err
