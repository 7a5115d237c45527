import io

import pytest
from rich.console import Console

from matchdg.reports import print_table

COLUMNS = ["Source 1", "Source 2", "Target"]


def row(method, group, mean, printed=60.0, **rest):
    return {
        "method": method,
        "group": group,
        "values": {column: {"mean": mean, "std": 1.25, "n": 3} for column in COLUMNS},
        "paper": None if printed is None else {column: {"mean": printed, "std": 6.58} for column in COLUMNS},
        "selection": "source: accuracy",
        **rest,
    }


def table(*rows, columns=COLUMNS, **rest):
    return {
        "title": "Slab data",
        "columns": columns,
        "budget": "quick",
        "unit": "percent",
        "higher_is_better": {},
        "rows": list(rows),
        **rest,
    }


SLAB = table(
    row("ERM", "no invariance term", 57.6),
    row("C-CORAL", "class-conditional matching", 64.7, selection="target: accuracy"),
    row("PerfMatch", "object matching", 77.8, oracle=True),
    row("IRM", "further baselines", 58.0, printed=None),
    notes=["A note."],
    failed=[{"run": "3f2a", "message": "the loss is NaN"}],
)


def shown(what, width=80, **settings):
    stream = io.StringIO()
    print_table(what, Console(file=stream, width=width, **settings))
    return stream.getvalue()


@pytest.mark.parametrize("width", [50, 80, 140, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(width):
    text = shown(SLAB, width)
    assert max(map(len, text.splitlines())) <= width
    for part in ("57.6 ± 1.2", "60.0 ± 6.6", "-2.4 ▼", "+17.8", "Source 1", "Source 2", "Target"):
        assert part in text
    assert text.count("77.8 ± 1.2") == len(COLUMNS)


def test_a_wide_terminal_has_one_line_a_row():
    line = next(line for line in shown(SLAB, 140).splitlines() if "ERM" in line)
    assert line.split() == ["ERM", *["57.6", "±", "1.2", "60.0", "±", "6.6", "-2.4", "▼"] * 3]


def test_eighty_columns_hold_all_three_domains_below_one_another():
    lines = shown(SLAB, 80).splitlines()
    at = next(index for index, line in enumerate(lines) if line.strip().startswith("ERM"))
    assert lines[at].split() == ["ERM", "ours", *["57.6", "±", "1.2"] * 3]
    assert lines[at + 1].split() == ["paper", *["60.0", "±", "6.6"] * 3]
    assert lines[at + 2].split() == ["diff", *["-2.4", "▼"] * 3]


def test_many_columns_are_shown_some_at_a_time():
    columns = [f"domain {index}" for index in range(9)]
    wide = row("ERM", "g", 50.0)
    wide["values"] = {column: {"mean": 10.0 + index, "std": 1.0, "n": 3} for index, column in enumerate(columns)}
    text = shown(table(wide, columns=columns))
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"{10 + index}.0 ± 1.0" in text and column in text for index, column in enumerate(columns))


@pytest.mark.parametrize("width", [80, 200])
def test_groups_tags_head_notes_and_failures_are_told(width):
    text = shown(SLAB, width)
    for part in ("no invariance term", "object matching", "oracle", "selected on target", "A note."):
        assert part in text
    assert "quick" in text
    assert "source: accuracy; target: accuracy" in text
    assert "Seeds per row: 3" in text
    assert "the loss is NaN" in text


def test_piped_output_has_no_colours_and_a_terminal_has():
    assert "\x1b" not in shown(SLAB)
    assert "\x1b[" in shown(SLAB, force_terminal=True)


def test_names_are_text_not_markup():
    name = "[bold red]x[/nope] :smile: \x1b[31m 🐈"
    text = shown(table(row(name, "[/g]", 50.0), title="[i]t"), 200)
    assert "[bold red]x[/nope] :smile:" in text
    assert "[/g]" in text
    assert "[i]t" in text
    assert "🐈" in text
    assert "\x1b" not in text


def test_an_encoding_without_the_signs_gets_others():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    print_table(table(row("ERM 🐈", "g", 50.0)), Console(file=stream, width=80))
    text = raw.getvalue().decode("ascii")
    assert "50.0 +/- 1.2" in text
    assert "-10.0 v" in text


def test_a_table_without_rows_or_cells_is_still_shown():
    empty = row("ERM", None, 1.0, printed=None)
    empty["values"] = {}
    assert "Slab data" in shown(table())
    assert "–" in shown(table(empty))


def test_the_default_console_is_the_output(capsys):
    print_table(SLAB)
    assert "PerfMatch" in capsys.readouterr().out
