import pytest

from matchdg.core.errors import InputError
from matchdg.experiments import STUDIES, Study, printed_tables
from matchdg.experiments.catalogue import describe_tables, find_study
from matchdg.experiments.figures import FIGURES, FigureStudy


def test_a_table_is_found_with_its_budget_rule_and_seeds():
    study = find_study("slab", "paper", "target", 2)
    assert isinstance(study, Study)
    assert (study.table, study.budget, study.rule, study.seeds) == ("slab", "paper", "target", (0, 1))


def test_a_figure_is_found_with_its_budget_and_seeds():
    figure = find_study("tsne", "cpu", seeds=3)
    assert isinstance(figure, FigureStudy)
    assert (figure.study.table, figure.study.budget, figure.study.seeds) == ("tsne", "cpu", (0, 1, 2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tsnee",), "unknown table 'tsnee'; did you mean 'tsne'"),
        (("rotated_digit",), "did you mean 'rotated_digits'"),
        (("pacs_fulll",), "did you mean 'pacs_full'"),
        (("slab", "quick", "source", None, "paper"), "prints no hyper-parameters for the rows of slab .* --hparams"),
        (("tsne", "quick", "source", None, "paper"), "nothing is searched for the figure 'tsne'; leave --hparams out"),
        (("tsne", "quick", "target"), "nothing is selected for the figure 'tsne'; leave --selection out"),
        (("tsne", "quick", "source", 0), "--seeds is 0"),
    ],
)
def test_what_is_not_there_is_an_error_that_says_what_is(arguments, words):
    with pytest.raises(InputError, match=words):
        find_study(*arguments)


def test_printed_tables_then_own_ones_then_figures_are_described():
    entries = describe_tables()
    own = [name for name in STUDIES if name not in printed_tables()]
    assert [entry["name"] for entry in entries] == [*printed_tables(), *own, *FIGURES]
    assert len({frozenset(entry) for entry in entries}) == 1
    by_name = {entry["name"]: entry for entry in entries}
    assert by_name["pacs_full"]["about"].endswith("[reproducible]")
    assert by_name["slab"]["about"].endswith("[reproducible]")
    assert by_name["rotated_digits"]["columns"] == ["0", "90", "Target"]
    assert by_name["rotated_digits"]["about"].endswith("not a table of the paper. [table]")
    assert (by_name["tsne"]["kind"], by_name["tsne"]["columns"]) == ("figure", [])
    assert all(entry["reproducible"] for entry in entries)
