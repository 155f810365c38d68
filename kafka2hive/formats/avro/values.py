"""Single values in Avro's binary encoding, both ways, by the type they have in Arrow: slow and exact.

Every value but a map's key is of the union of null and its type (schema.py).
"""

import datetime
import struct
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from kafka2hive.formats.avro.container import Place

Write = Callable[[Any, bytearray], None]
Read = Callable[[Place], Any]

_DAY = datetime.date(1970, 1, 1)
_TIME = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_DIGITS = Context(prec=76)
_VALUE = 2  # of a union: the second type


def put_long(number: int, out: bytearray) -> None:
    """A zigzag varint."""
    left = number << 1 if number >= 0 else ~(number << 1)
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)


def _put_bytes(data: bytes, out: bytearray) -> None:
    put_long(len(data), out)
    out += data


def _fewest_bytes(number: int) -> bytes:
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def nullable(write: Write) -> Write:
    def either(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(_VALUE)
            write(value, out)

    return either


def writer_of(kind: pa.DataType) -> Write:
    """Takes what `to_pylist` gives. The writer raises ValueError for a part of a millisecond."""
    if pa.types.is_struct(kind):
        fields = [(field.name, nullable(writer_of(field.type))) for field in kind]
        return lambda value, out: _each(fields, value, out)
    if pa.types.is_map(kind):
        text, item = writer_of(kind.key_type), nullable(writer_of(kind.item_type))
        return lambda value, out: _several(
            value, lambda pair, _: (text(pair[0], out), item(pair[1], out)), out
        )
    if pa.types.is_list(kind):
        element = nullable(writer_of(kind.value_type))
        return lambda value, out: _several(value, element, out)
    return _plain_writer(kind)


def _plain_writer(kind: pa.DataType) -> Write:
    if pa.types.is_boolean(kind):
        return lambda value, out: out.append(value)
    if pa.types.is_integer(kind):
        return put_long
    if pa.types.is_floating(kind):
        form = _form(kind)
        return lambda value, out: out.extend(form.pack(value))
    if pa.types.is_decimal(kind):
        return lambda value, out: _put_bytes(_fewest_bytes(int(value.scaleb(kind.scale, _DIGITS))), out)
    if pa.types.is_date(kind):
        return lambda value, out: put_long((value - _DAY).days, out)
    if pa.types.is_timestamp(kind):
        return lambda value, out: put_long(_milliseconds(value), out)
    if pa.types.is_string(kind):
        return lambda value, out: _put_bytes(value.encode(), out)
    return _put_bytes


def _form(kind: pa.DataType) -> struct.Struct:
    return struct.Struct("<f" if kind == pa.float32() else "<d")


def _milliseconds(time: datetime.datetime) -> int:
    whole, part = divmod(time - _TIME, _MILLISECOND)
    if part:
        raise ValueError(f"{time} has a part of a millisecond")
    return whole


def _each(fields: list[tuple[str, Write]], value: dict[str, Any], out: bytearray) -> None:
    for name, write in fields:
        write(value[name], out)


def _several(values: list[Any], write: Callable[[Any, bytearray], Any], out: bytearray) -> None:
    """One block of them, and the end."""
    if values:
        put_long(len(values), out)
    for value in values:
        write(value, out)
    put_long(0, out)


def read_nullable(read: Read) -> Read:
    def either(place: Place) -> Any:
        branch = place.long()
        if branch not in (0, 1):
            raise pa.ArrowInvalid(f"a union of two has no type {branch}")
        return read(place) if branch else None

    return either


def reader_of(kind: pa.DataType) -> Read:
    """Gives what `pa.array` takes. The reader raises ValueError or OverflowError for what was not written so."""
    if pa.types.is_struct(kind):
        fields = [(field.name, read_nullable(reader_of(field.type))) for field in kind]
        return lambda place: {name: read(place) for name, read in fields}
    if pa.types.is_map(kind):
        text, item = reader_of(kind.key_type), read_nullable(reader_of(kind.item_type))
        return lambda place: _elements(place, lambda at: (text(at), item(at)))
    if pa.types.is_list(kind):
        element = read_nullable(reader_of(kind.value_type))
        return lambda place: _elements(place, element)
    return _plain_reader(kind)


def _plain_reader(kind: pa.DataType) -> Read:
    if pa.types.is_boolean(kind):
        return lambda place: {b"\0": False, b"\1": True}[place.take(1)]
    if pa.types.is_integer(kind):
        return Place.long
    if pa.types.is_floating(kind):
        form = _form(kind)
        return lambda place: form.unpack(place.take(form.size))[0]
    if pa.types.is_decimal(kind):
        return lambda place: Decimal(int.from_bytes(_bytes(place), "big", signed=True)).scaleb(
            -kind.scale, _DIGITS
        )
    if pa.types.is_date(kind):
        return lambda place: _DAY + datetime.timedelta(days=place.long())
    if pa.types.is_timestamp(kind):
        return lambda place: _TIME + place.long() * _MILLISECOND
    return (lambda place: _bytes(place).decode()) if pa.types.is_string(kind) else _bytes


def _bytes(place: Place) -> bytes:
    return place.take(place.count())


def _elements(place: Place, read: Read) -> list[Any]:
    found = []
    while count := place.count():
        found += [read(place) for _ in range(count)]
    return found
