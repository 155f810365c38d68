"""Rows as Avro files: blocks small enough for a reader's memory, and a last block that holds the trailer."""

import secrets
from collections.abc import Mapping

import orjson
import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.avro.container import (
    CODEC,
    MARK_BYTES,
    NAMES,
    SCHEMA,
    Block,
    avro_schema,
    block_bytes,
    compressor,
    head_bytes,
)
from kafka2hive.formats.avro.reader import WITH_TRAILER, trailer_block
from kafka2hive.formats.avro.rows import encoder
from kafka2hive.formats.contract.port import pieces
from kafka2hive.formats.contract.trailer import SCHEMA_KEY, payload_of, schema_text

_BLOCK = 256 * 1024  # bytes before compression
_READ_BY_HIVE = {"writer.time.zone": b"UTC", "writer.proleptic": b"true"}
"""For Hive 3 and 4: times have no time zone, and dates before 1582 are Gregorian too."""


class AvroEncoder:
    """One file (Encoder). Nothing is held between row groups."""

    def __init__(self, stream: pa.NativeFile, schema: pa.Schema, options: WriterOptions) -> None:
        self._stream = stream
        self._codec = options.compression
        self._compress = compressor(options.compression, options.level)
        self._encode = encoder()
        self._mark = secrets.token_bytes(MARK_BYTES)
        self._rows = 0
        metadata = {
            SCHEMA: orjson.dumps(avro_schema(schema)),
            CODEC: NAMES[options.compression].encode(),
            SCHEMA_KEY: schema_text(schema).encode(),
            **_READ_BY_HIVE,
        }
        stream.write(head_bytes(metadata, self._mark))

    def write(self, rows: pa.Table) -> None:
        for batch in pieces(rows):
            start = 0
            while start < len(batch):
                count, data = self._block(batch, start)
                self._stream.write(block_bytes(Block(count, self._compress(data)), self._mark))
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
            self._stream.write(trailer_block(self._codec, payload_of(self._rows, metadata), self._mark))
        return self._rows

    def abandon(self) -> None:
        """Nothing is held."""


class AvroEncoding:
    """Avro files of one table."""

    extension = "avro"

    def __init__(self, options: WriterOptions) -> None:
        self._options = options

    def open(self, stream: pa.NativeFile, first: pa.Table) -> AvroEncoder:
        return AvroEncoder(stream, first.schema, self._options)
