"""One JSON value into a date or a timestamp: cells of the acceptance table."""

import re
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from kafka2hive.pipeline.decode.epochs import UNITS, zone_of
from kafka2hive.pipeline.decode.exact.json_values import (
    LONGEST_BIGINT,
    SHOWN,
    Refused,
    Take,
    Whole,
    kind_of,
    not_exact,
    out_of_range,
    wrong_kind,
)
from kafka2hive.pipeline.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock_of

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)


def day(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> date:
        if type(value) is not str:
            raise wrong_kind(dtype, value, path)
        if _DATE.fullmatch(value) is None:
            raise Refused("json.date", f"column {path} expects YYYY-MM-DD", path)
        return _day(value, "json.date", path)

    return take


def _day(text: str, code: str, path: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Refused(code, f"column {path}: no such day: {text}", path) from error


def timestamp(zone: str) -> Take:
    def take(value: Any, path: str) -> int:
        if type(value) is not str:
            raise wrong_kind(NAIVE, value, path)
        match = _TIMESTAMP.fullmatch(value)
        if match is None:
            raise Refused(
                "json.timestamp",
                f"column {path} expects YYYY-MM-DDThh:mm:ss, fraction and offset optional",
                path,
            )
        text, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups()
        if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
            raise Refused("json.timestamp", f"column {path}: no such time of day: {value[:SHOWN]}", path)
        if int(offset_hour or 0) > 23 or int(offset_minute or 0) > 59:
            raise Refused("json.timestamp", f"column {path}: no such offset: {value[:SHOWN]}", path)
        fraction = (fraction or "").rstrip("0")
        if len(fraction) > 6:
            raise not_exact(NAIVE, value, path)
        day = _day(text, "json.timestamp", path)
        seconds = (
            (day - date(1970, 1, 1)).days * 86_400 + int(hour) * 3_600 + int(minute) * 60 + int(second or 0)
        )
        if sign:
            offset = int(offset_hour) * 3_600 + int(offset_minute or 0) * 60
            seconds += offset if sign == "-" else -offset
        micros = seconds * 1_000_000 + int(fraction.ljust(6, "0"))
        if sign or value.endswith("Z"):
            micros = wall_clock_of(micros, zone)
        if not EARLIEST <= micros <= LATEST:
            raise out_of_range(NAIVE, value, path)
        return micros

    return take


def epoch_number(dtype: pa.DataType, zone: str, unit: str, truncate: bool = False) -> Take:
    factor, divisor = UNITS[unit]
    of_day = dtype != NAIVE

    def take(value: Any, path: str) -> Any:
        if type(value) is not Whole:
            raise Refused(
                "json.type",
                f"column {path} expects a whole number of {unit} since 1970, got {kind_of(value)}",
                path,
            )
        if len(value) > LONGEST_BIGINT or not -(2**63) <= (number := int(value)) < 2**63:
            raise out_of_range(pa.int64(), value, path)
        if not EARLIEST - DAY <= number * factor // divisor <= LATEST + DAY:
            raise out_of_range(dtype, value, path)
        if not (of_day or truncate) and number * factor % divisor:
            raise not_exact(dtype, value, path)
        micros = wall_clock_of(number * factor // divisor, zone_of(unit, zone))
        if not EARLIEST <= micros <= LATEST:
            raise out_of_range(dtype, value, path)
        return date(1970, 1, 1) + timedelta(days=micros // DAY) if of_day else micros

    return take
