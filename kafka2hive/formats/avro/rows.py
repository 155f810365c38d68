"""Rows in Avro's binary encoding. The compiled library writes them; this module reads them one by one."""

import datetime
import socket
import struct
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from kafka2hive.config.native_library import LIBRARY, avro_needs_library
from kafka2hive.formats.avro.container import ByteCursor
from kafka2hive.model.errors import TableError

Read = Callable[[ByteCursor], Any]

_DAY = datetime.date(1970, 1, 1)
_TIME = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_DIGITS = Context(prec=76)


def read_nullable(read: Read) -> Read:
    def either(place: ByteCursor) -> Any:
        branch = place.long()
        if branch not in (0, 1):
            raise pa.ArrowInvalid(f"a union of two has no type {branch}")
        return read(place) if branch else None

    return either


def reader_of(kind: pa.DataType) -> Read:
    """Return a function that reads one value as `pa.array` accepts it.

    It raises ValueError, KeyError or OverflowError for bytes that the writer does not produce.
    """
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
        return ByteCursor.long
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


def _bytes(place: ByteCursor) -> bytes:
    return place.take(place.count())


def _elements(place: ByteCursor, read: Read) -> list[Any]:
    elements = []
    while count := place.count():
        elements += [read(place) for _ in range(count)]
    return elements


Encode = Callable[[pa.RecordBatch, int, int], tuple[int, bytes]]
"""Encodes rows from a row number on, up to a number of bytes. Returns how many rows, and their bytes.

Raises ValueError for a fraction of a millisecond, which the caller must have removed.
"""


def encoder(library: Any = LIBRARY) -> Encode:
    """Return the library's encoder. Raises TableError without a library, which executors may lack."""
    if library is None:
        missing = avro_needs_library()
        raise TableError(missing.code, f"on {socket.gethostname()}: {missing.message}", missing.remedy)
    encode: Encode = library.avro_rows
    return encode


def decode(data: bytes, rows: int, schema: pa.Schema) -> list[dict[str, Any]]:
    """Return all rows of a block, as one dict by column for each. Raises pa.ArrowInvalid."""
    columns = [(field.name, read_nullable(reader_of(field.type))) for field in schema]
    place = ByteCursor(data)
    try:
        decoded = [{name: read(place) for name, read in columns} for _ in range(rows)]
    except (ValueError, KeyError, OverflowError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"not what was written: {error!r}") from error
    if place.at < len(data):
        raise pa.ArrowInvalid("a block holds more than its rows")
    return decoded
