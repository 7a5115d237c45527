import base64
import re
from urllib.parse import unquote

import pytest

from matchdg.core.errors import InputError
from matchdg.reports import write_index
from matchdg.reports.html import Report

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
ODD = "<script>alert('x')</script> \"q\" & 🐈"


@pytest.fixture
def report(tmp_path):
    """A report in a folder of its own below `tmp_path`, with one figure."""

    def build(folder="slab", title="Slab data", summary=("PerfMatch holds up best.",), caption="What each learnt."):
        page = tmp_path / folder / "report.html"
        page.parent.mkdir()
        page.write_text("the whole report")
        image = page.with_name("regions.png")
        image.write_bytes(PNG)
        return Report(page, title, list(summary), [("Decision regions", image, caption)])

    return build


def test_each_report_has_its_summary_figures_and_a_link_that_leads_to_it(tmp_path, report, parse):
    reports = [report(), report("rotated_digits", "Rotated digits", ["MatchDG closes the gap.", "Nearly."])]
    path = tmp_path / "report.html"
    write_index("Slab data and Rotated digits", reports, path)
    page = parse(path.read_text())
    page.check()
    for part in ("PerfMatch holds up best.", "MatchDG closes the gap.", "Nearly.", "What each learnt."):
        assert part in page.text
    links = [attrs["href"] for attrs in page.all("a")]
    assert links == ["slab/report.html", "rotated_digits/report.html"]
    assert all((path.parent / link).read_text() == "the whole report" for link in links)
    assert len(page.all("img")) == 2


def test_odd_titles_and_folders_are_text_and_links_still_lead_there(tmp_path, report, parse):
    path = tmp_path / "report.html"
    write_index(ODD, [report('"a" <b>:#?', ODD, [ODD], ODD)], path)
    page = parse(path.read_text())
    assert not page.all("script", "b")
    assert page.text.count(ODD) == 6
    (link,) = (attrs["href"] for attrs in page.all("a"))
    assert not set(link) & set('"<>:#?')
    assert (tmp_path / unquote(link)).exists()


def test_the_page_asks_nothing_of_the_network(tmp_path, report):
    write_index("t", [report()], tmp_path / "report.html")
    assert not re.search(r"https?:|//\w|@import|url\(|<script", (tmp_path / "report.html").read_text())


def test_a_figure_that_is_gone_is_an_error_and_no_page(tmp_path, report):
    lost = report()
    lost.figures[0][1].unlink()
    with pytest.raises(InputError, match="draw it first"):
        write_index("t", [lost], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
