"""The trailer of an Avro file with deflate or zstd (formats/trailer.py): a last block of no rows.

Its data decompress to nothing. With zstd the trailer is a skippable frame; with deflate it stands behind an
empty stream, where nobody looks.
"""

import zlib
from collections.abc import Callable

import pyarrow as pa

from kafka2hive.formats.avro.container import MARK_BYTES, Block, block_bytes, blocks, long_bytes
from kafka2hive.formats.port import FileEnd
from kafka2hive.formats.skippable_frame import HEAD_SIZE, MAGIC, frame_head
from kafka2hive.formats.trailer import END_SIZE, end_mark, parsed, trailer_of

WITH_TRAILER = frozenset({"gzip", "zstd"})
"""The map's codecs; what snappy or no codec makes of nothing has no room."""

_NOTHING = zlib.compress(b"", wbits=-15)
_NO_ROWS = long_bytes(0)


def trailer_block(codec: str, payload: bytes, mark: bytes) -> bytes:
    """`codec` is `gzip` or `zstd`."""
    size = len(payload) + END_SIZE
    before = _NOTHING if codec == "gzip" else frame_head(size)
    whole = len(_NO_ROWS + long_bytes(len(before) + size) + before) + size + MARK_BYTES
    return block_bytes(Block(0, before + payload + end_mark(whole)), mark)


def avro_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.opened.end_of. Raises pa.ArrowInvalid for a file without a trailer."""
    trailer = trailer_of(length, tail, END_SIZE + MARK_BYTES, MARK_BYTES)
    found = list(blocks(trailer, trailer[-MARK_BYTES:]))
    if len(found) != 1 or found[0].rows:
        raise pa.ArrowInvalid("a damaged trailer")
    (block,) = found
    begin = HEAD_SIZE if block.data.startswith(MAGIC) else len(_NOTHING)
    return parsed(block.data[begin:-END_SIZE])
