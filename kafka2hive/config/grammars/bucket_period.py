"""The period of time that a bucket's path stands for: which of its time codes make it, and when it is over. Pure."""

import datetime
import re
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from kafka2hive.config.grammars.bucket_path import BucketPath, Code, Part
from kafka2hive.model.paths.partition_path import HIVE_DEFAULT_PARTITION, unescape_partition_value

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
