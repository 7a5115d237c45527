"""Look a name up in one of the visible dicts (`METHODS`, `DATASETS`, …), or say which name was meant."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from matchdg.core.errors import InputError

Member = TypeVar("Member")


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence for a name that is not known: the nearest right one, and all of them.

    >>> unknown_name("method", "perfmach", ["erm", "perfmatch"])
    "unknown method 'perfmach'; did you mean 'perfmatch'? Known: erm, perfmatch"
    """
    choices = list(known)
    folded = {choice.casefold(): choice for choice in choices}
    near = get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.5)
    hint = f"; did you mean {folded[near[0]]!r}?" if near else "."
    return f"unknown {kind} {name!r}{hint} Known: {', '.join(choices)}"


def choose(kind: str, name: str, family: Mapping[str, Member]) -> Member:
    """The member of `family` called `name`; raises `InputError` that names the nearest one.

    >>> choose("method", "erm", {"erm": 1})
    1
    """
    if name not in family:
        raise InputError(unknown_name(kind, name, family))
    return family[name]
