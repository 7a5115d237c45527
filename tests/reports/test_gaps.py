import io

import pytest
from rich.console import Console

from matchdg.reports import print_table, to_markdown, write_page
from matchdg.reports.gaps import gaps_of


def entry(percent, group="30,45", column="rotMNIST", method="MatchDG", control="ERM"):
    return {"group": group, "column": column, "method": method, "control": control, "percent": percent}


def table(*entries):
    return {
        "title": "Rotated MNIST",
        "columns": ["rotMNIST"],
        "budget": "quick",
        "unit": "percent",
        "rows": [],
        "gap_closed": list(entries),
    }


def terminal(tmp_path, found):
    stream = io.StringIO()
    print_table(found, Console(file=stream, width=120))
    return stream.getvalue()


def page(tmp_path, found):
    write_page(found, [], tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def test_a_line_a_task_and_a_column_a_pair():
    found = gaps_of(
        table(
            entry(70.4),
            entry(-3.6, control="ERM, extra part"),
            entry(99.5, column="rotFashionMNIST"),
            {**entry(12.0, control="RandMatch"), "oracle": "PerfMatch, extra part"},
            entry(None, group=None, column="rotFashionMNIST"),
        )
    )
    assert found.columns == [
        "Group",
        "Column",
        "MatchDG against ERM",
        "MatchDG against ERM, extra part",
        "MatchDG against RandMatch (lead of PerfMatch, extra part)",
    ]
    assert found.rows == [
        ["30,45", "rotMNIST", "70 %", "-4 %", "12 %"],
        ["30,45", "rotFashionMNIST", "100 %", "–", "–"],
        ["", "rotFashionMNIST", "–", "–", "–"],
    ]


@pytest.mark.parametrize("entries", [{}, {"gap_closed": []}, {"gap_closed": None}])
def test_a_table_without_gaps_has_none(entries):
    assert gaps_of(entries) is None


@pytest.mark.parametrize(
    ("show", "words"),
    [
        (terminal, "30,45 rotMNIST: MatchDG against ERM 70 %"),
        (lambda folder, found: to_markdown(found), "| 30,45 | rotMNIST | 70 % |"),
        (page, '<th scope="row">30,45</th><td>rotMNIST</td><td>70 %</td>'),
    ],
    ids=["terminal", "markdown", "page"],
)
def test_every_form_of_the_table_tells_them_and_only_where_there_are_some(tmp_path, show, words):
    caption = "Percent of PerfMatch's lead over the control"
    told = show(tmp_path, table(entry(70.4))).replace("&#39;", "'")
    assert words in told
    assert caption in told
    assert caption not in show(tmp_path, table()).replace("&#39;", "'")


def test_names_are_text_in_a_page_and_in_markdown(tmp_path):
    odd = table(entry(70.4, "<script>a|b", "<b>", "*c*", '"d"'))
    assert "<script>" not in page(tmp_path, odd)
    assert "<b>" not in page(tmp_path, odd)
    assert "| \\<script\\>a\\|b | \\<b\\> | 70 % |" in to_markdown(odd)
    assert '\\*c\\* against "d"' in to_markdown(odd)
