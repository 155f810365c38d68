"""Times outside the years 1 to 9999, and PostgreSQL's `infinity`: NULL, or the first or the last time of a column."""

import re
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.leeway import Beyond
from kafka2hive.decode.contract.spec import BEYOND, Changes
from kafka2hive.decode.values.json_values import LONGEST_BIGINT, Take, ValueRefusal, WholeNumber
from kafka2hive.decode.values.scalars import taker
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock_of

INFINITY = re.compile(r"([+-]?)infinity", re.IGNORECASE)
_YEAR = re.compile(r"([+-]?[0-9]{4,9})(-[0-9]{2}-[0-9]{2}(?:[T ][^B]*)?)( BC)?")
_ZONED = re.compile(r".*(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)", re.DOTALL)
_CYCLE = 146_097 * DAY
"""The length of 400 years of the Gregorian calendar, after which its days repeat."""
_RANGE = "json.range"


def far_times(
    take: Take, dtype: pa.DataType, zone: str, unit: str | None, beyond: Beyond, changes: Changes
) -> Take:
    """Return the function that also takes times that `dtype` cannot hold. `unit`: the unit of numbers; None: texts."""
    edges: dict[bool, Any] = {True: None, False: None}
    if beyond == "clamp":
        edges = {at_end: _value(LATEST if at_end else EARLIEST, dtype) for at_end in edges}

    def far(at_end: bool) -> Any:
        changes.add(BEYOND, 1)
        return edges[at_end]

    def taken(value: Any, path: str) -> Any:
        if type(value) is str and (match := INFINITY.fullmatch(value)):
            return far(match[1] != "-")
        if type(value) is str and unit is None and (match := _far_year(value)):
            micros = _micros(match, dtype, zone, path)
            return _value(micros, dtype) if EARLIEST <= micros <= LATEST else far(micros > LATEST)
        try:
            return take(value, path)
        except ValueRefusal as refusal:
            if refusal.code != _RANGE or not isinstance(value, str) or not _may_be_far(value):
                raise
            at_end = value.startswith("9") if type(value) is str else not value.startswith("-")
            return far(at_end)

    return taken


def _may_be_far(value: str) -> bool:
    """Return whether the value is a text, or a number that a bigint holds."""
    return type(value) is not WholeNumber or (len(value) <= LONGEST_BIGINT and -(2**63) <= int(value) < 2**63)


def _far_year(text: str) -> re.Match[str] | None:
    """Return the parts of a text whose year is not one of 0001 to 9999; None for any other text."""
    match = _YEAR.fullmatch(text)
    if match is None or (match[3] and not match[1].isdecimal()):
        return None
    return match if (match[3] and int(match[1])) or not 1 <= int(match[1]) <= 9999 else None


def _micros(match: re.Match[str], dtype: pa.DataType, zone: str, path: str) -> int:
    """Return the microseconds since 1970 of a text as a wall clock; outside the years 1 to 9999 not moved to the zone.

    Raises ValueRefusal for a day or a time that does not exist.
    """
    year = int(match[1])
    if match[3]:
        year = 1 - year
    cycles, of_cycle = divmod(year, 400)
    alike = f"{2000 + of_cycle}{match[2]}"
    read = taker(dtype, "UTC")(alike, path)
    micros = (read - date(1970, 1, 1)).days * DAY if isinstance(read, date) else int(read)
    micros += (cycles - 5) * _CYCLE
    if dtype == NAIVE and _ZONED.fullmatch(match[2][6:]) and EARLIEST - DAY <= micros <= LATEST + DAY:
        return wall_clock_of(micros, zone)
    return micros


def _value(micros: int, dtype: pa.DataType) -> Any:
    return micros if dtype == NAIVE else date(1970, 1, 1) + timedelta(days=micros // DAY)
