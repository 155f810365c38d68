"""Single texts of times in declared forms: patterns, ISO 8601, Jackson's arrays, and decimal numbers since 1970.

Each reader returns what a text says, exactly; it knows neither the column nor what the map allows.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kafka2hive.decode.values.epochs import UNITS
from kafka2hive.model.time_patterns import ARRAY, ISO, PatternPart, parse_pattern
from kafka2hive.model.wall_clock import DAY

WALL, INSTANT, DAY_ONLY = 1, 2, 3
"""What a text says: a wall clock, an instant, or a day without a time of day."""


class WrittenTime(NamedTuple):
    """A time as a text says it. `micros` since 1970; `finer`: it has a fraction of a microsecond, which `micros` lacks."""

    kind: int
    micros: int
    finer: bool = False


class NoSuchTime(Exception):
    """A text has the form, but there is no such time. The text says why."""


class TextForm(Protocol):
    """A form of texts."""

    name: str

    def read(self, text: str) -> WrittenTime | None:
        """Return what the text says; None if it does not have this form. Raises NoSuchTime; OverflowError beyond all times."""
        ...

    def words(self) -> object:
        """Return the form in the words that the library reads (native/src/written.rs)."""
        ...


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OFFSETS = {
    "X": "Z|[+-][0-9]{2}(?:[0-9]{2})?",
    "XX": "Z|[+-][0-9]{4}",
    "XXX": "Z|[+-][0-9]{2}:[0-9]{2}",
    "x": "[+-][0-9]{2}(?:[0-9]{2})?",
    "xx": "[+-][0-9]{4}",
    "xxx": "[+-][0-9]{2}:[0-9]{2}",
}
_GROUPS = {
    "year": "y",
    "short year": "yy",
    "month": "M",
    "month name": "MMM",
    "day": "d",
    "hour": "H",
    "clock hour": "h",
    "half": "a",
    "minute": "m",
    "second": "s",
    "fraction": "S",
    "weekday": "E",
    "offset": "X",
    "zone": "VV",
}
_ISO = (
    r"(?P<y>[0-9]{4})-(?P<M>[0-9]{2})-(?P<d>[0-9]{2})"
    r"(?:[T ](?P<H>[0-9]{2}):(?P<m>[0-9]{2})(?::(?P<s>[0-9]{2})(?:\.(?P<S>[0-9]+))?)?"
    r"(?P<X>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_WHOLE = "(?:0|[1-9][0-9]*)"
_ARRAY = (
    rf"\[(?P<y>{_WHOLE}),(?P<M>{_WHOLE}),(?P<d>{_WHOLE})"
    rf"(?:,(?P<H>{_WHOLE}),(?P<m>{_WHOLE})(?:,(?P<s>{_WHOLE})(?:,(?P<nanos>{_WHOLE}))?)?)?\]"
)
_BLANKS = re.compile(r"(?<=[\[,])[ \t\r\n]+|[ \t\r\n]+(?=[\],])")
_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_MOST_DIGITS = 40
"""A number with more digits before its point is beyond every time; what is as far behind it is below every microsecond."""


def time_forms(patterns: Sequence[str], pivot: int | None, zone: str) -> tuple[TextForm, ...]:
    """Return the forms in the order of the map. `pivot`: the first year of two digits; `zone`: the table's.

    Raises PatternError.
    """
    return tuple(form for pattern in patterns for form in _of_pattern(pattern, pivot, zone))


def _of_pattern(pattern: str, pivot: int | None, zone: str) -> Iterator["_Calendar"]:
    if pattern == ISO:
        yield _Calendar(name=ISO, regex=_ISO, words=(ISO,), zone=zone)
    elif pattern == ARRAY:
        yield _Calendar(name=ARRAY, regex=_ARRAY, words=(ARRAY,), zone=zone)
    else:
        for steps in parse_pattern(pattern).alternatives:
            words = ("steps", pivot or 0, [(s.kind, s.least, s.most, s.text) for s in steps])
            yield _Calendar(
                name=pattern, regex="".join(map(_regex, steps)), words=words, zone=zone, pivot=pivot or 0
            )


def _regex(step: PatternPart) -> str:
    match step.kind:
        case "literal":
            return re.escape(step.text)
        case "month name":
            inner = _names(MONTHS, step.most)
        case "weekday":
            inner = _names(WEEKDAYS, step.most)
        case "half":
            inner = "(?ai:AM|PM)"
        case "offset":
            inner = _OFFSETS[step.text]
        case "zone":
            inner = "[A-Za-z][A-Za-z0-9_+/-]*"
        case _:
            inner = f"[0-9]{{{step.least},{step.most}}}"
    return f"(?P<{_GROUPS[step.kind]}>{inner})"


def _names(names: Sequence[str], most: int) -> str:
    return f"(?ai:{'|'.join(name[:most] for name in names)})"


class _Calendar:
    """Texts of calendar fields."""

    def __init__(self, name: str, regex: str, words: object, zone: str, pivot: int = 0) -> None:
        self.name = name
        self._regex = re.compile(regex)
        self._words = words
        self._zone = zone
        self._pivot = pivot

    def words(self) -> object:
        return self._words

    def read(self, text: str) -> WrittenTime | None:
        match = self._regex.fullmatch(_BLANKS.sub("", text) if self.name == ARRAY else text)
        if match is None:
            return None
        fields = {name: value for name, value in match.groupdict().items() if value is not None}
        day = self._day(fields)
        if "H" not in fields and "h" not in fields:
            return WrittenTime(DAY_ONLY, day * DAY)
        digits = fields["nanos"].rjust(9, "0") if "nanos" in fields else fields.get("S", "")
        if len(digits) > 9 and "nanos" in fields:
            raise NoSuchTime("no such nanosecond")
        seconds = _seconds(fields)
        micros = day * DAY + seconds * 1_000_000 + int(digits[:6].ljust(6, "0"))
        finer = bool(digits[6:].strip("0"))
        if "VV" in fields:
            return self._in_zone(fields["VV"], fields.get("X"), micros, finer)
        if "X" in fields:
            return WrittenTime(INSTANT, micros - _offset(fields["X"]), finer)
        return WrittenTime(WALL, micros, finer)

    def _day(self, fields: dict[str, str]) -> int:
        if "yy" in fields:
            fields = {**fields, "y": str(self._pivot + (int(fields["yy"]) - self._pivot) % 100)}
        year = _bounded(fields["y"], 9999, "year")
        month = _number_of(fields["MMM"], MONTHS) if "MMM" in fields else _bounded(fields["M"], 12, "month")
        try:
            day = date(year, month, _bounded(fields["d"], 31, "day"))
        except ValueError as error:
            raise NoSuchTime("no such day") from error
        if "E" in fields and _number_of(fields["E"], WEEKDAYS) != day.isoweekday():
            raise NoSuchTime(f"that day is a {WEEKDAYS[day.weekday()]}")
        return (day - date(1970, 1, 1)).days

    def _in_zone(self, name: str, offset: str | None, wall: int, finer: bool) -> WrittenTime:
        """Return a time of a zone: the wall clock if the zone is the table's, otherwise the one instant with this wall clock."""
        if offset is None and name == self._zone:
            return WrittenTime(WALL, wall, finer)
        instants = _instants(name, wall)
        if offset is not None:
            instants &= {wall - _offset(offset)}
            if not instants:
                raise NoSuchTime(f"{name} does not have this offset then")
        if len(instants) != 1:
            what = "two instants have" if instants else "no instant has"
            raise NoSuchTime(f"{what} this wall clock in {name}")
        return WrittenTime(INSTANT, instants.pop(), finer)


def _bounded(digits: str, most: int, what: str) -> int:
    if len(digits) > 9 or int(digits) > most:
        raise NoSuchTime(f"no such {what}")
    return int(digits)


def _seconds(fields: dict[str, str]) -> int:
    if "h" in fields:
        hour = _bounded(fields["h"], 12, "hour")
        if not hour:
            raise NoSuchTime("no such hour before noon or after it")
        hour = hour % 12 + 12 * (fields["a"].upper() == "PM")
    else:
        hour = _bounded(fields["H"], 23, "hour")
    minute, second = (
        _bounded(fields.get(name, "0"), 59, what) for name, what in (("m", "minute"), ("s", "second"))
    )
    return hour * 3_600 + minute * 60 + second


def _offset(text: str) -> int:
    """Return an offset from UTC in microseconds."""
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise NoSuchTime("no such offset")
    return (hours * 60 + minutes) * 60_000_000 * (-1 if text[0] == "-" else 1)


def _number_of(name: str, names: Sequence[str]) -> int:
    return 1 + next(number for number, other in enumerate(names) if other[:3].lower() == name[:3].lower())


def _instants(name: str, wall: int) -> set[int]:
    """Return the instants whose wall clock in a zone is `wall`: one, none in a gap, two where clocks are set back."""
    if name == "Z":
        return {wall}
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise NoSuchTime(f"the zone {name[:60]} is not known here") from error
    local = datetime(1970, 1, 1) + timedelta(microseconds=wall)
    instants = set()
    for fold in (0, 1):
        offset = local.replace(tzinfo=zone, fold=fold).utcoffset()
        assert offset is not None
        try:
            instant = local - offset
            back = instant.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        except OverflowError as error:
            raise NoSuchTime("beyond the years 1 to 9999") from error
        if back == local:
            instants.add(wall - offset // timedelta(microseconds=1))
    return instants


class DecimalEpoch:
    """Numbers, in JSON's form, of a unit since 1970."""

    def __init__(self, unit: str) -> None:
        self.name = f"a number of {unit} since 1970"
        self._factor, self._divisor = UNITS[unit]

    def words(self) -> object:
        return ("number", self._factor, self._divisor)

    def read(self, text: str) -> WrittenTime | None:
        match = _NUMBER.fullmatch(text)
        if match is None:
            return None
        sign, whole, fraction, exponent = match.groups("")
        shifted = whole + fraction
        digits = shifted.strip("0")
        if not digits:
            return WrittenTime(INSTANT, 0)
        power = _power(exponent) - len(fraction) + len(shifted) - len(shifted.rstrip("0"))
        size = len(digits) + power
        if size > _MOST_DIGITS:
            raise OverflowError
        if size < -_MOST_DIGITS:
            digits, power = "1", -_MOST_DIGITS  # so small that only its sign matters
        elif len(digits) > 2 * _MOST_DIGITS:
            power += len(digits) - 2 * _MOST_DIGITS - 1
            digits = digits[: 2 * _MOST_DIGITS] + "1"  # what is below every microsecond is only not zero
        number = int(sign + digits) * self._factor * 10 ** max(power, 0)
        micros, rest = divmod(number, self._divisor * 10 ** max(-power, 0))
        return WrittenTime(INSTANT, micros, rest != 0)


def _power(exponent: str) -> int:
    """Return an exponent, at most so large that it is certainly beyond every time, or below every microsecond."""
    if len(exponent.lstrip("+-0")) > 6:
        return -(10**6) if exponent.startswith("-") else 10**6
    return int(exponent or 0)
