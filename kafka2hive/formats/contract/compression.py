"""Decompression of Snappy and zstd, and the header of zstd's skippable frame, which every reader skips (RFC 8878)."""

import struct

import pyarrow as pa

_HEAD = struct.Struct("<4sI")
HEAD_SIZE = _HEAD.size
MAGIC = (0x184D2A5B).to_bytes(4, "little")  # 0x184D2A50 to 0x184D2A5F all mark a skippable frame


def frame_head(size: int) -> bytes:
    """Return the header of a skippable frame with `size` bytes of content."""
    return _HEAD.pack(MAGIC, size)


def from_snappy(block: bytes) -> bytes:
    """Decompress one block. Raises OSError or pa.ArrowInvalid if it is damaged."""
    return bytes(pa.decompress(block, decompressed_size=_length(block), codec="snappy", asbytes=True))


def from_zstd(data: bytes) -> bytes:
    """Decompress all frames in `data`. Raises OSError or pa.ArrowInvalid if one is damaged."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read())


def _length(block: bytes) -> int:
    """Return the decompressed length, a varint at the beginning of the block, which pyarrow needs."""
    length = shift = 0
    for byte in block:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return length
