"""Learnt matches: the table that phase 1 ended with, as a value."""

import torch

from matchdg.core.errors import InputError
from matchdg.core.settings import Settings
from matchdg.data import DomainDataset
from matchdg.matching.table import MatchTable


class LearntSettings(Settings):
    """The matches that phase 1 inferred (MatchDG phase 2)."""

    def build(self, dataset: DomainDataset) -> "FixedMatcher":
        """Learnt matches are not made from the data alone."""
        raise InputError("the matcher 'learnt' needs a phase 1; give the run a section phase1, or another matcher")


class FixedMatcher:
    """The same table in every epoch."""

    def __init__(self, table: MatchTable) -> None:
        self.table = table

    def draw(self, generator: torch.Generator) -> MatchTable:
        """The table."""
        return self.table
