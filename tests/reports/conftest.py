import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

VOID = {"meta", "link", "img", "br", "colgroup"}


class Page(HTMLParser):
    """What the tests ask of a page; raises where tags do not nest."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def all(self, *names):
        return [attrs for tag, attrs in self.tags if tag in names]

    def check(self):
        """Whether readers of all kinds find their way: headings in order, names for tables, images and sections."""
        assert self.all("html")[0]["lang"] == "en-GB"
        levels = [int(tag[1]) for tag, _ in self.tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert all(attrs.get("scope") in ("col", "colgroup", "row", "rowgroup") for attrs in self.all("th"))
        assert all(attrs["alt"] for attrs in self.all("img"))
        assert len(self.all("table")) == len(self.all("caption"))
        names = [attrs["id"] for _, attrs in self.tags if "id" in attrs]
        assert len(names) == len(set(names))
        assert all(attrs["aria-labelledby"] in names for _, attrs in self.tags if "aria-labelledby" in attrs)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def parse():
    """Read a page: its tags, its words, and that its tags nest."""
    return Page


@pytest.fixture
def drawn(monkeypatch):
    """Keep what a module of plots draws, instead of writing it."""

    def keep(module):
        figures = []
        monkeypatch.setattr(module, "save", lambda figure, *rest: figures.append(figure))
        return figures

    return keep
