"""Leeway: values that a column accepts in addition to those of its type."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Key, PropertyText

Fraction = Literal["exact", "truncate"]
DecimalText = Literal["text", "base64"]
UnknownEnum = Literal["refuse", "name", "null"]
OtherJson = Literal["refuse", "text", "canonical"]
Quoted = Literal["refuse", "accept"]
Empty = Literal["refuse", "null"]
Whole = Literal["refuse", "accept"]
NonFinite = Literal["refuse", "null", "keep"]
Beyond = Literal["refuse", "null", "clamp"]
TimeOfDay = Literal["refuse", "drop", "midnight"]
EpochNumber = Literal["whole", "decimal"]


@dataclass(frozen=True, slots=True)
class BooleanWords:
    """Words for true and false: a string, or the characters of a number."""

    true: Annotated[
        tuple[PropertyText, ...], Key("Words for true.", written="list", shortest=1, example='["Y", 1]')
    ]
    false: Annotated[
        tuple[PropertyText, ...], Key("Words for false.", written="list", shortest=1, example='["N", 0]')
    ]


def _spellings(*words: str) -> tuple[str, ...]:
    """Return each word in lower case, in upper case, and with a capital."""
    return tuple(dict.fromkeys(form for word in words for form in (word, word.upper(), word.title())))


PLAIN_WORDS = BooleanWords(
    _spellings("true", "yes", "y", "on", "1"), _spellings("false", "no", "n", "off", "0")
)
"""The words of `booleans: words`."""


@dataclass(frozen=True, slots=True)
class NumberMarks:
    """The marks of numbers in strings."""

    thousands: Annotated[
        str,
        Key(
            "Character between groups of three digits, for example `.`, `,`, a blank or `'`. Empty: no groups.",
            written="character",
        ),
    ] = ""
    decimal: Annotated[str, Key("Character before the fraction: `.` or `,`.", written="character")] = "."


@dataclass(frozen=True, slots=True)
class Leeway:
    """Values that a column accepts in addition to those of its type (docs/decoding.md); values that change are counted.

    - `fraction`: whether a time finer than a microsecond is a dead letter or is truncated.
    - `others`: alternative paths to the value, for other producers.
    - `default`: the value instead of NULL, as text.
    - `decimals`: the encoding in JSON: strings and numbers, or Kafka Connect's bytes.
    - `unknown_enum`: what an enum's number without a name becomes in Protobuf: a dead letter, its digits, or NULL.
    - `json`: what a JSON value that is no string becomes in a column of strings: a dead letter, its characters, or its
      canonical text.
    - `quoted`: whether JSON may have a number or a boolean in a string.
    - `empty`: what an empty JSON string becomes in a column of another type: a dead letter, or NULL.
    - `whole`: whether a column of integers takes numbers such as `1.0` and `1e3`.
    - `booleans`: words that are true or false; None: only JSON's.
    - `numbers`: the marks of numbers in strings; None: strings are no such numbers.
    - `non_finite`: what NaN and the infinities become: a dead letter, NULL, or the same value.
    - `beyond`: what a time outside the years 1 to 9999 becomes: a dead letter, NULL, or the nearest time within.
    - `time_pattern`: the forms of a time's texts in the order in which they are tried, empty for ISO 8601; `pivot`: the first
      year that two digits stand for.
    - `time_of_day`: what becomes of a time of day that a column of dates cannot hold (`drop`), and the time of a day in a
      column of timestamps (`midnight`).
    - `epoch`: whether a number with a unit may have a fraction.
    """

    fraction: Fraction = "exact"
    others: tuple[tuple[str, ...], ...] = ()
    default: str | None = None
    decimals: DecimalText = "text"
    unknown_enum: UnknownEnum = "refuse"
    json: OtherJson = "refuse"
    quoted: Quoted = "refuse"
    empty: Empty = "refuse"
    whole: Whole = "refuse"
    booleans: BooleanWords | None = None
    numbers: NumberMarks | None = None
    non_finite: NonFinite = "refuse"
    beyond: Beyond = "refuse"
    time_pattern: tuple[str, ...] = ()
    pivot: int | None = None
    time_of_day: TimeOfDay = "refuse"
    epoch: EpochNumber = "whole"


STRICT = Leeway()
