"""The demo's table: what its quick budget uses was chosen on sources, and what the committed one found."""

import json
from pathlib import Path

from matchdg.experiments.tables.rotated_digits import SELECTED

RESULTS = Path(__file__).parents[3] / "results" / "rotated_digits"


def test_the_quick_budget_uses_what_the_committed_search_chose():
    search = json.loads((RESULTS / "search.json").read_text())
    assert {label: entry["chosen"] for label, entry in search["methods"].items()} == SELECTED


def test_in_the_committed_table_learnt_matches_are_worth_eight_points_and_more_than_random_ones():
    table = json.loads((RESULTS / "table.json").read_text())
    target = {row["method"]: row["values"]["Target"]["mean"] for row in table["rows"]}
    assert table["budget"] == "paper"
    assert {row["selection"] for row in table["rows"]} == {"source: accuracy"}
    assert target["MatchDG"] >= target["ERM"] + 8
    assert target["MatchDG"] > target["RandMatch"]
