"""Texts of times in the forms that the map declares, read by Python's own parsers of times.

These parsers are more lenient than a decoder, which does not matter: only rows are judged, whose texts a decoder has accepted.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from kafka2hive.config.keys.columns import Column

_DIRECTIVES = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "M": "%m",
    "MM": "%m",
    "MMM": "%b",
    "MMMM": "%B",
    "d": "%d",
    "dd": "%d",
    "H": "%H",
    "HH": "%H",
    "h": "%I",
    "hh": "%I",
    "m": "%M",
    "mm": "%M",
    "s": "%S",
    "ss": "%S",
    "a": "%p",
    "E": "%a",
    "EE": "%a",
    "EEE": "%a",
    "EEEE": "%A",
    "ZZZZZ": "%z",
    **{letter * size: "%z" for letter in "XxZ" for size in (1, 2, 3)},
    **{"S" * size: "%f" for size in range(1, 7)},
}
"""Patterns with other letters, such as zones by their names, are not judged."""
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_PRIVATE = 0xE000
"""Literals in quotes are characters from here on while a pattern is read."""
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_LETTERS = re.compile(r"([A-Za-z])\1*")
_UNITS = {"s": Decimal(10**6), "ms": Decimal(10**3), "us": Decimal(1), "ns": Decimal("0.001")}
_FIRST_YEAR = 1930
"""Earlier instants are not judged, because sources of time zones differ in them."""


class TextTimes:
    """What the texts of one column of times say."""

    def __init__(self, column: Column, zone: ZoneInfo, is_date: bool) -> None:
        self._column = column
        self._zone = zone
        self._is_date = is_date

    def reading(self, value: Any) -> datetime | date | None:
        """Return what the row must have for a text, a number or an array; None if nothing is known.

        If several patterns fit a text, they must agree. Raises OverflowError for a number outside the years 1 to 9999.
        """
        times = set(self._readings(value))
        return times.pop() if len(times) == 1 else None

    def _readings(self, value: Any) -> Iterator[datetime | date]:
        leeway, unit = self._column.leeway, self._column.unit
        if unit is not None and not isinstance(value, int | str | Decimal):
            return
        if unit is not None:
            if unit == "d":
                yield from self._seen(datetime(1970, 1, 1) + timedelta(days=int(value)))
                return
            number = Decimal(value) * _UNITS[unit]
            yield from self._seen(
                datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=number.__floor__())
            )
            return
        for pattern in leeway.time_pattern or ("iso",):
            try:
                if pattern == "array":
                    moment = _of_array(value)
                elif pattern == "iso":
                    moment = datetime.fromisoformat(_six_digits(value))
                else:
                    moment = _of_pattern(str(value), pattern, leeway.pivot or 0)
            except (ValueError, TypeError, LookupError, OverflowError):
                continue
            yield from self._seen(moment)

    def _seen(self, moment: datetime) -> Iterator[datetime | date]:
        if moment.tzinfo is not None:
            if moment.year < _FIRST_YEAR:
                return
            moment = moment.astimezone(self._zone).replace(tzinfo=None)
        yield moment.date() if self._is_date else moment


def _of_array(value: list[int]) -> datetime:
    hour, minute, second, nanos = [*value[3:], 0, 0, 0, 0][:4]
    return datetime(value[0], value[1], value[2], hour, minute, second, nanos // 1_000)


def _six_digits(text: str) -> str:
    return re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text)


def _of_pattern(text: str, pattern: str, pivot: int) -> datetime:
    """Raise ValueError if the pattern does not fit, or is not judged."""
    for form in _forms(pattern):
        try:
            moment = datetime.strptime(text, form)
        except ValueError:
            continue
        return moment.replace(year=pivot + (moment.year - pivot) % 100) if "%y" in form else moment
    raise ValueError(pattern)


def _forms(pattern: str) -> Iterator[str]:
    """Yield the directives of the pattern with and without each optional part."""
    literals: list[str] = []

    def hide(match: re.Match[str]) -> str:
        literals.append(match[1].replace("''", "'") or "'")
        return chr(_PRIVATE + len(literals) - 1)

    choices = [_QUOTED.sub(hide, pattern)]
    while choices:
        form = choices.pop(0)
        if (part := _OPTIONAL.search(form)) is not None:
            choices += [form[: part.start()] + inner + form[part.end() :] for inner in (part[1], "")]
        elif all(letters[0] in _DIRECTIVES for letters in _LETTERS.finditer(form)):
            directives = _LETTERS.sub(lambda letters: _DIRECTIVES[letters[0]], form.replace("%", "%%"))
            yield re.sub(
                "[\ue000-\uf8ff]", lambda c: literals[ord(c[0]) - _PRIVATE].replace("%", "%%"), directives
            )
