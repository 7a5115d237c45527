"""Every study builds at every budget, runs that parse included, and stands beside the printed rows that it names."""

from functools import cache
from typing import get_args

import pytest

from matchdg.experiments import STUDIES, Budget, Rule, printed_table, printed_tables
from matchdg.experiments.figures import FIGURES
from matchdg.experiments.paper import printed_row
from matchdg.experiments.reproduce import columns_of
from matchdg.training import RunSettings

BUDGETS = get_args(Budget)
PRINTED = [name for name in STUDIES if name in printed_tables()]
TRUE = {"perfect", "partly-perfect"}
QUALITY = {f"quality.{measure}" for measure in ("overlap", "top10_overlap", "mean_rank", "table_overlap")}


@cache
def table(name, budget, rule="source"):
    return STUDIES[name](budget, rule)


@cache
def study(name, budget):
    return FIGURES[name](budget).study if name in FIGURES else table(name, budget)


@cache
def runs(name, budget, rule="source"):
    """An arm with its run for each of its points, of the first seed."""
    found = study(name, budget) if rule == "source" else table(name, budget, rule)
    return [(arm, arm.run(point, found.seeds[0])) for arm in found.arms for point in arm.points()]


every_study = pytest.mark.parametrize("name", [*STUDIES, *FIGURES])
every_table = pytest.mark.parametrize("name", STUDIES)
every_budget = pytest.mark.parametrize("budget", BUDGETS)


@every_study
@every_budget
def test_its_runs_parse_and_are_read_back_from_what_they_say_of_themselves(name, budget):
    for _, run in runs(name, budget):
        assert RunSettings.parse(run.dump()).hash == run.hash


@every_study
@every_budget
def test_it_has_its_name_its_budget_words_for_it_and_seeds(name, budget):
    found = study(name, budget)
    assert (found.table, found.budget) == (name, budget)
    assert found.title
    assert all(found.seeds_of(arm) for arm in found.arms)
    assert not set(found.seeds) & set(found.search_seeds)
    assert found.search_seeds or all(len(arm.points()) == 1 for arm in found.arms)


@every_study
@every_budget
def test_its_hash_is_the_same_for_two_builds_and_another_for_other_budgets(name, budget):
    build = FIGURES.get(name)
    again = build(budget).study if build else STUDIES[name](budget, "source")
    assert again.hash == study(name, budget).hash
    assert len({study(name, one).hash for one in BUDGETS}) == len(BUDGETS)


@every_study
@every_budget
def test_each_arm_has_a_name_of_its_own(name, budget):
    names = [arm.name for arm in study(name, budget).arms]
    assert len(set(names)) == len(names)


@every_table
@every_budget
def test_its_columns_are_those_of_the_table_and_each_is_filled_once_a_row(name, budget):
    found = table(name, budget)
    columns = set(columns_of(found))
    parts = {part for parts in found.averages.values() for part in parts}
    filled = [(arm.label, arm.group, column) for arm in found.arms for column in arm.columns or columns]
    assert len(set(filled)) == len(filled)
    assert {column for *_, column in filled} == columns - set(found.averages)
    assert parts <= columns - set(found.averages)
    assert found.columns is not None or columns == set(printed_table(name)["columns"])


@every_table
@every_budget
def test_its_columns_are_measured(name, budget):
    for arm, run in runs(name, budget):
        if arm.columns is None:
            assert name == "slab"
            continue
        known = {"target", *(f"{one:g}" if isinstance(one, float) else str(one) for one in run.dataset.targets)}
        assert set(arm.columns.values()) <= (QUALITY if arm.measured else known)


@pytest.mark.parametrize("name", PRINTED)
@every_budget
def test_rows_stand_beside_the_printed_ones_of_their_name_and_none_of_the_paper_s_own_is_left_out(name, budget):
    rows = printed_table(name)["rows"]
    labels = {row["method"] for row in rows}
    arms = [arm for arm in table(name, budget).arms if arm.label in labels]
    for arm in arms:
        # With ResNet-50 on PACS the paper has no ERM of its own, and quotes DomainBed's.
        own = "(not in the paper)" in (arm.group or "") or (arm.label == "ERM" and "ResNet-50" in (arm.group or ""))
        assert (printed_row(name, arm.label, arm.printed_group or arm.group) is None) == own
    assert {arm.label for arm in arms} == {row["method"] for row in rows if row["origin"] == "paper"}


@every_table
@every_budget
def test_rows_that_are_told_true_matches_are_oracles_and_no_others(name, budget):
    for arm, run in runs(name, budget):
        matchers = [part.dump()["matcher"] for part in (run, run.phase1) if part is not None]
        assert arm.oracle == any(one["name"] in TRUE or one.get("start") == "perfect" for one in matchers)


@every_table
@every_budget
@pytest.mark.parametrize("rule", get_args(Rule))
def test_classifiers_are_selected_as_the_rows_say(name, budget, rule):
    found = table(name, budget, rule)
    assert found.selection.startswith(f"{rule}:")
    for arm, run in runs(name, budget, rule):
        if run.spec.learns == "classes":
            leaks = rule == "target" or "test validation" in (arm.group or "")
            assert found.rule_of(arm) == run.training.selection == ("target" if leaks else "source")
            assert found.selection_of(arm) == f"{run.training.selection}: accuracy"
        else:
            assert found.selection_of(arm) == f"source: {run.training.keep}"
