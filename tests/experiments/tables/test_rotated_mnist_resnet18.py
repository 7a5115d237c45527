import pytest

from matchdg.experiments.tables.rotated_mnist_resnet18 import gap_closed


def table(**means):
    """One group and column, with a row a method."""
    rows = [
        {"method": method, "group": "30,45", "values": {"rotMNIST": {"mean": mean}}} for method, mean in means.items()
    ]
    return {"columns": ["rotMNIST", "rotFashionMNIST"], "rows": rows, "notes": []}


def test_the_gap_closed_is_matchdg_s_share_of_perfmatch_s_lead():
    found = table(ERM=80.0, MatchDG=87.0, PerfMatch=90.0)
    gap_closed(found)
    (entry,) = found["gap_closed"]
    assert entry.pop("percent") == pytest.approx(70.0)
    task = {"group": "30,45", "column": "rotMNIST"}
    assert entry == {**task, "method": "MatchDG", "control": "ERM", "oracle": "PerfMatch"}
    assert "70 % of the lead of PerfMatch" in found["notes"][0]


def test_each_matchdg_is_set_against_controls_of_its_compute_and_the_oracle_that_has_it_too():
    means = {"ERM": 80.0, "RandMatch": 85.0, "MatchDG": 86.0, "PerfMatch": 90.0}
    extra = {"ERM, extra part": 82.0, "RandMatch, extra part": 84.0, "PerfMatch, extra part": 92.0}
    found = table(**means, **extra, **{"MatchDG (as printed)": 88.0})
    gap_closed(found)
    shares = {(entry["method"], entry["control"]): entry["percent"] for entry in found["gap_closed"]}
    assert shares == {
        ("MatchDG", "ERM"): pytest.approx(60.0),
        ("MatchDG", "RandMatch"): pytest.approx(20.0),
        ("MatchDG (as printed)", "ERM, extra part"): pytest.approx(60.0),
        ("MatchDG (as printed)", "RandMatch, extra part"): pytest.approx(50.0),
        ("MatchDG (as printed)", "ERM"): pytest.approx(80.0),
        ("MatchDG", "ERM, extra part"): pytest.approx(50.0),
    }


def test_without_a_lead_there_is_no_share_and_no_note():
    found = table(ERM=90.0, MatchDG=91.0, PerfMatch=90.0)
    gap_closed(found)
    assert [entry["percent"] for entry in found["gap_closed"]] == [None]
    assert found["notes"] == []


def test_without_one_of_the_three_nothing_is_said():
    found = table(ERM=80.0, MatchDG=87.0)
    gap_closed(found)
    assert found["gap_closed"] == found["notes"] == []
