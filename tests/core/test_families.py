import pytest

from matchdg.core.errors import InputError
from matchdg.core.families import choose, unknown_name

FAMILY = {"erm": 1, "irm": 2, "perfmatch": 3}


def test_a_known_name_gives_its_member() -> None:
    assert choose("method", "irm", FAMILY) == 2


def test_an_unknown_name_is_answered_with_the_nearest_one_and_all_of_them() -> None:
    with pytest.raises(InputError) as caught:
        choose("method", "prefmatch", FAMILY)
    assert str(caught.value) == ("unknown method 'prefmatch'; did you mean 'perfmatch'? Known: erm, irm, perfmatch")


def test_a_name_like_no_other_gets_no_guess() -> None:
    assert unknown_name("method", "zzzz", FAMILY) == "unknown method 'zzzz'. Known: erm, irm, perfmatch"


def test_case_does_not_hide_the_nearest_name() -> None:
    assert "did you mean 'RSNA'?" in unknown_name("domain", "rsna", ["ChexPert", "NIH", "RSNA"])


def test_a_number_is_compared_as_text() -> None:
    assert unknown_name("domain", 15, ["0", "15"]) == "unknown domain 15; did you mean '15'? Known: 0, 15"


def test_an_empty_family_knows_nothing() -> None:
    with pytest.raises(InputError, match="unknown method 'erm'"):
        choose("method", "erm", {})
