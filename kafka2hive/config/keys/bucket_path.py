"""The grammar of `bucket.path`: `dt=%Y-%m-%d/hr=%H/c={country}`, and the end of a bucket's period.

Levels are separated by `/`, and each is `name=template`. A template mixes plain text, strftime codes (`%%` is a percent sign)
and `{column}` fields (`{{` and `}}` are braces). All time codes are numeric, because names of days and months depend on the
machine's locale, and a replay on another machine must produce the same buckets.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

from kafka2hive.model.instant import in_range
from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION, unescape_partition_value

TIME_CODES = "YymdHMjGV"
_LEVEL_NAME = re.compile(r"[a-z0-9_]+")
_PIECE = re.compile(r"%(?P<code>.?)|(\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<brace>[{}])|(?P<text>[^%{}]+)")
_DIGITS = {"Y": 4, "G": 4, "j": 3}
"""The number of digits of a time code; 2 for all others."""
_DAY_MS = 86_400_000
_TWO_DIGIT_YEARS = 69
"""The first two-digit year that means 19xx, as in strptime; smaller ones mean 20xx."""


@dataclass(frozen=True, slots=True)
class Code:
    """A strftime code, e.g. `Y`."""

    letter: str


@dataclass(frozen=True, slots=True)
class PathField:
    """The text of a column of the row."""

    column: str


Part = str | Code | PathField


@dataclass(frozen=True, slots=True)
class BucketPath:
    """A parsed path: a level is a partition column and the parts of its value, the outermost first; `faults` are messages."""

    levels: tuple[tuple[str, tuple[Part, ...]], ...]
    faults: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The partition columns, the outermost first."""
        return tuple(name for name, _ in self.levels)

    def can_make(self, hive_partition: str) -> bool:
        """Return whether a record can lead to this partition (`dt=2013-01-17`); its period exists, if the path has one."""
        names = tuple(level.partition("=")[0].lower() for level in hive_partition.split("/"))
        if names != tuple(name.lower() for name in self.names):
            return False
        return period_of(self) is None or BucketEnds(self, "UTC").end_ms(hive_partition) is not None

    @property
    def codes(self) -> tuple[str, ...]:
        """The strftime codes in order of appearance."""
        return tuple(part.letter for part in self._parts() if isinstance(part, Code))

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns in order of appearance."""
        return tuple(part.column for part in self._parts() if isinstance(part, PathField))

    def _parts(self) -> Iterator[Part]:
        for _, parts in self.levels:
            yield from parts


@lru_cache(1_000)
def read_bucket_path(text: str) -> BucketPath:
    """Parse a path and collect all its faults. An empty path has no levels."""
    levels: list[tuple[str, tuple[Part, ...]]] = []
    faults: list[str] = []
    for level in text.split("/") if text else []:
        name, equals, template = level.partition("=")
        if not equals or not template:
            faults.append(f"each part must be name=value, found {level!r}")
            continue
        if not _LEVEL_NAME.fullmatch(name):
            faults.append(f"{name!r} is not a valid name of a partition column: use a-z, 0-9 and _")
        elif any(name == other for other, _ in levels):
            faults.append(f"the partition column {name} is repeated")
        levels.append((name, tuple(_parts(template, level, faults))))
    return BucketPath(tuple(levels), tuple(faults))


def _parts(template: str, level: str, faults: list[str]) -> Iterator[Part]:
    for piece in _PIECE.finditer(template):
        code, field, brace = piece["code"], piece["field"], piece["brace"]
        if code is not None and code != "%":
            if code not in TIME_CODES or not code:  # `in` alone would accept "", the code of a % at the end
                allowed = " ".join(f"%{known}" for known in TIME_CODES)
                faults.append(f"%{code} is not supported; expected one of {allowed} %%")
            yield Code(code)
        elif field is not None:
            yield PathField(field)
        elif brace:
            faults.append(f"a single {brace} in {level!r}: write {brace * 2} for a brace")
        else:
            yield piece["text"] or piece[0][0]  # text, or one character for `{{`, `}}` or `%%`


def period_of(path: BucketPath) -> str | None:
    """Return the period that the codes name: year, month, week, day, hour or minute.

    None if they do not name one period, e.g. an hour without a day or a month without a year.
    """
    codes = set(path.codes)
    year = bool(codes & {"Y", "y"})
    day = year and (codes >= {"m", "d"} or "j" in codes)
    inner = codes & {"H", "M"}
    if inner:
        if not day or "H" not in codes:
            return None
        return "minute" if "M" in codes else "hour"
    if day:
        return "day"
    if codes >= {"G", "V"}:
        return "week"
    if year and not codes & {"d", "V", "G"}:
        return "month" if "m" in codes else "year"
    return None


class BucketEnds:
    """Computes when a bucket's period ends, by the wall clock of `zone`. Raises ValueError if the path has no period."""

    def __init__(self, path: BucketPath, zone: str) -> None:
        unit = period_of(path)
        if unit is None:
            raise ValueError("the path's time codes do not name a period")
        self._unit = unit
        self._zone = ZoneInfo(zone)
        self._first = {code: 0 if code in "HM" else 1 for code in path.codes}
        self._levels = [(name, _pattern(parts)) for name, parts in path.levels if _codes(parts)]

    def end_ms(self, hive_partition: str) -> int | None:
        """Return the first moment after the period, in milliseconds since 1970; None if the path names no time.

        `hive_partition` is the partition's path, such as `dt=2013-01-17`.
        """
        numbers = self._numbers(hive_partition, self._levels)
        return None if numbers is None else self._end_ms(numbers)

    def may_have_ended(self, directory: str, before_ms: int) -> bool:
        """Return False if no period of a partition below a directory ended at or before `before_ms`.

        `directory` has the outer levels of a partition's path, such as `year=2013`.
        """
        names = {level.partition("=")[0] for level in directory.split("/")}
        numbers = self._numbers(directory, [level for level in self._levels if level[0] in names])
        if numbers is None:
            return False
        if not numbers.keys() & {"Y", "y", "G"}:
            return True
        first = self._end_ms({**self._first, **numbers})
        # a day's hours may end in another order where the clock is put forward
        return first is None or first - _DAY_MS <= before_ms

    def _numbers(
        self, hive_partition: str, levels: Iterable[tuple[str, re.Pattern[str]]]
    ) -> dict[str, int] | None:
        values = dict(level.partition("=")[::2] for level in hive_partition.split("/"))
        numbers: dict[str, int] = {}
        for name, pattern in levels:
            value = values.get(name, HIVE_DEFAULT_PARTITION)
            match = None
            if value != HIVE_DEFAULT_PARTITION:
                match = pattern.fullmatch(unescape_partition_value(value))
            if match is None:
                return None
            numbers.update({code: int(text) for code, text in match.groupdict().items()})
        return numbers

    def _end_ms(self, numbers: Mapping[str, int]) -> int | None:
        earlier = 0
        for code in {"Y", "G"} & numbers.keys():
            year, earlier = in_range(numbers[code])  # the last period of the year 9999 ends after it
            numbers = {**numbers, code: year}
        try:
            return self._instant_ms(_end(self._unit, numbers)) + earlier * 1000
        except (ValueError, OverflowError):
            return None  # a directory made by hand, with an impossible date

    def _instant_ms(self, wall: datetime.datetime) -> int:
        """Return the instant of a wall-clock time; the later one if the zone has this time twice or never."""
        readings = (wall.replace(tzinfo=self._zone, fold=fold).timestamp() for fold in (0, 1))
        return int(max(readings)) * 1000


def _codes(parts: tuple[Part, ...]) -> list[str]:
    return [part.letter for part in parts if isinstance(part, Code)]


def _pattern(parts: tuple[Part, ...]) -> re.Pattern[str]:
    """Return the pattern of a level's values; a repeated code must have the same digits."""
    pieces, seen = [], set[str]()
    for part in parts:
        if isinstance(part, str):
            pieces.append(re.escape(part))
        elif not isinstance(part, Code):
            pieces.append(".*?")
        elif part.letter in seen:
            pieces.append(f"(?P={part.letter})")
        else:
            seen.add(part.letter)
            pieces.append(f"(?P<{part.letter}>[0-9]{{{_DIGITS.get(part.letter, 2)}}})")
    return re.compile("".join(pieces), re.DOTALL)


def _end(unit: str, numbers: Mapping[str, int]) -> datetime.datetime:
    """Return the first moment after the period. Raises ValueError or OverflowError for an impossible date."""
    if unit == "week":
        return datetime.datetime.fromisocalendar(numbers["G"], numbers["V"], 1) + datetime.timedelta(weeks=1)
    year = numbers["Y"] if "Y" in numbers else _four_digits(numbers["y"])
    if unit == "year":
        return datetime.datetime(year, 1, 1).replace(year=year + 1)  # the constructor rejects year 0
    if unit == "month":
        month = datetime.datetime(year, numbers["m"], 1).month
        return datetime.datetime(year + month // 12, month % 12 + 1, 1)
    day = _day(year, numbers)
    begin = day.replace(hour=numbers.get("H", 0), minute=numbers.get("M", 0))
    return begin + datetime.timedelta(**{f"{unit}s": 1})


def _day(year: int, numbers: Mapping[str, int]) -> datetime.datetime:
    if "j" not in numbers:
        return datetime.datetime(year, numbers["m"], numbers["d"])
    day = datetime.datetime(year, 1, 1) + datetime.timedelta(days=numbers["j"] - 1)
    if day.year != year:
        raise ValueError(f"the year {year} has no day {numbers['j']}")
    return day


def _four_digits(year: int) -> int:
    return year + (1900 if year >= _TWO_DIGIT_YEARS else 2000)
