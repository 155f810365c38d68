"""Rows in Avro's binary encoding: written by the compiled library, or one by one; read one by one."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kafka2hive.formats.avro.container import Place
from kafka2hive.formats.avro.values import nullable, read_nullable, reader_of, writer_of

try:
    from kafka2hive_native import avro_rows
except ImportError:  # there is none, or an older one
    avro_rows = None

Encode = Callable[[pa.RecordBatch, int, int], tuple[int, bytes]]
"""Rows from a number on, until there are enough bytes or no more rows: how many, and their bytes.

Raises ValueError for a part of a millisecond: whoever gives the rows has made sure that there is none.
"""

COMPILED: Encode | None = avro_rows


def encoder_of(schema: pa.Schema) -> Encode:
    """For rows with this schema."""
    return one_by_one(schema) if COMPILED is None else COMPILED


def one_by_one(schema: pa.Schema) -> Encode:
    """Slow, and the same bytes."""
    columns = [(field.name, nullable(writer_of(field.type))) for field in schema]

    def encode(rows: pa.RecordBatch, start: int, enough: int) -> tuple[int, bytes]:
        out, count = bytearray(), 0
        while start + count < len(rows) and len(out) < enough:
            (row,) = rows.slice(start + count, 1).to_pylist()
            for name, write in columns:
                write(row[name], out)
            count += 1
        return count, bytes(out)

    return encode


def decode(data: bytes, rows: int, schema: pa.Schema) -> list[dict[str, Any]]:
    """All rows of a block, by column. Raises pa.ArrowInvalid."""
    columns = [(field.name, read_nullable(reader_of(field.type))) for field in schema]
    place = Place(data)
    try:
        found = [{name: read(place) for name, read in columns} for _ in range(rows)]
    except (ValueError, KeyError, OverflowError, ArithmeticError) as error:
        raise pa.ArrowInvalid(f"not what was written: {error!r}") from error
    if place.at < len(data):
        raise pa.ArrowInvalid("a block holds more than its rows")
    return found
