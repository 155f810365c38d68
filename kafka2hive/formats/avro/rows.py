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

_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_DIGITS = Context(prec=76)


def read_nullable(read: Read) -> Read:
    """Return a function that reads a union of null and the type that `read` reads."""

    def read_branch(cursor: ByteCursor) -> Any:
        branch = cursor.long()
        if branch not in (0, 1):
            raise pa.ArrowInvalid(f"a union of two types has no branch {branch}")
        return read(cursor) if branch else None

    return read_branch


def reader_of(kind: pa.DataType) -> Read:
    """Return a function that reads one value as `pa.array` accepts it.

    It raises ValueError, KeyError or OverflowError for bytes that the writer does not produce.
    """
    if pa.types.is_struct(kind):
        fields = [(field.name, read_nullable(reader_of(field.type))) for field in kind]
        return lambda cursor: {name: read(cursor) for name, read in fields}
    if pa.types.is_map(kind):
        text, item = reader_of(kind.key_type), read_nullable(reader_of(kind.item_type))
        return lambda cursor: _elements(cursor, lambda inner: (text(inner), item(inner)))
    if pa.types.is_list(kind):
        element = read_nullable(reader_of(kind.value_type))
        return lambda cursor: _elements(cursor, element)
    return _plain_reader(kind)


def _plain_reader(kind: pa.DataType) -> Read:
    if pa.types.is_boolean(kind):
        return lambda cursor: {b"\0": False, b"\1": True}[cursor.take(1)]
    if pa.types.is_integer(kind):
        return ByteCursor.long
    if pa.types.is_floating(kind):
        form = _form(kind)
        return lambda cursor: form.unpack(cursor.take(form.size))[0]
    if pa.types.is_decimal(kind):
        return lambda cursor: Decimal(int.from_bytes(_bytes(cursor), "big", signed=True)).scaleb(
            -kind.scale, _DIGITS
        )
    if pa.types.is_date(kind):
        return lambda cursor: _EPOCH_DAY + datetime.timedelta(days=cursor.long())
    if pa.types.is_timestamp(kind):
        return lambda cursor: _EPOCH + cursor.long() * _MILLISECOND
    return (lambda cursor: _bytes(cursor).decode()) if pa.types.is_string(kind) else _bytes


def _form(kind: pa.DataType) -> struct.Struct:
    return struct.Struct("<f" if kind == pa.float32() else "<d")


def _bytes(cursor: ByteCursor) -> bytes:
    return cursor.take(cursor.count())


def _elements(cursor: ByteCursor, read: Read) -> list[Any]:
    elements = []
    while count := cursor.count():
        elements += [read(cursor) for _ in range(count)]
    return elements


Encode = Callable[[pa.RecordBatch, int, int], tuple[int, bytes]]
"""(batch, number of the first row, limit in bytes) -> the number of rows encoded within the limit, and their bytes.

Raises ValueError for a time with a fraction of a millisecond, which Avro files cannot hold.
"""


def encoder(library: Any = LIBRARY) -> Encode:
    """Return the library's encoder. Raises TableError if the compiled library is missing, which may happen on an executor."""
    if library is None:
        missing = avro_needs_library()
        raise TableError(missing.code, f"on {socket.gethostname()}: {missing.message}", missing.remedy)
    encode: Encode = library.avro_rows
    return encode


def decode(data: bytes, rows: int, schema: pa.Schema) -> list[dict[str, Any]]:
    """Return all rows of a block, each as a dict by column. Raises pa.ArrowInvalid if the block is damaged."""
    columns = [(field.name, read_nullable(reader_of(field.type))) for field in schema]
    cursor = ByteCursor(data)
    try:
        decoded = [{name: read(cursor) for name, read in columns} for _ in range(rows)]
    except (ValueError, KeyError, OverflowError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"these bytes are not what was written: {error!r}") from error
    if cursor.at < len(data):
        raise pa.ArrowInvalid("a block holds more than its rows")
    return decoded
