from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError, model_validator

from matchdg.core.errors import InputError
from matchdg.core.settings import LATE, Settings


class Example(Settings):
    size: int = Field(3, ge=1)
    rate: float = 0.1
    names: tuple[str, ...] = ("a",)
    path: Path = Path("here")

    @model_validator(mode="after")
    def _check(self) -> "Example":
        if self.rate > self.size:
            raise ValueError("rate is above size; lower it")
        return self


def test_nothing_given_is_the_defaults() -> None:
    assert Example.parse({}, "example") == Example()


def test_values_given_replace_the_defaults() -> None:
    settings = Example.parse({"size": 4, "names": ["x", "y"]}, "example")
    assert (settings.size, settings.names, settings.rate) == (4, ("x", "y"), 0.1)


def test_an_unknown_key_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(InputError) as caught:
        Example.parse({"szie": 4}, "example")
    assert str(caught.value) == ("unknown key in example 'szie'; did you mean 'size'? Known: size, rate, names, path")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 0}, "example.size: Input should be greater than or equal to 1, got 0"),
        ({"size": "many"}, "got 'many'"),
        ({"size": 1.5}, "example.size: Input should be a valid integer, got a number with a fractional part"),
        ({"rate": float("nan")}, "example.rate: Input should be a finite number, got nan"),
        ({"rate": float("inf")}, "example.rate: Input should be a finite number, got inf"),
        ({"names": "ab"}, "example.names: Input should be a valid tuple, got 'ab'"),
        ({"names": ["a", 1]}, "example.names.1: Input should be a valid string, got 1"),
        ({"rate": 5.0}, "example: rate is above size; lower it, got {'rate': 5.0}"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Example.parse(values, "example")
    assert message in str(caught.value)


def test_every_wrong_key_is_named_at_once_one_a_line() -> None:
    with pytest.raises(InputError) as caught:
        Example.parse({"size": 0, "rate": "x", "nmaes": []}, "example")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert {line.split(":")[0] for line in lines[:2]} == {"example.size", "example.rate"}
    assert "did you mean 'names'?" in lines[2]


@pytest.mark.parametrize("values", [None, [1, 2], "size", 3])
def test_something_without_keys_is_an_input_error(values: Any) -> None:
    with pytest.raises(InputError, match="example: expected keys with values, got "):
        Example.parse(values, "example")


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Example().size = 4  # type: ignore[misc]


def test_equal_settings_are_one_key() -> None:
    assert len({Example(), Example(size=3), Example(size=4)}) == 2


def test_a_dump_is_plain_and_reads_back() -> None:
    settings = Example(size=7, rate=0.25, names=("x", "y"), path=Path("a/b"))
    assert settings.dump() == {"size": 7, "rate": 0.25, "names": ["x", "y"], "path": "a/b"}
    assert Example.parse(settings.dump(), "example") == settings


def test_a_late_field_is_left_out_of_a_dump_while_it_has_its_default() -> None:
    class Grown(Example):
        since: int = Field(0, json_schema_extra=LATE)

    assert Grown().dump() == Example().dump()
    assert Grown(since=1).dump() == {**Example().dump(), "since": 1}
    assert Grown.parse(Grown().dump(), "grown") == Grown()
    assert Grown.parse(Grown(since=1).dump(), "grown") == Grown(since=1)
