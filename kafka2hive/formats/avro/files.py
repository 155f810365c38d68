"""Avro files: blocks small enough for a reader's memory, and a last block that holds the trailer.

The compiled library writes the rows. The reader reads them one by one: slow, but independent of the library.
"""

import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.avro.container import (
    AVRO_CODECS,
    CODEC,
    MARKER_BYTES,
    SCHEMA,
    Block,
    avro_schema,
    block_bytes,
    blocks,
    compressor,
    decompress,
    head_bytes,
    long_bytes,
    read_container,
)
from kafka2hive.formats.avro.rows import decode, encoder
from kafka2hive.formats.contract.port import FileEnd, pieces
from kafka2hive.formats.contract.primitives import FRAME_HEAD_SIZE, FRAME_MAGIC, frame_head
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
