"""Texts of a map as values of Hive types, exactly: `0.1` of a decimal is no double."""

import math
import re
import struct
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

Literal = bool | int | float | Decimal | date | datetime | str

TEXT_TYPE = re.compile(r"string|(var)?char\s*\(\s*[0-9]+\s*\)")
"""Hive's types of texts, in lower case."""
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "integer": 32, "bigint": 64}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*(?:\(\s*([0-9]+)\s*(?:,\s*([0-9]+)\s*)?\))?")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?"
)


def literal(kind: str, text: str) -> Literal:
    """Return the value of Hive's type `kind` that `text` is. Raises ValueError that says what is wrong.

    Numbers are written as in JSON, dates and timestamps in ISO 8601. A timestamp without a time of day is midnight.
    """
    kind = kind.strip().lower()
    if TEXT_TYPE.fullmatch(kind):
        return text
    if kind == "boolean":
        return _boolean(text)
    if kind == "date":
        return _day(text)
    if kind == "timestamp":
        return _time(text)
    decimal = _DECIMAL.fullmatch(kind)
    if kind not in (*_BITS, "double", "float") and decimal is None:
        raise ValueError(f"{kind} has no values that a map can name")
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a number")
    if kind in _BITS:
        return _whole(text, kind)
    if decimal is not None:
        return _decimal(text, kind, int(decimal[1] or 10), int(decimal[2] or 0))
    return _floating(text, kind)


def is_ordered(kind: str) -> bool:
    """Return whether values of Hive's type `kind` have an order that does not depend on a collation."""
    kind = kind.strip().lower()
    return kind in (*_BITS, "double", "float", "date", "timestamp") or _DECIMAL.fullmatch(kind) is not None


def is_text(kind: str) -> bool:
    """Return whether values of Hive's type `kind` are texts."""
    return TEXT_TYPE.fullmatch(kind.strip().lower()) is not None


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is not a boolean: write true or false")
    return text == "true"


def _day(text: str) -> date:
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a date (YYYY-MM-DD)")


def _time(text: str) -> datetime:
    match = _TIME.fullmatch(text)
    try:
        if match is not None:
            clock = f"{match[2] or '00:00'}:{match[3] or '00'}.{(match[4] or '').ljust(6, '0')}"
            return datetime.fromisoformat(f"{match[1]}T{clock}")
    except ValueError:
        pass
    raise ValueError(
        f"{text!r} is not a wall clock of the table's zone (YYYY-MM-DDThh:mm:ss, without a zone)"
    )


def _whole(text: str, kind: str) -> int:
    limit = 1 << (_BITS[kind] - 1)
    if re.fullmatch("-?[0-9]{1,19}", text) is None or not -limit <= int(text) < limit:
        raise ValueError(f"{text} is not a value of {kind}")
    return int(text)


def _decimal(text: str, kind: str, precision: int, scale: int) -> Decimal:
    fault = ValueError(f"{text} does not fit {kind}")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise fault from None
    if not number:
        return Decimal(0)
    exact = number.as_tuple()  # most of Decimal's functions round to 28 digits
    digits = "".join(map(str, exact.digits)).rstrip("0")
    exponent = int(exact.exponent) + len(exact.digits) - len(digits)
    if -exponent > scale or len(digits) + exponent > precision - scale:
        raise fault
    return Decimal((exact.sign, tuple(map(int, digits)), exponent))


def _floating(text: str, kind: str) -> float:
    """Return the nearest value; whole numbers must be exact."""
    number = float(text)
    if kind == "float" and math.isfinite(number):
        try:
            (number,) = struct.unpack("<f", struct.pack("<f", number))
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{text} is beyond {kind}")
    if re.fullmatch("-?[0-9]+", text) and int(number) != int(text):
        raise ValueError(f"{text} is not exact as {kind}")
    return number
