import base64
import re

import pytest

from matchdg.core.errors import InputError
from matchdg.reports import summarise, write_page

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
ODD = "<script>alert('x')</script> \"q\" & 🐈"


def row(method, group, mean, std=1.0, printed=60.0, **rest):
    return {
        "method": method,
        "group": group,
        "values": {} if mean is None else {"Target": {"mean": mean, "std": std, "n": 3}},
        "paper": None if printed is None else {"Target": {"mean": printed, "std": 6.58}},
        "selection": "source: accuracy",
        "hyperparameters": {"penalty": 1.0},
        **rest,
    }


def table(*rows, **rest):
    return {
        "title": "Slab data",
        "columns": ["Source 1", "Target"],
        "budget": "quick",
        "unit": "percent",
        "higher_is_better": {"Target": True},
        "rows": list(rows),
        "settings": {"seeds": [0, 1, 2]},
        "command": "matchdg reproduce slab --budget quick",
        "versions": {"torch": "2.9"},
        "seconds": 41.2,
        "notes": ["CSD has no printed row."],
        "failed": [],
        **rest,
    }


ERM = row("ERM", "no invariance term", 57.6, 6.0)
CORAL = row("C-CORAL", "class-conditional matching", 64.7, 4.7)
RANDOM = row("RandMatch", "class-conditional matching", 66.0)
PERFECT = row("PerfMatch", "object matching", 77.8, 6.0, oracle=True)


def written(tmp_path, what, figures=()):
    write_page(what, list(figures), tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.fixture
def figure(tmp_path):
    image = tmp_path / "regions.png"
    image.write_bytes(PNG)
    return ("Decision regions", image, "What each method learnt.")


def test_a_page_holds_everything_that_the_table_says(tmp_path, figure, parse):
    text = parse(written(tmp_path, table(ERM, CORAL, PERFECT, failed=["run 3f2a: NaN"]), [figure])).text
    for part in (
        "Slab data",
        summarise(table(ERM, CORAL, PERFECT)),
        "quick",
        "source: accuracy",
        "no invariance term",
        "57.6 ± 6.0",
        "60.0 ± 6.6",
        "-2.4 ▼ worse than printed",
        "penalty = 1.0",
        "seeds 0, 1, 2",
        "matchdg reproduce slab --budget quick",
        "torch 2.9",
        "41 s",
        "CSD has no printed row.",
        "run 3f2a: NaN",
        "Decision regions",
        "What each method learnt.",
    ):
        assert part in text


def test_only_worse_cells_are_marked(tmp_path, parse):
    text = parse(written(tmp_path, table(ERM, CORAL, PERFECT))).text
    assert text.count("worse than printed") == 1
    assert "+4.7 " in text


def test_the_page_asks_nothing_of_the_network_and_runs_nothing(tmp_path, figure, parse):
    content = written(tmp_path, table(ERM), [figure])
    page = parse(content)
    assert not re.search(r"https?:|//\w|@import|url\(", content)
    assert not page.all("script", "iframe", "object", "form")
    links = [attrs.get(name) for _, attrs in page.tags for name in ("src", "href") if name in attrs]
    assert links
    assert all(link.startswith("data:") for link in links)
    assert base64.b64encode(PNG).decode() in content


def test_the_page_is_well_formed_for_readers_of_all_kinds(tmp_path, figure, parse):
    content = written(tmp_path, table(ERM, CORAL, PERFECT, failed=["x"]), [figure])
    parse(content).check()
    assert content.startswith("<!doctype html>")
    assert "prefers-color-scheme: dark" in content
    assert "@media print" in content


def test_every_row_of_the_results_is_as_wide_as_its_head(tmp_path):
    content = written(tmp_path, table(ERM, row("IRM", None, None, printed=None)))
    results = content.split("</table>")[0].split("<tbody>", 1)[1]
    assert [line.count("<td") for line in results.split("<tr>") if 'scope="row"' in line] == [6, 6]


def test_odd_text_is_shown_and_never_run(tmp_path, figure, parse):
    odd = table(
        row(ODD, ODD, 50.0, selection=ODD, hyperparameters={ODD: ODD}),
        title=ODD,
        notes=[ODD],
        failed=[{ODD: ODD}],
        command=ODD,
        settings={ODD: [ODD]},
        versions={ODD: ODD},
        unit=ODD,
        budget=ODD,
    )
    odd["columns"] = [ODD, "Target"]
    page = parse(written(tmp_path, odd, [(ODD, figure[1], ODD)]))
    assert not page.all("script")
    assert page.text.count(ODD) > 12
    assert ODD in page.all("img")[0]["alt"]


def test_rows_selected_on_the_target_say_so_wherever_they_are(tmp_path, parse):
    text = parse(written(tmp_path, table(ERM, {**CORAL, "selection": "target: accuracy"}))).text
    assert text.count("C-CORAL selected on target") == 2
    assert "C-CORAL (selected on target) holds up best" in text
    assert "no estimate for an unseen domain" in text


def test_settings_that_all_rows_share_are_told_once(tmp_path, parse):
    runs = {name: {"method": {"name": name}, "training": {"epochs": 100, "batch_rows": 128}} for name in ("erm", "irm")}
    text = parse(written(tmp_path, table(ERM, settings={"runs": runs, "seeds": [0, 1]}))).text
    assert text.count("training.epochs") == 1
    assert "runs, all: training.epochs 100" in text
    assert "runs, irm: method.name irm" in text


def test_a_figure_that_is_not_there_or_no_image_is_an_error_and_no_page(tmp_path):
    for name, words in (("gone.png", "draw it first"), ("data.csv", "no known kind")):
        with pytest.raises(InputError, match=words):
            write_page(table(ERM), [("t", tmp_path / name, "c")], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_the_summary_compares_the_best_with_the_best_of_the_other_groups():
    assert summarise(table(ERM, CORAL, RANDOM)) == (
        "RandMatch holds up best on Target, at 66.0 ± 1.0 %, 8.4 points above ERM (57.6 ± 6.0 %), "
        "the best of the other groups."
    )


def test_the_summary_calls_an_oracle_one_and_names_the_best_without():
    assert summarise(table(ERM, CORAL, PERFECT)) == (
        "PerfMatch (oracle) holds up best on Target, at 77.8 ± 6.0 %, 13.1 points above C-CORAL (64.7 ± 4.7 %), "
        "the best of the other groups. It is an oracle: it is told the true objects, which are rarely known. "
        "Without such knowledge, C-CORAL holds up best."
    )


def test_the_summary_admits_a_difference_within_the_spread_and_a_tie():
    near = row("IRM", "further baselines", 61.0, 2.0)
    assert summarise(table(ERM, near)).endswith("That difference is within the spread over seeds.")
    assert "level with IRM" in summarise(table(ERM, {**ERM, "method": "IRM", "group": "x"}))


def test_the_summary_turns_round_where_lower_is_better():
    text = summarise(table(ERM, CORAL, higher_is_better={"Target": False}, unit="rank"))
    assert text.startswith("ERM holds up best on Target, at 57.6 ± 6.0, 7.1 below C-CORAL")


def test_groups_that_repeat_a_method_are_summarised_one_by_one():
    rows = [row(name, group, mean) for group in ("30,45", "15,30") for name, mean in (("ERM", 60), ("IRM", 65))]
    lines = summarise(table(*rows)).split("\n")
    assert [line.split(":")[0] for line in lines] == ["30,45", "15,30"]
    assert all("5.0 points above ERM" in line and "the runner-up" in line for line in lines)


def test_a_table_without_results_says_so(tmp_path, parse):
    empty = table(row("ERM", None, None))
    assert summarise(empty) == "No method has a result on Target yet."
    assert "No method has a result" in parse(written(tmp_path, empty)).text
    assert "No method has a result" in parse(written(tmp_path, table())).text


def test_without_a_target_column_the_last_one_counts():
    pair = [{**ERM, "values": {"Average": {"mean": 3.0, "std": None, "n": 1}}}]
    assert summarise(table(*pair, columns=["Photo", "Average"])) == "ERM holds up best on Average, at 3.0 %."
