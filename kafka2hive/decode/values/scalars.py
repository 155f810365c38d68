"""Convert one JSON value to the value of a column, by the acceptance table."""

import base64
import binascii
import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa

from kafka2hive.decode.contract.forms import (
    AsWritten,
    Each,
    Epoch,
    Fields,
    Form,
    Mismatch,
    Unscaled,
    note,
)
from kafka2hive.decode.contract.sources import Spelling, exact_spelling
from kafka2hive.decode.values.epochs import UNIT_HINT, UNITS, zone_of
from kafka2hive.decode.values.json_values import (
    LONGEST_BIGINT,
    SHOWN,
    Fraction,
    Members,
    Take,
    ValueRefusal,
    WholeNumber,
    kind_of,
    not_exact,
    once_each,
    out_of_range,
    wrong_kind,
)
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock_of

NO_NUMBER = " that is not a number"
"""The end of the reason against a string that is not a number in a column of decimals."""

_FRACTION_HINT = "; the column's fraction: truncate cuts off what is finer than a microsecond"
_MOST_BITS = 10_000
"""A longer number fills no column at any scale, and its digits would take long to compute."""
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)


def plain(dtype: pa.DataType, wanted: type, hint: str = "") -> Take:
    """Return the function that takes values of the Python type `wanted` unchanged. `hint`: the end of reasons against others."""

    def take(value: Any, path: str) -> Any:
        if type(value) is not wanted:
            why = wrong_kind(dtype, value, path)
            raise ValueRefusal(why.code, why.text + hint, why.at, why.got)
        return value

    return take


def integer(dtype: pa.DataType) -> Take:
    limit = 1 << (dtype.bit_width - 1)

    def take(value: Any, path: str) -> int:
        if type(value) is not WholeNumber:
            raise wrong_kind(dtype, value, path)
        if len(value) > LONGEST_BIGINT:
            raise out_of_range(dtype, value, path)
        number = int(value)
        if not -limit <= number < limit:
            raise out_of_range(dtype, value, path)
        return number

    return take


def floating(dtype: pa.DataType) -> Take:
    double = pa.types.is_float64(dtype)

    def take(value: Any, path: str) -> float:
        if type(value) not in (WholeNumber, Fraction):
            raise wrong_kind(dtype, value, path)
        number = float(value) if double else _nearest_float32(value)
        if number in (float("inf"), float("-inf")):
            raise out_of_range(dtype, value, path)
        if type(value) is WholeNumber and int(number) != int(value):
            raise not_exact(dtype, value, path)
        return number

    return take


def _nearest_float32(text: str) -> float:
    """Parse with Arrow, which returns the nearest float32. By way of a double the number would be rounded twice."""
    number: float = pa.array([str(text)]).cast(pa.float32())[0].as_py()
    return number


def decimal(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> Decimal:
        if not isinstance(value, str):
            raise wrong_kind(dtype, value, path)
        match = _DECIMAL.fullmatch(value)
        if match is None or not (match[2] or match[3]):
            why = wrong_kind(dtype, value, path)
            raise ValueRefusal(why.code, f"{why.text}{NO_NUMBER}", why.at, f"{why.got}{NO_NUMBER}")
        fraction = match[3] or ""
        significant = (match[2] + fraction).lstrip("0")
        digits = significant.rstrip("0")
        if not digits:
            return Decimal(0)
        exponent_text = match[4] or "0"
        if len(exponent_text.lstrip("+-0")) > 6:
            raise (not_exact if exponent_text.startswith("-") else out_of_range)(dtype, value, path)
        exponent = int(exponent_text) - len(fraction) + len(significant) - len(digits)
        if len(digits) + exponent > dtype.precision - dtype.scale:
            raise out_of_range(dtype, value, path)
        if -exponent > dtype.scale:
            raise not_exact(dtype, value, path)
        padded = digits + "0" * (exponent + dtype.scale)
        return Decimal((int(match[1] == "-"), tuple(map(int, padded)), -dtype.scale))

    return take


def unscaled(dtype: pa.DataType, scale: int) -> Take:
    """Return the function that takes the bytes of an unscaled number in base64, or a JSON number."""
    of_number = decimal(dtype)

    def take(value: Any, path: str) -> Decimal:
        if type(value) is not str:
            number: Decimal = of_number(value, path)
            return number
        octets = standard_base64(value)
        if octets is None:
            raise ValueRefusal("json.base64", f"column {path} expects standard base64 in a string", path)
        if not octets:
            raise ValueRefusal("json.decimal", f"column {path}: a decimal of no bytes", path)
        whole = int.from_bytes(octets, "big", signed=True)
        if whole.bit_length() > _MOST_BITS:
            raise out_of_range(dtype, f"a number of {whole.bit_length()} bits", path)
        digits = tuple(map(int, str(abs(whole))))
        value_text = f"{Decimal((int(whole < 0), digits, -scale)):f}"
        fitting: Decimal = of_number(Fraction(value_text), path)
        return fitting

    return take


def binary(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> bytes:
        if type(value) is not str:
            raise wrong_kind(dtype, value, path)
        data = standard_base64(value)
        if data is None:
            raise ValueRefusal("json.base64", f"column {path} expects standard base64 in a string", path)
        return data

    return take


def standard_base64(text: str) -> bytes | None:
    """Return the bytes of canonical base64 (RFC 4648 section 4: padded, no line breaks); None for any other text."""
    try:
        value = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return value if base64.b64encode(value).decode() == text else None


def day(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> date:
        if type(value) is not str:
            raise wrong_kind(dtype, value, path, UNIT_HINT)
        if _DATE.fullmatch(value) is None:
            raise ValueRefusal("json.date", f"column {path} expects YYYY-MM-DD", path)
        return _day(value, "json.date", path)

    return take


def _day(text: str, code: str, path: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueRefusal(code, f"column {path}: no such day: {text}", path) from error


def timestamp(zone: str) -> Take:
    def take(value: Any, path: str) -> int:
        if type(value) is not str:
            raise wrong_kind(NAIVE, value, path, UNIT_HINT)
        match = _TIMESTAMP.fullmatch(value)
        if match is None:
            raise ValueRefusal(
                "json.timestamp",
                f"column {path} expects YYYY-MM-DDThh:mm:ss, fraction and offset optional",
                path,
            )
        text, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups()
        if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
            raise ValueRefusal("json.timestamp", f"column {path}: no such time of day: {value[:SHOWN]}", path)
        if int(offset_hour or 0) > 23 or int(offset_minute or 0) > 59:
            raise ValueRefusal("json.timestamp", f"column {path}: no such offset: {value[:SHOWN]}", path)
        fraction = (fraction or "").rstrip("0")
        if len(fraction) > 6:
            raise not_exact(NAIVE, value, path, _FRACTION_HINT)
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
    is_day = dtype != NAIVE

    def take(value: Any, path: str) -> Any:
        if type(value) is not WholeNumber:
            raise ValueRefusal(
                "json.type",
                f"column {path} expects a whole number of {unit} since 1970, got {kind_of(value)}",
                path,
            )
        if len(value) > LONGEST_BIGINT or not -(2**63) <= (number := int(value)) < 2**63:
            raise out_of_range(pa.int64(), value, path)
        if not EARLIEST - DAY <= number * factor // divisor <= LATEST + DAY:
            raise out_of_range(dtype, value, path)
        if not (is_day or truncate) and number * factor % divisor:
            raise not_exact(dtype, value, path)
        micros = wall_clock_of(number * factor // divisor, zone_of(unit, zone))
        if not EARLIEST <= micros <= LATEST:
            raise out_of_range(dtype, value, path)
        return date(1970, 1, 1) + timedelta(days=micros // DAY) if is_day else micros

    return take


def taker(
    dtype: pa.DataType,
    zone: str,
    spelling: Spelling = exact_spelling,
    unit: str | None = None,
    form: Form | None = None,
) -> Take:
    """Return the function that converts a JSON value to `dtype`.

    `unit`: of an epoch number; None: the type decides. `form`: what the record's schema says, which replaces the unit.
    """
    match form:
        case Mismatch(name):
            return _mismatch(dtype, name)
        case Unscaled(scale):
            return _with_name(unscaled(dtype, scale), form)
        case Epoch(unit):
            return _with_name(epoch_number(dtype, zone, unit), form)
        case AsWritten():
            return _with_name(_of_type(dtype, zone, spelling, None), form)
    return epoch_number(dtype, zone, unit) if unit is not None else _of_type(dtype, zone, spelling, form)


def _of_type(dtype: pa.DataType, zone: str, spelling: Spelling, form: Form | None) -> Take:
    """Return the function that takes what the type says; `form` has the forms of the values within it."""
    if pa.types.is_integer(dtype):
        return integer(dtype)
    if pa.types.is_floating(dtype):
        return floating(dtype)
    if pa.types.is_decimal128(dtype):
        return decimal(dtype)
    if pa.types.is_boolean(dtype):
        return plain(dtype, bool)
    if pa.types.is_string(dtype):
        return plain(dtype, str)
    if pa.types.is_binary(dtype):
        return binary(dtype)
    if pa.types.is_date32(dtype):
        return day(dtype)
    if dtype == NAIVE:
        return timestamp(zone)
    if pa.types.is_list(dtype):
        return _array(dtype, zone, spelling, form)
    if pa.types.is_map(dtype):
        return _map(dtype, zone, spelling, form)
    return _struct(dtype, zone, spelling, form)


def _mismatch(dtype: pa.DataType, name: str) -> Take:
    def take(value: Any, path: str) -> NoReturn:
        raise ValueRefusal(
            "json.semantic",
            f"column {path} is a {hive_type_of(dtype)}, but the record's schema says {name}",
            path,
        )

    return take


def _with_name(take: Take, form: Form) -> Take:
    """Return the function, with the semantic type added to the text of its refusals."""

    def named(value: Any, path: str) -> Any:
        try:
            return take(value, path)
        except ValueRefusal as refusal:
            text = f"{refusal.text}{note(form)}"
            raise ValueRefusal(refusal.code, text, refusal.at, refusal.got) from None

    return named


def _each(form: Form | None) -> Form | None:
    return form.form if isinstance(form, Each) else None


def _array(dtype: pa.DataType, zone: str, spelling: Spelling, form: Form | None) -> Take:
    element = taker(dtype.value_type, zone, spelling, form=_each(form))

    def take(value: Any, path: str) -> list[Any]:
        if type(value) is not list:
            raise wrong_kind(dtype, value, path)
        return [None if v is None else element(v, f"{path}[{i}]") for i, v in enumerate(value)]

    return take


def _map(dtype: pa.DataType, zone: str, spelling: Spelling, form: Form | None) -> Take:
    item = taker(dtype.item_type, zone, spelling, form=_each(form))

    def take(value: Any, path: str) -> list[tuple[str, Any]]:
        if type(value) is not Members:
            raise wrong_kind(dtype, value, path)
        if len({key for key, _ in value}) != len(value):
            raise ValueRefusal("json.duplicate", f"column {path}: a key repeats in the map", path)
        return [(key, None if v is None else item(v, f"{path}.{key}")) for key, v in value]

    return take


def _struct(dtype: pa.DataType, zone: str, spelling: Spelling, form: Form | None) -> Take:
    forms = dict(form.forms) if isinstance(form, Fields) else {}
    fields = {
        spelling(field.name): (field.name, taker(field.type, zone, spelling, form=forms.get(field.name)))
        for field in dtype
    }

    def take(value: Any, path: str) -> dict[str, Any]:
        if type(value) is not Members:
            raise wrong_kind(dtype, value, path)
        row: dict[str, Any] = {}
        for key, inner in once_each(value, fields, spelling, lambda name: f"column {path}.{name}"):
            name, take_field = fields[key]
            row[name] = None if inner is None else take_field(inner, f"{path}.{name}")
        return row

    return take
