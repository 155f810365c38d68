"""The acceptance table once more, by other means: exact fractions and plain recursion, one message at a time.

Shares no code with the decoders. Returns what a row's columns hold, or None where the message is refused; reasons
are the table tests' business.
"""

import base64
import binascii
import json
import re
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from kafka2hive.config.keys.leeway import STRICT, Leeway


class No(Exception):
    """Refused."""


class Number(str):
    """The text of a number, to tell it from a string."""


class Bare(str):
    """NaN or an infinity outside quotes."""


Sources = dict[str, tuple[tuple[str, ...], str | None] | tuple[tuple[str, ...], str | None, Leeway]]
"""Column name: the keys that lead to its value, the unit of an epoch number, and leeway for a column that takes any value."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def reference(
    message: bytes, schema: pa.Schema, zone: str, sources: Sources | None = None, any_case: bool = False
) -> dict[str, Any] | None:
    """One message by the acceptance table."""
    try:
        text = message.decode("utf-8")
        if text.startswith("\ufeff"):
            raise No
        document = json.loads(
            text, object_pairs_hook=tuple, parse_int=Number, parse_float=Number, parse_constant=Bare
        )
        if not _is_object(document, text):
            raise No
        _walk(document, 1, [] if sources is None else _allowed(document, sources, any_case))
        if sources is None:
            return _members(document, {field.name: field.type for field in schema}, zone, any_case)
        row = {}
        for field in schema:
            keys, unit, *leeway = sources[field.name]
            row[field.name] = (
                _as_text(text.strip(" \t\r\n"), keys, any_case)
                if leeway and leeway[0].json == "text"
                else _at(document, keys, unit, field.type, zone, any_case, *leeway)
            )
        return row
    except (No, ValueError, OverflowError, RecursionError):
        return None


def _is_object(document: Any, text: str) -> bool:
    return isinstance(document, tuple) and text.lstrip(" \t\r\n").startswith("{")


def _allowed(document: Any, sources: Sources, any_case: bool) -> list[Any]:
    """NaN and infinities that every column takes whose path leads to them or through them."""
    taken: list[Any] = []
    others: list[Any] = []
    for keys, _, *leeway in sources.values():
        value = document
        for key in keys:
            if not isinstance(value, tuple):
                break
            value = next((inner for name, inner in value if _same(key, name, any_case)), None)
        else:
            is_taken = bool(leeway) and leeway[0].non_finite != "refuse"
            (taken if is_taken else others).append(value)
            continue
        others.append(value)
    return [one for one in taken if not any(one is other for other in others)]


def _walk(value: Any, depth: int, allowed: list[Any]) -> None:
    """Depth, lone surrogates, NaN and infinities, everywhere."""
    if isinstance(value, Bare) and not any(value is one for one in allowed):
        raise No
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, tuple | list):
        if depth > 64:
            raise No
        for inner in value:
            if isinstance(value, tuple):
                key, inner = inner
                key.encode("utf-8")
            _walk(inner, depth + 1, allowed)


def _same(wanted: str, found: str, any_case: bool) -> bool:
    if not any_case or wanted.isascii() != found.isascii():
        return wanted == found
    return wanted.lower() == found.lower()


def _at(
    value: Any,
    keys: Any,
    unit: str | None,
    dtype: pa.DataType,
    zone: str,
    any_case: bool,
    leeway: Leeway = STRICT,
) -> Any:
    """What stands at the end of a path: nothing where an object on the way is missing or null."""
    for key in keys:
        if value is None:
            return None
        if not isinstance(value, tuple):
            raise No
        found = [inner for name, inner in value if _same(key, name, any_case)]
        if len(found) > 1:
            raise No
        value = found[0] if found else None
    if isinstance(value, str) and leeway != STRICT:
        value = _in_other_forms(value, dtype, unit, zone, leeway)
        if isinstance(value, Final):
            return value.value
    if isinstance(value, str) and not isinstance(value, Number):
        if value == "" and leeway.empty == "null":
            return None
        if leeway.quoted == "accept":
            words = {"true": True, "false": False}
            number = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", value)
            value = Number(value) if number else words.get(value, value)
    if unit is None or value is None:
        return _value(value, dtype, zone, any_case)
    if not isinstance(value, Number) or not re.fullmatch(r"-?[0-9]{1,19}", value):
        raise No
    units = {"s": Fraction(10**6), "ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)}
    micros = int(value) * units[unit]
    if micros.denominator != 1 and not pa.types.is_date(dtype):
        raise No
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros.__floor__())
    there = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    return there.date() if pa.types.is_date(dtype) else there


class Final:
    """A value of the column itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _in_other_forms(value: str, dtype: pa.DataType, unit: str | None, zone: str, leeway: Leeway) -> Any:
    """The number or value that a text or number stands for by the column's keys; otherwise itself."""
    is_text = not isinstance(value, Number)
    if leeway.booleans is not None and value in leeway.booleans.true + leeway.booleans.false:
        return Final(value in leeway.booleans.true)
    if leeway.non_finite != "refuse" and is_text and re.fullmatch("(?i)nan|[+-]?inf(inity)?", value):
        return Final(float(value) if leeway.non_finite == "keep" else None)
    if leeway.numbers is not None and is_text and value:
        whole, *more = re.split(re.escape(leeway.numbers.decimal) + "|(?=[eE])", value, maxsplit=1)
        first, *groups = whole.removeprefix("-").split(leeway.numbers.thousands or "\0")
        rest = value[len(whole) :].replace(leeway.numbers.decimal, ".")
        if any(len(group) != 3 for group in groups) or (groups and not 1 <= len(first) <= 3) or len(more) > 1:
            raise No
        if first.startswith("0") and (groups or first != "0"):
            raise No
        plain = ("-" if value.startswith("-") else "") + first + "".join(groups) + rest
        if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", plain, re.ASCII):
            raise No
        value = Number(plain)
    if (
        leeway.quoted == "accept"
        and is_text
        and re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", value)
    ):
        value = Number(value)
    if leeway.whole == "accept" and isinstance(value, Number) and set(value) & set(".eE"):
        exponent = re.search(r"[eE]([+-]?[0-9]+)$", value)
        if not exponent or abs(int(exponent[1])) < 1_000:
            number = Fraction(value)
            value = Number(number.numerator) if number.denominator == 1 else value
        elif set(re.split("[eE]", value)[0]) <= set("-.0"):
            value = Number("0")
    if leeway.beyond != "refuse":
        return _in_time(value, dtype, unit, zone, leeway.beyond)
    return value


def _in_time(value: str, dtype: pa.DataType, unit: str | None, zone: str, beyond: str) -> Any:
    ends = (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))

    def far(late: bool) -> Final:
        return Final(
            None if beyond == "null" else ends[late].date() if pa.types.is_date(dtype) else ends[late]
        )

    if not isinstance(value, Number) and value.lower() in ("infinity", "+infinity", "-infinity"):
        return far(value[0] != "-")
    if not isinstance(value, Number) or unit is None or not re.fullmatch("-?[0-9]{1,19}", value):
        return value
    sizes = {"d": Fraction(86_400 * 10**6), "s": Fraction(10**6), "ms": Fraction(1000), "us": Fraction(1)}
    micros = int(value) * sizes.get(unit, Fraction(1, 1000))
    if not -(2**63) <= int(value) < 2**63:
        raise No
    try:
        _at_zone(micros, zone)
        return value
    except OverflowError:
        return far(micros > 0)


def _at_zone(micros: Any, zone: str) -> datetime:
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros.__floor__())
    return instant.astimezone(ZoneInfo(zone))


def _as_text(text: str, keys: tuple[str, ...], any_case: bool) -> str | None:
    """The value at the end of a path: a string itself, any other value as its characters in `text`, an object."""
    for key in keys:
        if text == "null":
            return None
        if not text.startswith("{"):
            raise No
        found = [value for name, value in _as_written(text) if _same(key, name, any_case)]
        if len(found) > 1:
            raise No
        if not found:
            return None
        text = found[0]
    return None if text == "null" else json.loads(text) if text.startswith('"') else text


def _as_written(text: str) -> list[tuple[str, str]]:
    """The members of an object, each value as its characters."""
    members, depth, names = [], 0, True
    name, first, last = "", -1, 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if depth == 1 and mark in (",", "}"):
            members += [(json.loads(name), text[first:last])] if name else []
            name, first, names = "", -1, True
        elif depth == 1 and names:
            name, names = (name, False) if mark == ":" else (mark, True)
        elif depth >= 1:
            first = token.start() if first < 0 else first
        depth += (mark in ("{", "[")) - (mark in ("}", "]"))
        last = token.end()
    return members


def _members(pairs: Any, types: dict[str, pa.DataType], zone: str, any_case: bool) -> dict[str, Any]:
    if not isinstance(pairs, tuple):
        raise No
    row: dict[str, Any] = {}
    for given, value in pairs:
        name = next((name for name in types if _same(name, given, any_case)), None)
        if name is not None:
            if name in row:
                raise No
            row[name] = _value(value, types[name], zone, any_case)
    return {name: row.get(name) for name in types}


def _value(value: Any, dtype: pa.DataType, zone: str, any_case: bool) -> Any:
    if value is None:
        return None
    if pa.types.is_list(dtype):
        if not isinstance(value, list):
            raise No
        return [_value(inner, dtype.value_type, zone, any_case) for inner in value]
    if pa.types.is_struct(dtype):
        return _members(value, {field.name: field.type for field in dtype}, zone, any_case)
    if pa.types.is_map(dtype):
        if not isinstance(value, tuple) or len({key for key, _ in value}) < len(value):
            raise No
        return [(key, _value(inner, dtype.item_type, zone, any_case)) for key, inner in value]
    if pa.types.is_boolean(dtype):
        if not isinstance(value, bool):
            raise No
        return value
    if pa.types.is_integer(dtype):
        if not isinstance(value, Number) or not re.fullmatch(r"-?\d{1,19}", value):
            raise No
        number = int(value)
        if not -(2 ** (dtype.bit_width - 1)) <= number < 2 ** (dtype.bit_width - 1):
            raise No
        return number
    if pa.types.is_floating(dtype):
        return _nearest(value, dtype)
    if pa.types.is_decimal(dtype):
        return _decimal(value, dtype)
    if not isinstance(value, str) or isinstance(value, Number):
        raise No
    if pa.types.is_string(dtype):
        return value
    if pa.types.is_binary(dtype):
        try:
            found = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise No from error
        if base64.b64encode(found).decode() != value:
            raise No
        return found
    if pa.types.is_date(dtype):
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            raise No
        return date.fromisoformat(value)
    return _timestamp(value, zone)


def _nearest(value: Any, dtype: pa.DataType) -> float:
    """Of the floats around the text's exact value the nearest, ties to the even one (IEEE 754)."""
    if not isinstance(value, Number):
        raise No
    if pa.types.is_float64(dtype):
        number = float(value)
    else:
        if abs(float(value)) > 1e300:
            raise No
        exact, middle = (
            Fraction(value),
            struct.pack("<f", min(max(float(value), -3.4028234663852886e38), 3.4028234663852886e38)),
        )
        bits = struct.unpack("<I", middle)[0]
        near = [
            struct.unpack("<f", struct.pack("<I", b))[0] for b in (bits - 1, bits, bits + 1) if 0 <= b < 2**32
        ]
        around = [f for f in near if f == f and abs(f) != float("inf")]
        number = min(
            around, key=lambda f: (abs(Fraction(f) - exact), struct.unpack("<I", struct.pack("<f", f))[0] & 1)
        )
        if abs(exact) >= Fraction(2) ** 128 - Fraction(2) ** 103:  # half a step above the greatest float32
            raise No
    if abs(number) == float("inf"):
        raise No
    if not set(value) & set(".eE") and Fraction(number) != Fraction(value):
        raise No
    return number


def _decimal(value: Any, dtype: pa.DataType) -> Decimal:
    if not isinstance(value, str) or not re.fullmatch(
        r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value
    ):
        raise No
    exponent = re.search(r"[eE]([+-]?[0-9]+)$", value)
    if exponent and abs(int(exponent[1])) > 100_000:
        if set(re.split("[eE]", value)[0]) <= set("+-.0"):
            return Decimal(0)
        raise No
    scaled = Fraction(value) * 10**dtype.scale
    if scaled.denominator != 1 or abs(scaled) >= 10**dtype.precision:
        raise No
    return Decimal(f"{scaled.numerator}e-{dtype.scale}")


def _timestamp(value: str, zone: str) -> datetime:
    shape = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
    if not re.fullmatch(shape, value):
        raise No
    fraction = re.search(r"\.([0-9]{6})([0-9]+)", value)
    if fraction:
        if fraction[2].strip("0"):
            raise No
        value = value.replace(fraction[0], "." + fraction[1])
    if (
        re.search(r"[+-][0-9]{2}:?[6-9][0-9]$", value)
        and "T" in value.replace(" ", "T")[:11]
        and value.count(":") > 1
    ):
        raise No
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        return found
    return found.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
