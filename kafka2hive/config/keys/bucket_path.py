"""The grammar of `bucket.path`: `dt=%Y-%m-%d/hr=%H/c={country}`.

Levels are separated by `/`, each is `name=template`; a template mixes plain text, strftime codes (`%%` is a percent sign)
and `{column}` fields (`{{` and `}}` are braces). All time codes are numeric: names of days and months depend on the
machine's locale, and a replay on another machine must land in the same bucket.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from kafka2hive.model.paths.partition_path import HIVE_DEFAULT_PARTITION, unescape_partition_value

TIME_CODES = "YymdHMjGV"
_LEVEL_NAME = re.compile(r"[a-z0-9_]+")
_PIECE = re.compile(r"%(?P<code>.?)|(\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<brace>[{}])|(?P<text>[^%{}]+)")


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
    """`levels`: partition column and the parts of its value, from the outermost directory on; `faults` in words."""

    levels: tuple[tuple[str, tuple[Part, ...]], ...]
    faults: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.levels)

    @property
    def codes(self) -> tuple[str, ...]:
        """strftime codes in order of appearance."""
        return tuple(part.letter for part in self._parts() if isinstance(part, Code))

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns in order of appearance."""
        return tuple(part.column for part in self._parts() if isinstance(part, PathField))

    def _parts(self) -> Iterator[Part]:
        for _, parts in self.levels:
            yield from parts


def read_bucket_path(text: str) -> BucketPath:
    """What a partition path template is made of, with everything that is wrong with it. Empty: no levels."""
    levels: list[tuple[str, tuple[Part, ...]]] = []
    faults: list[str] = []
    for level in text.split("/") if text else []:
        name, equals, template = level.partition("=")
        if not equals or not template:
            faults.append(f"each part must be name=value, found {level!r}")
            continue
        if not _LEVEL_NAME.fullmatch(name):
            faults.append(f"{name!r} is not a valid name of a partition column: use a-z, 0-9 and _")
        elif any(name == known for known, _ in levels):
            faults.append(f"the partition column {name} is repeated")
        levels.append((name, tuple(_parts(template, level, faults))))
    return BucketPath(tuple(levels), tuple(faults))


def _parts(template: str, level: str, faults: list[str]) -> Iterator[Part]:
    for piece in _PIECE.finditer(template):
        code, field, brace = piece["code"], piece["field"], piece["brace"]
        if code is not None and code != "%":
            if code not in TIME_CODES or not code:
                allowed = " ".join(f"%{known}" for known in TIME_CODES)
                faults.append(f"%{code} is not supported; expected one of {allowed} %%")
            yield Code(code)
        elif field is not None:
            yield PathField(field)
        elif brace:
            faults.append(f"a single {brace} in {level!r}: write {brace * 2} for a brace")
        else:
            yield piece["text"] or piece[0][0]


_DIGITS = {"Y": 4, "G": 4, "j": 3}
"""How many a code's text has; two for all others."""
_TWO_DIGIT_YEARS = 69  # from here on they are of the last century, as strptime takes them


def period_of(path: BucketPath) -> str | None:
    """Year, month, week, day, hour or minute.

    None where the codes name no single period: there are none, an hour without its day, a month without its year.
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
    """When the bucket of a Hive partition is over, by the wall clock of `zone`. `path` has a period."""

    def __init__(self, path: BucketPath, zone: str) -> None:
        unit = period_of(path)
        if unit is None:
            raise ValueError("the path's time codes name no period")
        self._unit = unit
        self._zone = ZoneInfo(zone)
        self._levels = [(name, _pattern(parts)) for name, parts in path.levels if _codes(parts)]

    def end_ms(self, hive_partition: str) -> int | None:
        """Epoch milliseconds of the first moment after it; None for one that has no time (Hive's default partition)."""
        values = dict(level.partition("=")[::2] for level in hive_partition.split("/"))
        numbers: dict[str, int] = {}
        for name, pattern in self._levels:
            value = values.get(name, HIVE_DEFAULT_PARTITION)
            found = None
            if value != HIVE_DEFAULT_PARTITION:
                found = pattern.fullmatch(unescape_partition_value(value))
            if found is None:
                return None
            numbers.update({code: int(text) for code, text in found.groupdict().items()})
        try:
            return self._instant_ms(_end(self._unit, numbers))
        except (ValueError, OverflowError):
            return None  # written by hand: no such day

    def _instant_ms(self, wall: datetime.datetime) -> int:
        """A wall clock that happens twice, or never, counts as the later of its two readings."""
        readings = (wall.replace(tzinfo=self._zone, fold=fold).timestamp() for fold in (0, 1))
        return int(max(readings)) * 1000


def _codes(parts: tuple[Part, ...]) -> list[str]:
    return [part.letter for part in parts if isinstance(part, Code)]


def _pattern(parts: tuple[Part, ...]) -> re.Pattern[str]:
    """The value of one level; a code that stands there twice has the same digits twice."""
    written, seen = [], set[str]()
    for part in parts:
        if isinstance(part, str):
            written.append(re.escape(part))
        elif not isinstance(part, Code):
            written.append(".*?")
        elif part.letter in seen:
            written.append(f"(?P={part.letter})")
        else:
            seen.add(part.letter)
            written.append(f"(?P<{part.letter}>[0-9]{{{_DIGITS.get(part.letter, 2)}}})")
    return re.compile("".join(written), re.DOTALL)


def _end(unit: str, numbers: Mapping[str, int]) -> datetime.datetime:
    """Raises ValueError, OverflowError: there is no such time."""
    if unit == "week":
        return datetime.datetime.fromisocalendar(numbers["G"], numbers["V"], 1) + datetime.timedelta(weeks=1)
    year = numbers["Y"] if "Y" in numbers else _four_digits(numbers["y"])
    if unit == "year":
        return datetime.datetime(year, 1, 1).replace(year=year + 1)
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
