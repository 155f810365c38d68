"""Convert numbers of a binary format to column values: exactly, or refuse them with the format's codes."""

from collections.abc import Callable
from decimal import Decimal
from math import isfinite, isnan, nan
from struct import Struct
from typing import Any

import pyarrow as pa

from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock_of
from kafka2hive.plugins import Reason

_FLOAT = Struct("<f")
_SHOWN = 10**40
"""A reason shows the digits of a smaller number, but only the length in bits of a larger one."""


class BinaryRefusal(Exception):
    """Refuses a message of a binary format.

    `path`: the steps to the value, the innermost first. `column`: the table's column, empty if it is not known yet.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.column = ""
        self.path: list[str] = []

    def within(self, step: str) -> "BinaryRefusal":
        """Add the next outer step of the path."""
        self.path.append(step)
        return self

    def of_column(self, column: str, label: str) -> "BinaryRefusal":
        """Name the column; `label` is its name in the reason's text."""
        self.column = column
        return self.within(f"column {label}")

    def reason(self, at: int) -> Reason:
        """Return the reason. `at` is the number of the message's bytes that were read."""
        where = "".join(reversed(self.path))
        text = f"{where}{', ' if where else ''}byte {at}: {self.text}"
        path = "".join(reversed(self.path[:-1])) if self.column else ""
        return Reason(self.code, text, self.column, path)


def beyond(format: str, number: object, dtype: pa.DataType) -> BinaryRefusal:
    """Return the refusal of a number that is out of the column's range."""
    return BinaryRefusal(f"{format}.range", f"{number} is beyond {hive_type_of(dtype)}")


def _inexact(format: str, number: object, dtype: pa.DataType) -> BinaryRefusal:
    return BinaryRefusal(f"{format}.inexact", f"{number} is not exact as {hive_type_of(dtype)}")


def whole(format: str, number: int, dtype: pa.DataType) -> int:
    """Return the number for a column of integers. Raises BinaryRefusal if it is out of range."""
    limit = 1 << (dtype.bit_width - 1)
    if not -limit <= number < limit:
        raise beyond(format, number, dtype)
    return number


def floating(format: str, number: float, dtype: pa.DataType) -> float:
    """Return an int or a finite float for a column of floats. Raises BinaryRefusal if the column cannot hold it exactly."""
    if pa.types.is_float64(dtype):
        value = float(number)
    else:
        try:
            value = _FLOAT.unpack(_FLOAT.pack(number))[0]
        except OverflowError as error:
            raise beyond(format, number, dtype) from error
    if value != number:
        raise _inexact(format, number, dtype)
    return value


def real(format: str, number: float, dtype: pa.DataType) -> float:
    """Return any float for a column of floats; every NaN becomes the same NaN."""
    if isnan(number):
        return nan
    return floating(format, number, dtype) if isfinite(number) else number


def decimal(format: str, unscaled: int, scale: int, dtype: pa.DataType) -> Decimal:
    """Return unscaled / 10**scale for a column of decimals. Raises BinaryRefusal if it does not fit exactly."""
    shown = unscaled if abs(unscaled) < _SHOWN else f"a number of {unscaled.bit_length()} bits"
    if abs(unscaled) >= 10 ** (dtype.precision - dtype.scale + scale):
        raise beyond(format, f"{shown} (scale {scale})", dtype)
    number, rest = divmod(abs(unscaled) * 10**dtype.scale, 10**scale)
    if rest:
        raise _inexact(format, f"{shown} (scale {scale})", dtype)
    return Decimal((int(unscaled < 0), tuple(map(int, str(number))), -dtype.scale))


def integer_taker(format: str, dtype: pa.DataType) -> Callable[[int], Any]:
    """Return the function that converts an integer to a value of a column of integers, floats or decimals."""
    if pa.types.is_decimal128(dtype):
        return lambda number: decimal(format, number, 0, dtype)
    if pa.types.is_floating(dtype):
        return lambda number: floating(format, number, dtype)
    return lambda number: whole(format, number, dtype)


def moment(
    format: str, number: int, ratio: tuple[int, int], dtype: pa.DataType, zone: str, instant: bool
) -> int:
    """Return number * ratio[0] // ratio[1] as microseconds for a timestamp, or in days for a date. Raises BinaryRefusal.

    `instant`: the number counts from 1970 UTC and becomes the wall clock of `zone`; otherwise it is a wall clock.
    """
    is_day = dtype != NAIVE
    factor, divisor = ratio
    micros, rest = divmod(number * factor, divisor)
    if not EARLIEST - DAY <= micros <= LATEST + DAY:
        raise beyond(format, f"{number} since 1970", dtype)
    if rest and not is_day:
        raise _inexact(format, f"{number} since 1970", dtype)
    if instant:
        micros = wall_clock_of(micros, zone)
    if not EARLIEST <= micros <= LATEST:
        raise beyond(format, f"{number} since 1970", dtype)
    return micros // DAY if is_day else micros
