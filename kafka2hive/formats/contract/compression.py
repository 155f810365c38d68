"""zstd's skippable frame, which every reader goes past (RFC 8878): a head, and the bytes that it says."""

import struct

import pyarrow as pa

_HEAD = struct.Struct("<4sI")
HEAD_SIZE = _HEAD.size
MAGIC = (0x184D2A5B).to_bytes(4, "little")  # any of 0x184D2A50 to 5F is one


def frame_head(size: int) -> bytes:
    """`size`: of what follows."""
    return _HEAD.pack(MAGIC, size)


def from_snappy(block: bytes) -> bytes:
    """One block, whose length pyarrow wants to be told. Raises OSError or pa.ArrowInvalid for a damaged one."""
    return bytes(pa.decompress(block, decompressed_size=_length(block), codec="snappy", asbytes=True))


def from_zstd(data: bytes) -> bytes:
    """All frames in it. Raises OSError or pa.ArrowInvalid for damaged ones."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read())


def _length(block: bytes) -> int:
    """It begins with it, as a varint."""
    length = shift = 0
    for byte in block:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return length
