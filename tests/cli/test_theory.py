import json


def test_theory_holds_and_shows_the_numbers(matchdg):
    ran = matchdg("theory")
    assert ran.code == 0
    assert "DOES NOT HOLD" not in ran.out
    assert "62.50 %" in ran.out
    assert "25.00 %" in ran.out


def test_theory_for_programs(matchdg):
    values = json.loads(matchdg("theory", "--json").out)
    assert all(row["holds"] for row in values["statements"])
    spurious, stable = values["counter_example"]["section 3.1"]["rules"]
    assert spurious["exact"]["Target"] == 0.625
    assert stable["exact"]["Target"] == 1.0


def test_a_statement_that_fails_ends_with_1(matchdg, monkeypatch):
    row = {"text": "A ⟂ B", "where": "nowhere", "stated": "independent", "found": "dependent", "holds": False}
    monkeypatch.setattr("matchdg.theory.check_statements", lambda graph: [row])
    ran = matchdg("theory")
    assert ran.code == 1
    assert "DOES NOT HOLD" in ran.out
