"""Rows in Avro's binary encoding: the compiled library writes them; they are read one by one."""

import socket
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kafka2hive.config.machine.native_library import LIBRARY, avro_needs_library
from kafka2hive.formats.avro.container import Place
from kafka2hive.formats.avro.values import read_nullable, reader_of
from kafka2hive.model.errors import TableError

Encode = Callable[[pa.RecordBatch, int, int], tuple[int, bytes]]
"""Rows from a number on, until there are enough bytes or no more rows: how many, and their bytes.

Raises ValueError for a part of a millisecond: whoever gives the rows has made sure that there is none.
"""


def encoder(library: Any = LIBRARY) -> Encode:
    """Raises TableError without a library: executors may lack what the driver has."""
    if library is None:
        missing = avro_needs_library()
        raise TableError(missing.code, f"on {socket.gethostname()}: {missing.message}", missing.remedy)
    encode: Encode = library.avro_rows
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
