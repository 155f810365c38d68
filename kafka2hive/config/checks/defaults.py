"""The value that a column has instead of NULL, against the column's type."""

import math
import re
import struct
from datetime import date
from decimal import Decimal, InvalidOperation

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DECIMAL = re.compile(r"decimal\(([0-9]+),\s*([0-9]+)\)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def default_fault(kind: str, text: str) -> str:
    """What is wrong with a default, empty when nothing is. `kind` is Hive's text of the type."""
    kind = kind.strip().lower()
    if kind == "string" or re.fullmatch(r"(var)?char\([0-9]+\)", kind):
        return ""
    if kind == "boolean":
        return "" if text in ("true", "false") else f"{text!r} is no boolean: true or false"
    if kind == "date":
        return "" if _is_day(text) else f"{text!r} is no date: YYYY-MM-DD"
    found = _DECIMAL.fullmatch(kind)
    if kind not in (*_BITS, "double", "float") and found is None:
        return f"is used with string, numbers, boolean and date, not with {kind}"
    if _NUMBER.fullmatch(text) is None:
        return f"{text!r} is no number"
    if kind in _BITS:
        limit = 1 << (_BITS[kind] - 1)
        is_whole = re.fullmatch("-?[0-9]{1,19}", text) is not None
        return "" if is_whole and -limit <= int(text) < limit else f"{text} is no {kind}"
    if found is not None:
        return "" if _fits(text, int(found[1]), int(found[2])) else f"{text} does not fit {kind}"
    return _real_fault(text, kind)


def _real_fault(text: str, kind: str) -> str:
    """A whole number must be exact, as everywhere."""
    number = float(text)
    if kind == "float" and math.isfinite(number):
        try:
            (number,) = struct.unpack("<f", struct.pack("<f", number))
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        return f"{text} is beyond {kind}"
    is_whole = re.fullmatch("-?[0-9]+", text) is not None
    return f"{text} is not exact as {kind}" if is_whole and int(number) != int(text) else ""


def _is_day(text: str) -> bool:
    try:
        return re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _fits(text: str, precision: int, scale: int) -> bool:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    if not number:
        return True
    written = number.as_tuple()  # of Decimal's own functions most round to 28 digits
    digits = "".join(map(str, written.digits)).rstrip("0")
    exponent = int(written.exponent) + len(written.digits) - len(digits)
    return -exponent <= scale and len(digits) + exponent <= precision - scale
