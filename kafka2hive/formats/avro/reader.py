"""A reader of Avro files, row by row: slow, but independent of the compiled library. Also the trailer block."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.formats.avro.container import (
    CODEC,
    MARK_BYTES,
    NAMES,
    SCHEMA,
    Block,
    avro_schema,
    block_bytes,
    blocks,
    decompress,
    long_bytes,
    read_container,
)
from kafka2hive.formats.avro.rows import decode
from kafka2hive.formats.contract.port import FileEnd
from kafka2hive.formats.contract.primitives import HEAD_SIZE, MAGIC, frame_head
from kafka2hive.formats.contract.trailer import (
    END_SIZE,
    SCHEMA_KEY,
    end_mark,
    parse_trailer,
    schema_of,
    trailer_of,
)

WITH_TRAILER = frozenset({"gzip", "zstd"})
"""The map's codecs whose blocks can hold a trailer; snappy and no codec leave no room in an empty block."""

_NOTHING = zlib.compress(b"", wbits=-15)
_NO_ROWS = long_bytes(0)


def trailer_block(codec: str, payload: bytes, mark: bytes) -> bytes:
    """Return the block that holds the trailer; `codec` is `gzip` or `zstd`."""
    size = len(payload) + END_SIZE
    before = _NOTHING if codec == "gzip" else frame_head(size)
    length = len(_NO_ROWS + long_bytes(len(before) + size) + before) + size + MARK_BYTES
    return block_bytes(Block(0, before + payload + end_mark(length)), mark)


def avro_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.readers.end_of. Raises pa.ArrowInvalid for a file without a trailer."""
    trailer = trailer_of(length, tail, END_SIZE + MARK_BYTES, MARK_BYTES)
    trailer_blocks = list(blocks(trailer, trailer[-MARK_BYTES:]))
    if len(trailer_blocks) != 1 or trailer_blocks[0].rows:
        raise pa.ArrowInvalid("a damaged trailer")
    (block,) = trailer_blocks
    begin = HEAD_SIZE if block.data.startswith(MAGIC) else len(_NOTHING)
    return parse_trailer(block.data[begin:-END_SIZE])


class AvroReader:
    """A whole file (FileReader). The rows are those of the blocks; if there is a trailer, it must have the same count."""

    def __init__(self, data: bytes) -> None:
        container = read_container(data)
        self._metadata = container.metadata
        self._blocks = container.blocks
        self._codec = container.metadata.get(CODEC, b"null").decode(errors="replace")
        has_trailer = self._codec in (NAMES[codec] for codec in WITH_TRAILER)
        if has_trailer and self.rows != (rows := avro_end(len(data), lambda count: data[-count:]).rows):
            raise pa.ArrowInvalid(f"{self.rows} rows in blocks, {rows} by the trailer")

    @property
    def schema(self) -> pa.Schema:
        try:
            schema = schema_of(self._metadata[SCHEMA_KEY])
            if orjson.loads(self._metadata[SCHEMA]) != avro_schema(schema):
                raise ValueError("Avro's schema differs")
        except (ValueError, KeyError) as error:
            raise pa.ArrowInvalid(f"the file does not say its columns: {error}") from error
        return schema

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self._blocks)

    def filled_columns(self) -> set[str]:
        """Return all columns, because their values are not counted."""
        return set(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        wanted = pa.schema([schema.field(name) for name in columns])
        for block in self._blocks:
            block_rows = decode(decompress(block.data, self._codec), block.rows, schema)
            for start in range(0, len(block_rows), rows):
                yield _batch(block_rows[start : start + rows], wanted)


def _batch(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    except (ValueError, OverflowError) as error:
        raise pa.ArrowInvalid(f"not what was written: {error!r}") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)
