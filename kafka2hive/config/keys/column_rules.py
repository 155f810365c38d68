"""The rules of a column's values: what must hold for a row, and what becomes of a row that breaks a rule."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Form, FractionNumber

OnBreak = Literal["dead_letter", "count"]

REQUIRED, MIN, MAX, PATTERN, VALUES = "required", "min", "max", "pattern", "values"
"""The names of a column's rules, which are their keys in the map."""
UNIQUE = "unique_within_message"
"""The name of the table's rule."""
RULE_CODE = "rule."
"""The beginning of the reasons of rows that break a rule; the rule's name follows."""


def _literal_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, FractionNumber):
        return value.text
    if isinstance(value, str | int):
        return str(value)
    raise ValueError("expected a string, a number or true/false")


LiteralText = Annotated[str, Form(_literal_text, {"type": ["string", "number", "boolean"]})]
"""A value of a column's type, with the characters that the map has."""


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """What a column's values must be; bounds and values are texts of the column's type.

    - `required`: every row has a value.
    - `least`, `most`: the inclusive bounds of `min` and `max`.
    - `pattern`: a regular expression of RE2 that matches the whole value.
    - `values`: the allowed values.
    - `on_break`: what becomes of a row that breaks a rule; None: what the table says.

    NULL breaks only `required`.
    """

    required: bool = False
    least: str | None = None
    most: str | None = None
    pattern: str | None = None
    values: tuple[str, ...] = ()
    on_break: OnBreak | None = None

    def names(self) -> Iterator[str]:
        """Yield the names of the rules that the column has."""
        given = {
            REQUIRED: self.required,
            MIN: self.least is not None,
            MAX: self.most is not None,
            PATTERN: self.pattern is not None,
            VALUES: bool(self.values),
        }
        return (name for name, is_given in given.items() if is_given)


NO_RULES = ColumnRules()


def whole_match(pattern: str) -> str:
    """Return the regular expression of RE2 that finds a whole value that matches `pattern`."""
    return rf"\A(?:{pattern})\z"
