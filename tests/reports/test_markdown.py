from markdown_it import MarkdownIt

from matchdg.reports import to_markdown


def row(method="ERM", **rest):
    return {
        "method": method,
        "group": "no invariance term",
        "values": {"Target": {"mean": 54.2, "std": 0.5, "n": 3}},
        "paper": {"Target": {"mean": 57.6, "std": 6.58}},
        "selection": "source: accuracy",
        "hyperparameters": {"penalty": 1.0},
        **rest,
    }


def table(*rows, **rest):
    return {
        "title": "Slab data",
        "columns": ["Source 1", "Target"],
        "budget": "paper",
        "unit": "percent",
        "higher_is_better": {"Target": True},
        "rows": list(rows),
        "command": "matchdg reproduce slab",
        "versions": {"matchdg": "0.1.0"},
        "seconds": 41.2,
        "notes": ["CSD has no printed row."],
        "failed": [],
        **rest,
    }


def rendered(text):
    return MarkdownIt("commonmark").enable("table").render(text)


def test_a_row_is_ours_paper_and_difference_per_column():
    text = to_markdown(table(row()))
    assert "| Method | Source 1 | paper | difference | Target | paper | difference |" in text
    assert "| ERM | – | – | – | 54.2 ± 0.5 | 57.6 ± 6.6 | -3.4 ▼ |" in text


def test_head_notes_command_and_hyper_parameters_are_there():
    text = to_markdown(table(row(), failed=["run 3f2a: the loss is NaN"]))
    for part in (
        "# Slab data\n",
        "- Budget: paper\n",
        "- Selection rule: source: accuracy\n",
        "- Seeds per row: 3\n",
        "matchdg 0.1.0",
        "41 s",
        "- CSD has no printed row.\n",
        "```shell\nmatchdg reproduce slab\n```\n",
        "| ERM | no invariance term | source: accuracy | penalty = 1.0 |",
        "- run 3f2a: the loss is NaN\n",
    ):
        assert part in text


def test_selection_on_the_target_and_oracles_are_labelled_in_both_tables():
    text = to_markdown(table(row("PerfMatch", oracle=True, selection="target: accuracy")))
    assert text.count("| PerfMatch (oracle) (selected on target) |") == 2


def test_odd_names_are_text_to_a_markdown_reader():
    name = "<script>x</script> a|b *c* _d_ `e` [f](g) & $h$"
    html = rendered(to_markdown(table(row(name, group="<i>|"), title=name, notes=["<b>n</b>"])))
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<em>c" not in html
    assert "<a " not in html
    assert "&lt;script&gt;x&lt;/script&gt; a|b *c* _d_ `e` [f](g) &amp; $h$" in html


def test_where_nothing_is_printed_a_column_is_ours_alone():
    text = to_markdown(table(row(paper=None)))
    assert "| Method | Source 1 | Target |" in text
    assert "| ERM | – | 54.2 ± 0.5 |" in text


def test_rows_of_the_paper_alone_chose_nothing_here():
    text = to_markdown(table(row(), row("CCSA", values={}, origin="quoted")))
    assert text.count("CCSA (quoted in the paper)") == 1
    assert text.index("CCSA") < text.index("Hyper-parameters chosen")


def test_every_line_of_a_table_has_as_many_cells_as_its_head():
    html = rendered(to_markdown(table(row("a|b"), row("c", group="x|y", paper=None))))
    results = html.split("</table>")[0]
    assert all(line.count("<td") == 7 for line in results.split("<tbody>")[1].split("</tr>")[:-1])


def test_a_command_with_backticks_stays_in_its_block():
    text = to_markdown(table(row(), command="echo ```x```"))
    assert "````shell\necho ```x```\n````" in text
    assert "## Failed" not in text
