import copy

import pytest

from matchdg.reports import cells


def row(mean=57.0, std=1.0, n=3, printed=57.6, **rest):
    values = {} if mean is None else {"T": {"mean": mean, "std": std, "n": n}}
    paper = None if printed is None else {"T": {"mean": printed, "std": 6.58}}
    return {"method": "ERM", "group": "g", "values": values, "paper": paper, "selection": "source: accuracy", **rest}


def table(*rows, higher=True, **rest):
    return {
        "title": "t",
        "columns": ["T"],
        "budget": "paper",
        "unit": "percent",
        "higher_is_better": {"T": higher},
        "rows": list(rows),
        **rest,
    }


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ({"mean": 57.62, "std": 6.58}, "57.6 ± 6.6"),
        ({"mean": 100, "std": 0}, "100.0 ± 0.0"),
        ({"mean": 57.62, "std": None, "n": 1}, "57.6"),
        ({"mean": -0.01}, "0.0"),
        ({"mean": None, "std": None}, "–"),
        ({"mean": float("nan"), "std": 1.0}, "–"),
        (None, "–"),
    ],
)
def test_a_mean_has_one_decimal_place_and_a_deviation_where_one_is_known(cell, text):
    assert cells.value_text(cell) == text


@pytest.mark.parametrize(
    ("mean", "text", "worse_if_higher_is_better", "worse_if_lower_is_better"),
    [
        (58.8, "+1.2", False, True),
        (54.2, "-3.4", True, False),
        (57.6, "0.0", False, False),
        (57.56, "0.0", False, False),
        (57.55, "0.0", False, False),
        (57.65, "0.0", False, False),
        (57.549, "-0.1", True, False),
        (57.651, "+0.1", False, True),
    ],
)
def test_worse_is_the_wrong_side_by_more_than_rounding(mean, text, worse_if_higher_is_better, worse_if_lower_is_better):
    ours = row(mean)
    assert cells.difference_text(ours, "T") == text
    assert cells.is_worse(ours, "T", table(ours)) == worse_if_higher_is_better
    assert cells.is_worse(ours, "T", table(ours, higher=False)) == worse_if_lower_is_better
    marked = cells.marked_difference(ours, "T", table(ours))
    assert marked == (f"{text} ▼" if worse_if_higher_is_better else text)


@pytest.mark.parametrize("ours", [row(None), row(printed=None), {**row(), "paper": {"T": None}}, {"method": "m"}])
def test_without_a_pair_there_is_no_difference_and_nothing_is_worse(ours):
    assert cells.difference_text(ours, "T") == "–"
    assert not cells.is_worse(ours, "T", table(ours))
    assert cells.comparison(table(ours)) == "The paper prints no number for these rows."


def test_fewer_seeds_than_elsewhere_are_told_in_the_cell():
    few, many = row(n=2), row(n=3)
    assert cells.our_text(few, "T", table(few, many)) == "57.0 ± 1.0 (n = 2)"
    assert cells.our_text(many, "T", table(few, many)) == "57.0 ± 1.0"
    assert cells.our_text(few, "T", table(few)) == "57.0 ± 1.0"


def test_what_leaks_is_tagged():
    assert cells.tags(row()) == []
    assert cells.tags(row(oracle=True, selection="target: loss")) == ["oracle", "selected on target"]
    assert not cells.selected_on_target(row(selection="source: target-like accuracy"))


@pytest.mark.parametrize(("origin", "tag"), [("quoted", "quoted in the paper"), ("authors", "not run here")])
def test_rows_of_the_paper_alone_say_so_and_have_no_rule_of_ours(origin, tag):
    quoted = row(None, origin=origin, selection=None)
    assert cells.tags(quoted) == [tag]
    assert dict(cells.head(table(row(), quoted)))["Selection rule"] == "source: accuracy"


def test_units_by_column_are_told_by_column():
    mixed = table(row(), unit={"T": "percent", "rank": "rank"}) | {"columns": ["T", "rank"]}
    assert dict(cells.head(mixed))["Unit"] == "T: percent; rank: rank"
    assert (cells.unit_of(mixed, "rank"), cells.unit_of(mixed, "other")) == ("rank", "")
    assert cells.unit_of(table(), "T") == "percent"


def test_what_a_budget_means_is_told_where_it_is_known():
    assert dict(cells.head(table(row(), about_budget="28x28\npixels")))["Budget"] == "paper: 28x28 pixels"


def test_a_duration_that_is_not_known_is_missing():
    assert cells.duration_text(None) == "–"
    assert [cells.duration_text(seconds) for seconds in (0.2, 59.6, 3600)] == ["under 1 s", "1 min 0 s", "1 h 0 min"]


def test_groups_keep_the_order_of_first_appearance():
    rows = [row(method="a", group="x"), row(method="b", group=None), row(method="c", group="x")]
    found = [(name, [r["method"] for r in members]) for name, members in cells.groups(table(*rows))]
    assert found == [("x", ["a", "c"]), ("", ["b"])]


def test_the_head_says_budget_unit_direction_rules_and_seeds():
    rows = [row(n=3), row(n=2, selection="target: accuracy")]
    assert dict(cells.head(table(*rows, higher=False) | {"budget": "quick"})) == {
        "Budget": "quick (smaller than the paper's)",
        "Unit": "percent, mean ± standard deviation over seeds",
        "Lower is better": "T",
        "Selection rule": "source: accuracy; target: accuracy",
        "Seeds per row": "2–3",
    }
    alone = dict(cells.head(table(row(n=1, std=None))))
    assert alone["Seeds per row"] == "1, so the spread is not known"
    assert "Lower is better" not in alone
    assert dict(cells.head(table()))["Seeds per row"] == "–"


def test_the_comparison_counts_worse_means():
    assert cells.comparison(table(row(50), row(60), row(None))).startswith("1 of 2 means are worse")


def test_nothing_is_changed():
    given = table(row(n=2), row(oracle=True, hyperparameters={"a": [1]}), failed=["x"])
    before = copy.deepcopy(given)
    cells.head(given), cells.comparison(given), cells.groups(given), cells.failures(given)
    assert given == before


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([0.0, 0.1], "0.0, 0.1"),
        ([], "[]"),
        ([[1, 2], [3]], "[[1, 2], [3]]"),
        (None, "none"),
        (True, "true"),
        ("a\nb", "a b"),
    ],
)
def test_settings_are_short_texts(value, text):
    assert dict(cells.flatten({"a": {"b": value}})) == {"a.b": text}


def test_a_name_stays_on_its_line_and_emoji_stay_whole():
    assert cells.one_line("a\r\nb\tc") == "a b c"
    assert cells.one_line("👩‍🔬") == "👩‍🔬"
    assert "\x1b" not in cells.one_line("\x1b[31mred")
    cells.one_line("\ud800").encode()
