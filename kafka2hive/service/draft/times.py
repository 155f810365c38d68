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
        "yyyyMMdd",
    )
)
_TIME_ARRAYS, _DAY_ARRAYS = ("array of a time",), ("array of a day",)
_FORMS = {patterns: time_forms(patterns, None, "UTC") for patterns in (*_TIMES, *_DAYS)}
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_FIRST_SECOND, _LAST_SECOND = 946_684_800, 4_102_444_800  # the years 2000 to 2100
_LONGEST = 64
_DIGITS = re.compile("[0-9]{4}")
_OF_DAY = 3
_PARTS_OF_ARRAY = (_OF_DAY, 5, 6, 7)
_ENOUGH = 0.98
"""The share of values that a form must fit."""
SECONDS, FINER_SECONDS = ("seconds",), ("seconds finer than a microsecond",)

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
    enough = math.ceil(_ENOUGH * total)
    empty = ("empty: null",) if kinds["empty"] else ()
    if not total:
        return None
    if forms[SECONDS] + forms[FINER_SECONDS] + kinds["whole"] >= enough and kinds["fraction"]:
        if not is_named_time or forms[SECONDS] + forms[FINER_SECONDS] < _ENOUGH * kinds["fraction"]:
            return None
        cut = ("fraction: truncate",) if forms[FINER_SECONDS] else ()
        note = f"{place} has seconds since 1970 with a fraction: unit: s, epoch: decimal"
        return TimeColumn("timestamp", ("epoch: decimal", *cut, *empty), note, unit="s")
    both = kinds["date"] + kinds["timestamp"]
    if min(kinds["date"], kinds["timestamp"]) > total - enough and both >= enough:
        note = f"{place} has days ({kinds['date']}) among times: time_of_day: midnight takes them"
        return TimeColumn("timestamp", ("time_of_day: midnight", *empty), note)
    if forms[_TIME_ARRAYS] + forms[_DAY_ARRAYS] >= enough:
        is_mixed = forms[_TIME_ARRAYS] and forms[_DAY_ARRAYS]
        midnight = ("time_of_day: midnight",) if is_mixed else ()
        kind = "timestamp" if forms[_TIME_ARRAYS] else "date"
        return TimeColumn(
            kind,
            (f"time_pattern: {ARRAY}", *midnight, *empty),
            f"{place} has arrays of the parts of a {kind}: time_pattern: {ARRAY}",
        )
    fitting = [patterns for patterns in (*_TIMES, *_DAYS) if forms[patterns] >= max(enough, 1)]
    if not is_named_time:
        fitting = [patterns for patterns in fitting if patterns != ("yyyyMMdd",)]
    return _of_patterns(fitting=fitting, forms=forms, place=place, empty=empty, total=total)


def _of_patterns(
    fitting: list[Form], forms: Counter[Form], place: str, empty: tuple[str, ...], total: int
) -> TimeColumn | None:
    if not fitting:
        return None
    best = max(fitting, key=lambda patterns: forms[patterns])
    named = " or ".join(" and ".join(patterns) for patterns in fitting)
    if len(fitting) > 1:
        note = f"{place} has times that fit several patterns ({named}): choose one, as time_pattern: {_text(fitting[0])}"
        return TimeColumn("string", (), note)
    kind = "date" if best in _DAYS else "timestamp"
    others = total - forms[best]
    rest = (
        f"; {counted(others, 'value')} in another form {'is a dead letter' if others == 1 else 'are dead letters'}"
        if others
        else ""
    )
    return TimeColumn(
        kind, (f"time_pattern: {_text(best)}", *empty), f"{place} has times in the pattern {named}{rest}"
    )


def _text(patterns: Form) -> str:
    texts = ['"' + pattern.replace('"', '\\"') + '"' for pattern in patterns]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
