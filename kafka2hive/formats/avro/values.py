"""Single values in Avro's binary encoding, read by the type they have in Arrow.

Every value but a map's key is of the union of null and its type (schema.py).
"""

import datetime
import struct
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from kafka2hive.formats.avro.container import Place

Read = Callable[[Place], Any]

_DAY = datetime.date(1970, 1, 1)
_TIME = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_DIGITS = Context(prec=76)


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


def _form(kind: pa.DataType) -> struct.Struct:
    return struct.Struct("<f" if kind == pa.float32() else "<d")


def _bytes(place: Place) -> bytes:
    return place.take(place.count())


def _elements(place: Place, read: Read) -> list[Any]:
    found = []
    while count := place.count():
        found += [read(place) for _ in range(count)]
    return found
