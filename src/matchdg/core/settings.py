"""The base of every settings class: frozen, typed, and clear about what is wrong with a value."""

from collections.abc import Mapping
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from matchdg.core.errors import InputError
from matchdg.core.families import unknown_name

LATE: Final[dict[str, Any]] = {"late": True}
"""`Field(default, json_schema_extra=LATE)`: a field that came after runs with these settings had been published."""


class Settings(BaseModel):
    """Frozen settings. Defaults live here and nowhere else; a field's description is its help text.

    >>> class Example(Settings):
    ...     size: int = 3
    >>> Example.parse({"size": 4}, "example").size
    4
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def parse(cls, values: Mapping[str, Any], where: str) -> Self:
        """Validate `values`; raise one `InputError` that names every wrong key under `where`."""
        if not isinstance(values, Mapping):
            raise InputError(f"{where}: expected keys with values, got {values!r}")
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            lines = [_explain(cls, where, dict(problem)) for problem in error.errors()]
            raise InputError("\n".join(lines)) from None

    def dump(self) -> dict[str, Any]:
        """Plain values (lists, numbers, strings) that `parse` reads back.

        A late field is left out while it has its default, so that runs made before it came keep their names.
        """
        fields = type(self).model_fields
        late = {name for name, field in fields.items() if field.json_schema_extra == LATE}
        unchanged = {
            name for name in late if getattr(self, name) == fields[name].get_default(call_default_factory=True)
        }
        return self.model_dump(mode="json", exclude=unchanged)


def _explain(cls: type[Settings], where: str, problem: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return unknown_name(f"key in {where}", key, cls.model_fields)
    place = f"{where}.{key}" if key else where
    reason = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {reason}, got {problem['input']!r}"
