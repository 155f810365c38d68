"""Times that sampled values hold in other forms than ISO 8601, and the keys of a column that reads them."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafka2hive.decode.values.time_forms import NoSuchTime, time_forms
from kafka2hive.model.text import counted
from kafka2hive.model.time_patterns import ARRAY

_MAIL = ("[EEE, ]d MMM yyyy HH:mm[:ss] VV", "[EEE, ]d MMM yyyy HH:mm[:ss] Z")
_TIMES: tuple[tuple[str, ...], ...] = (
    *((f"{day} HH:mm:ss",) for day in ("dd/MM/yyyy", "MM/dd/yyyy", "dd.MM.yyyy", "yyyy/MM/dd", "dd-MM-yyyy")),
    *((f"{day} HH:mm",) for day in ("dd/MM/yyyy", "MM/dd/yyyy", "dd.MM.yyyy", "yyyy/MM/dd", "dd-MM-yyyy")),
    *((f"{day} h:mm:ss a",) for day in ("M/d/yyyy", "d/M/yyyy", "MMM d, yyyy")),
    *((f"{day} h:mm a",) for day in ("M/d/yyyy", "d/M/yyyy", "MMM d, yyyy")),
    _MAIL,
    ("EEE MMM dd HH:mm:ss VV yyyy",),
    ("dd/MMM/yyyy:HH:mm:ss Z",),
    ("dd-MMM-yyyy HH:mm:ss",),
    ("yyyy-MM-dd HH:mm:ss VV",),
    ("yyyy-MM-dd HH:mm:ss Z",),
    ("yyyy-MM-dd HH:mm:ss,SSS",),
    ("dd-MMM-yy hh.mm.ss[.SSSSSS] a",),
    ("yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]XXX'['VV']'",),
    ("yyyy-MM-dd-HH.mm.ss.SSSSSS",),
    ("yyyyMMddHHmmss",),
    ("yyyyMMddHHmmssSSS",),
    ("yyyyMMdd'T'HHmmssX",),
)
_DAYS: tuple[tuple[str, ...], ...] = tuple(
    (day,)
    for day in (
        "dd/MM/yyyy",
        "MM/dd/yyyy",
        "dd.MM.yyyy",
        "yyyy/MM/dd",
        "dd-MM-yyyy",
        "dd-MMM-yyyy",
        "dd-MMM-yy",
        "M/d/yyyy",
        "d/M/yyyy",
        "d.M.yyyy",
        "yyyyMMdd",
    )
)
_TIME_ARRAYS, _DAY_ARRAYS = ("array of a time",), ("array of a day",)
_STRICTER = {"M/d/yyyy": "MM/dd/yyyy", "d/M/yyyy": "dd/MM/yyyy", "d.M.yyyy": "dd.MM.yyyy"}
"""By pattern of one or two digits, the pattern of two that is drafted instead if it fits all values, too."""
_SHORT_YEAR = re.compile("(?<!y)yy(?!y)")
_PIVOT = 1970
_FORMS = {
    patterns: time_forms(patterns, _PIVOT if _SHORT_YEAR.search(patterns[0]) else None, "UTC")
    for patterns in (*_TIMES, *_DAYS)
}
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_FIRST_SECOND, _LAST_SECOND = 946_684_800, 4_102_444_800  # the years 2000 to 2100
_LONGEST = 64
_DIGITS = re.compile("[0-9]{4}|-[A-Za-z]{3}-[0-9]{2}")
"""What each form has."""
_EPOCH = re.compile(r"[0-9]{10,19}|[0-9]{10}\.[0-9]{1,12}")
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_OF_DAY = 3
_PARTS_OF_ARRAY = (_OF_DAY, 5, 6, 7)
_ENOUGH = 0.98
"""The share of values that a form must fit."""
SECONDS, FINER_SECONDS = ("seconds",), ("seconds finer than a microsecond",)
_QUOTED_SECONDS = ("seconds with a fraction, in quotes",)

_MICROSECOND_DIGITS = 6

Form = tuple[str, ...]
"""Patterns that a column tries, or a word for other forms."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column that reads times. `note` says to the map's reader why."""

    type: str
    leeway: tuple[str, ...]
    note: str
    unit: str | None = None


def forms_of(value: Any) -> Iterator[Form]:
    """Yield the forms of times that a value has, apart from ISO 8601 and whole numbers since 1970."""
    if isinstance(value, float):
        if _FIRST_SECOND <= value <= _LAST_SECOND:
            yield SECONDS if round(value, 6) == value else FINER_SECONDS
    elif isinstance(value, list):
        if _is_array_of_time(value):
            yield _DAY_ARRAYS if len(value) == _OF_DAY else _TIME_ARRAYS
    elif isinstance(value, str | int) and not isinstance(value, bool):
        text = str(value)
        if len(text) <= _LONGEST and _DIGITS.search(text):
            yield from (patterns for patterns in _FORMS if _fits(text, patterns))
            yield from _epochs(text, is_quoted=isinstance(value, str))


def unit_of(low: int, high: int) -> str | None:
    """Return the unit in which whole numbers of this size would count from 1970; None if there is none."""
    units = (u for u, n in UNITS.items() if _FIRST_SECOND * n <= low and high <= _LAST_SECOND * n)
    return next(units, None)


def _epochs(text: str, is_quoted: bool) -> Iterator[Form]:
    if not _EPOCH.fullmatch(text):
        return
    seconds, point, fraction = text.partition(".")
    unit = unit_of(int(seconds), int(seconds))
    if unit is not None and not point:
        yield _epoch_form(unit)
    elif unit == "s" and is_quoted:
        yield _QUOTED_SECONDS
        yield SECONDS if len(fraction.rstrip("0")) <= _MICROSECOND_DIGITS else FINER_SECONDS


def _epoch_form(unit: str) -> Form:
    return ("number since 1970", unit)


def _fits(text: str, patterns: Form) -> bool:
    for form in _FORMS[patterns]:
        try:
            if (time := form.read(text)) is not None:
                return _FIRST_YEAR <= 1970 + time.micros / 31_556_952_000_000 <= _LAST_YEAR
        except NoSuchTime:
            continue
    return False


def _is_array_of_time(value: list[Any]) -> bool:
    if len(value) not in _PARTS_OF_ARRAY or any(type(part) is not int for part in value):
        return False
    most = (_LAST_YEAR, 12, 31, 23, 59, 59, 999_999_999)
    least = (_FIRST_YEAR, 1, 1, 0, 0, 0, 0)
    return all(low <= part <= high for low, part, high in zip(least, value, most, strict=False))


def time_column(
    forms: Counter[Form], kinds: Counter[str], place: str, is_named_time: bool
) -> TimeColumn | None:
    """Return the column for values of these kinds with these forms; None if they are not times in one form.

    `is_named_time`: the name says that it is a time, which numbers and digits alone do not.
    """
    total = kinds.total() - kinds["empty"]
    if not total:
        return None
    values = _Values(forms, kinds, place, total)
    if is_named_time and (numbers := _seconds(values) or _quoted_numbers(values)):
        return numbers
    if texts := _finer(values) or _days_among_times(values) or _arrays(values):
        return texts
    fitting = [patterns for patterns in (*_TIMES, *_DAYS) if forms[patterns] >= max(values.enough, 1)]
    if not is_named_time:
        fitting = [patterns for patterns in fitting if patterns != ("yyyyMMdd",)]
    fitting = [patterns for patterns in fitting if (_STRICTER.get(patterns[0], ""),) not in fitting]
    return _of_patterns(values, fitting)


@dataclass(frozen=True, slots=True)
class _Values:
    """The values at a place that are neither null nor empty, by form and by kind."""

    forms: Counter[Form]
    kinds: Counter[str]
    place: str
    total: int

    @property
    def enough(self) -> int:
        """The number of values that a form must fit."""
        return math.ceil(_ENOUGH * self.total)

    @property
    def empty(self) -> tuple[str, ...]:
        """The key that takes empty strings, if there are any."""
        return ("empty: null",) if self.kinds["empty"] else ()


def _seconds(values: _Values) -> TimeColumn | None:
    forms, kinds = values.forms, values.kinds
    fractions = forms[SECONDS] + forms[FINER_SECONDS]
    if not fractions or fractions + forms[_epoch_form("s")] < values.enough:
        return None
    if not kinds["fraction"] and not forms[_QUOTED_SECONDS]:
        return None
    quoted = ("quoted: accept",) if forms[_QUOTED_SECONDS] or kinds["quoted"] else ()
    cut = ("fraction: truncate",) if forms[FINER_SECONDS] else ()
    keys = ("epoch: decimal", *quoted, *cut, *values.empty)
    note = f"{values.place} has seconds since 1970 with a fraction: unit: s, epoch: decimal"
    return TimeColumn("timestamp", keys, note, unit="s")


def _quoted_numbers(values: _Values) -> TimeColumn | None:
    fitting = (unit for unit in UNITS if values.forms[_epoch_form(unit)] >= values.enough)
    if values.kinds["whole"] == values.total or (unit := next(fitting, None)) is None:
        return None
    cut = ("fraction: truncate",) if unit == "ns" else ()
    note = f"{values.place} has numbers in quotes that count from 1970: unit: {unit}, quoted: accept"
    note += ", fraction: truncate" if cut else ""
    return TimeColumn("timestamp", ("quoted: accept", *cut, *values.empty), note, unit=unit)


def _finer(values: _Values) -> TimeColumn | None:
    finer = values.kinds["finer"]
    if not finer or finer + values.kinds["timestamp"] < values.enough:
        return None
    note = (
        f"{values.place} has {counted(finer, 'time')} finer than a microsecond: fraction: truncate cuts them, and counts them;"
        " a string keeps all digits"
    )
    return TimeColumn("timestamp", ("fraction: truncate", *values.empty), note)


def _days_among_times(values: _Values) -> TimeColumn | None:
    days, times = values.kinds["date"], values.kinds["timestamp"]
    if min(days, times) <= values.total - values.enough or days + times < values.enough:
        return None
    note = f"{values.place} has days ({days}) among times: time_of_day: midnight takes them"
    return TimeColumn("timestamp", ("time_of_day: midnight", *values.empty), note)


def _arrays(values: _Values) -> TimeColumn | None:
    times, days = values.forms[_TIME_ARRAYS], values.forms[_DAY_ARRAYS]
    if times + days < values.enough:
        return None
    midnight = ("time_of_day: midnight",) if times and days else ()
    kind = "timestamp" if times else "date"
    note = f"{values.place} has arrays of the parts of a {kind}: time_pattern: {ARRAY}"
    return TimeColumn(kind, (f"time_pattern: {ARRAY}", *midnight, *values.empty), note)


def _of_patterns(values: _Values, fitting: list[Form]) -> TimeColumn | None:
    if not fitting:
        return None
    best = max(fitting, key=lambda patterns: values.forms[patterns])
    named = " or ".join(" and ".join(patterns) for patterns in fitting)
    if len(fitting) > 1:
        note = (
            f"{values.place} has times that fit several patterns ({named}): choose one, as time_pattern:"
            f" {_text(fitting[0])}"
        )
        return TimeColumn("string", (), note)
    kind = "date" if best in _DAYS else "timestamp"
    others = values.total - values.forms[best]
    rest = (
        f"; {counted(others, 'value')} in another form {'is a dead letter' if others == 1 else 'are dead letters'}"
        if others
        else ""
    )
    note = f"{values.place} has times in the pattern {named}{rest}"
    pivot = (f"pivot: {_PIVOT}",) if _SHORT_YEAR.search(best[0]) else ()
    return TimeColumn(kind, (f"time_pattern: {_text(best)}", *pivot, *values.empty), note)


def _text(patterns: Form) -> str:
    texts = ['"' + pattern.replace('"', '\\"') + '"' for pattern in patterns]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
