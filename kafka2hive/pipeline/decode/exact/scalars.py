"""One JSON value into one column of numbers, text, bytes or booleans: cells of the acceptance table, each a few lines."""

import base64
import binascii
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kafka2hive.pipeline.decode.exact.json_values import (
    LONGEST_BIGINT,
    Fraction,
    Refused,
    Take,
    Whole,
    not_exact,
    out_of_range,
    wrong_kind,
)

NO_NUMBER = " that is no number"
"""What reasons add to the kind of a string in a column of decimals."""

_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def plain(dtype: pa.DataType, wanted: type) -> Take:
    def take(value: Any, path: str) -> Any:
        if type(value) is not wanted:
            raise wrong_kind(dtype, value, path)
        return value

    return take


def integer(dtype: pa.DataType) -> Take:
    limit = 1 << (dtype.bit_width - 1)

    def take(value: Any, path: str) -> int:
        if type(value) is not Whole:
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
        if type(value) not in (Whole, Fraction):
            raise wrong_kind(dtype, value, path)
        number = float(value) if double else _nearest_float32(value)
        if number in (float("inf"), float("-inf")):
            raise out_of_range(dtype, value, path)
        if type(value) is Whole and int(number) != int(value):
            raise not_exact(dtype, value, path)
        return number

    return take


def _nearest_float32(text: str) -> float:
    """Arrow parses text straight to the nearest float32; by way of a double it would be rounded twice."""
    number: float = pa.array([str(text)]).cast(pa.float32())[0].as_py()
    return number


def decimal(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> Decimal:
        if not isinstance(value, str):
            raise wrong_kind(dtype, value, path)
        match = _DECIMAL.fullmatch(value)
        if match is None or not (match[2] or match[3]):
            refused = wrong_kind(dtype, value, path)
            raise Refused(refused.code, f"{refused.text}{NO_NUMBER}", refused.at, f"{refused.got}{NO_NUMBER}")
        fraction = match[3] or ""
        spelled = (match[2] + fraction).lstrip("0")
        digits = spelled.rstrip("0")
        if not digits:
            return Decimal(0)
        spelled_exponent = match[4] or "0"
        if len(spelled_exponent.lstrip("+-0")) > 6:
            raise (not_exact if spelled_exponent.startswith("-") else out_of_range)(dtype, value, path)
        exponent = int(spelled_exponent) - len(fraction) + len(spelled) - len(digits)
        if len(digits) + exponent > dtype.precision - dtype.scale:
            raise out_of_range(dtype, value, path)
        if -exponent > dtype.scale:
            raise not_exact(dtype, value, path)
        padded = digits + "0" * (exponent + dtype.scale)
        return Decimal((int(match[1] == "-"), tuple(map(int, padded)), -dtype.scale))

    return take


def binary(dtype: pa.DataType) -> Take:
    def take(value: Any, path: str) -> bytes:
        if type(value) is not str:
            raise wrong_kind(dtype, value, path)
        found = standard_base64(value)
        if found is None:
            raise Refused("json.base64", f"column {path} expects standard base64 in a string", path)
        return found

    return take


def standard_base64(text: str) -> bytes | None:
    """The bytes of canonical RFC 4648 section 4 base64 (padded, no line breaks), None for anything else."""
    try:
        value = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return value if base64.b64encode(value).decode() == text else None
