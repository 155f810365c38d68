"""A number of a message as a column's value: exact, or refused with the codes of its format."""

from decimal import Decimal
from struct import Struct

import pyarrow as pa

from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock_of
from kafka2hive.plugins import Reason


class BinaryRefusal(Exception):
    """`path`: from the column inward, collected from the inside out; `column`: the table's, empty before it is known."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.column = ""
        self.path: list[str] = []

    def within(self, step: str) -> "BinaryRefusal":
        self.path.append(step)
        return self

    def of_column(self, column: str, label: str) -> "BinaryRefusal":
        """`label`: what reasons call the column."""
        self.column = column
        return self.within(f"column {label}")

    def reason(self, at: int) -> Reason:
        """`at`: the byte of the message at which it was read so far."""
        where = "".join(reversed(self.path))
        text = f"{where}{', ' if where else ''}byte {at}: {self.text}"
        path = "".join(reversed(self.path[:-1])) if self.column else ""
        return Reason(self.code, text, self.column, path)


_FLOAT = Struct("<f")
_SHOWN = 10**40


def beyond(format: str, number: object, dtype: pa.DataType) -> BinaryRefusal:
    return BinaryRefusal(f"{format}.range", f"{number} is beyond {hive_type_of(dtype)}")


def _inexact(format: str, number: object, dtype: pa.DataType) -> BinaryRefusal:
    return BinaryRefusal(f"{format}.inexact", f"{number} is not exact as {hive_type_of(dtype)}")


def whole(format: str, number: int, dtype: pa.DataType) -> int:
    """In a column of integers."""
    limit = 1 << (dtype.bit_width - 1)
    if not -limit <= number < limit:
        raise beyond(format, number, dtype)
    return number


def floating(format: str, number: float, dtype: pa.DataType) -> float:
    """Of an int or a finite float. A double in a float column must be a float."""
    if pa.types.is_float64(dtype):
        found = float(number)
    else:
        try:
            found = _FLOAT.unpack(_FLOAT.pack(number))[0]
        except OverflowError as error:
            raise beyond(format, number, dtype) from error
    if found != number:
        raise _inexact(format, number, dtype)
    return found


def decimal(format: str, unscaled: int, scale: int, dtype: pa.DataType) -> Decimal:
    shown = unscaled if abs(unscaled) < _SHOWN else f"a number of {unscaled.bit_length()} bits"
    if abs(unscaled) >= 10 ** (dtype.precision - dtype.scale + scale):
        raise beyond(format, f"{shown} (scale {scale})", dtype)
    number, rest = divmod(abs(unscaled) * 10**dtype.scale, 10**scale)
    if rest:
        raise _inexact(format, f"{shown} (scale {scale})", dtype)
    return Decimal((int(unscaled < 0), tuple(map(int, str(number))), -dtype.scale))


def moment(
    format: str, number: int, ratio: tuple[int, int], dtype: pa.DataType, zone: str, instant: bool
) -> int:
    """Of a number of which microseconds are number * ratio[0] // ratio[1]: microseconds, or days for a date.

    `instant`: it counts from 1970 UTC, and becomes the wall clock of `zone`; else it is a wall clock.
    """
    of_day = dtype != NAIVE
    factor, divisor = ratio
    micros, rest = divmod(number * factor, divisor)
    if not EARLIEST - DAY <= micros <= LATEST + DAY:
        raise beyond(format, f"{number} since 1970", dtype)
    if rest and not of_day:
        raise _inexact(format, f"{number} since 1970", dtype)
    if instant:
        micros = wall_clock_of(micros, zone)
    if not EARLIEST <= micros <= LATEST:
        raise beyond(format, f"{number} since 1970", dtype)
    return micros // DAY if of_day else micros
