"""Avro files: blocks small enough for a reader's memory, and a last block that holds the trailer.

The compiled library writes the rows. The reader reads them one by one: slow, but independent of the library.
"""

import datetime
import secrets
import socket
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.config.native_library import LIBRARY, avro_needs_library
from kafka2hive.formats.avro_container import (
    AVRO_CODECS,
    AVRO_MAGIC,
    CODEC,
    MARKER_BYTES,
    SCHEMA,
    Block,
    ByteCursor,
    avro_schema,
    block_bytes,
    blocks,
    compressor,
    decompress,
    head_bytes,
    long_bytes,
    read_container,
)
from kafka2hive.formats.contract.port import FileEnd, FormatCode, Unwritable, pieces
from kafka2hive.formats.contract.primitives import FRAME_HEAD_SIZE, FRAME_MAGIC, frame_head
from kafka2hive.formats.contract.times import PART_OF_MILLISECOND, rows_not_in_millis
from kafka2hive.formats.contract.trailer import (
    END_SIZE,
    SCHEMA_KEY,
    end_mark,
    parse_trailer,
    payload_of,
    schema_of,
    schema_text,
    trailer_of,
)
from kafka2hive.model.errors import TableError

Read = Callable[[ByteCursor], Any]

_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_DIGITS = Context(prec=76)

WITH_TRAILER = frozenset({"gzip", "zstd"})
"""The map's codecs whose blocks can hold a trailer; snappy and no codec leave no room in an empty block."""
_BLOCK = 256 * 1024  # bytes before compression
_READ_BY_HIVE = {"writer.time.zone": b"UTC", "writer.proleptic": b"true"}
"""For Hive 3 and 4: times have no time zone, and dates before 1582 are Gregorian too."""
_EMPTY_DEFLATE = zlib.compress(b"", wbits=-15)
_NO_ROWS = long_bytes(0)


class AvroEncoder:
    """One file (Encoder). Nothing is held between row groups."""

    def __init__(self, stream: pa.NativeFile, schema: pa.Schema, options: WriterOptions) -> None:
        self._stream = stream
        self._codec = options.compression
        self._compress = compressor(options.compression, options.level)
        self._encode = encoder()
        self._marker = secrets.token_bytes(MARKER_BYTES)
        self._rows = 0
        metadata = {
            SCHEMA: orjson.dumps(avro_schema(schema)),
            CODEC: AVRO_CODECS[options.compression].encode(),
            SCHEMA_KEY: schema_text(schema).encode(),
            **_READ_BY_HIVE,
        }
        stream.write(head_bytes(metadata, self._marker))

    def write(self, rows: pa.Table) -> None:
        for batch in pieces(rows):
            start = 0
            while start < len(batch):
                count, data = self._block(batch, start)
                self._stream.write(block_bytes(Block(count, self._compress(data)), self._marker))
                start += count
            self._rows += start

    def _block(self, batch: pa.RecordBatch, start: int) -> tuple[int, bytes]:
        try:
            return self._encode(batch, start, _BLOCK)
        except ValueError as error:
            raise pa.ArrowInvalid(str(error)) from error

    def end(self, metadata: Mapping[str, str]) -> int:
        """See Encoder. The row count is the sum over the blocks."""
        if self._codec in WITH_TRAILER:
            self._stream.write(trailer_block(self._codec, payload_of(self._rows, metadata), self._marker))
        return self._rows

    def abandon(self) -> None:
        """Do nothing, because the encoder holds nothing."""


class AvroEncoding:
    """Avro files of one table."""

    extension = "avro"

    def __init__(self, options: WriterOptions) -> None:
        self._options = options

    def open(self, stream: pa.NativeFile, first: pa.Table) -> AvroEncoder:
        return AvroEncoder(stream, first.schema, self._options)


class AvroReader:
    """A whole file (FileReader). Its row count is the sum over the blocks; a trailer must have the same count."""

    def __init__(self, data: bytes) -> None:
        container = read_container(data)
        self._metadata = container.metadata
        self._blocks = container.blocks
        self._codec = container.metadata.get(CODEC, b"null").decode(errors="replace")
        has_trailer = self._codec in (AVRO_CODECS[codec] for codec in WITH_TRAILER)
        if has_trailer and self.rows != (rows := avro_end(len(data), lambda count: data[-count:]).rows):
            raise pa.ArrowInvalid(f"{self.rows} rows in blocks, {rows} by the trailer")

    @property
    def schema(self) -> pa.Schema:
        try:
            schema = schema_of(self._metadata[SCHEMA_KEY])
            if orjson.loads(self._metadata[SCHEMA]) != avro_schema(schema):
                raise ValueError("Avro's schema differs")
        except (ValueError, KeyError) as error:
            raise pa.ArrowInvalid(f"the file does not name its columns: {error}") from error
        return schema

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self._blocks)

    def filled_columns(self) -> set[str]:
        """Return all columns, because their values are not counted."""
        return set(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        chosen = pa.schema([schema.field(name) for name in columns])
        for block in self._blocks:
            block_rows = decode(decompress(block.data, self._codec), block.rows, schema)
            for start in range(0, len(block_rows), rows):
                yield _batch(block_rows[start : start + rows], chosen)


def _batch(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    except (ValueError, OverflowError) as error:
        raise pa.ArrowInvalid(f"these bytes are not what was written: {error!r}") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def trailer_block(codec: str, payload: bytes, marker: bytes) -> bytes:
    """Return the block without rows that holds the trailer. `codec`: one of WITH_TRAILER."""
    size = len(payload) + END_SIZE
    before = _EMPTY_DEFLATE if codec == "gzip" else frame_head(size)
    length = len(_NO_ROWS + long_bytes(len(before) + size) + before) + size + MARKER_BYTES
    return block_bytes(Block(0, before + payload + end_mark(length)), marker)


def avro_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.files.end_of. Raises pa.ArrowInvalid for a file without a trailer."""
    trailer = trailer_of(length, tail, END_SIZE + MARKER_BYTES, MARKER_BYTES)
    trailer_blocks = list(blocks(trailer, trailer[-MARKER_BYTES:]))
    if len(trailer_blocks) != 1 or trailer_blocks[0].rows:
        raise pa.ArrowInvalid("a damaged trailer")
    (block,) = trailer_blocks
    begin = FRAME_HEAD_SIZE if block.data.startswith(FRAME_MAGIC) else len(_EMPTY_DEFLATE)
    return parse_trailer(block.data[begin:-END_SIZE])


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


_MILLIS = Unwritable(rows_not_in_millis, "avro.timestamp", PART_OF_MILLISECOND)
AVRO = FormatCode(
    encoding=AvroEncoding,
    read=lambda file: AvroReader(file.read()),
    magic=AVRO_MAGIC,
    end=avro_end,
    unwritable=lambda _options: _MILLIS,
)
