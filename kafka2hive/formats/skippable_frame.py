"""zstd's skippable frame, which every reader goes past (RFC 8878): a head, and the bytes that it says."""

import struct

_HEAD = struct.Struct("<4sI")
HEAD_SIZE = _HEAD.size
MAGIC = (0x184D2A5B).to_bytes(4, "little")  # any of 0x184D2A50 to 5F is one


def frame_head(size: int) -> bytes:
    """`size`: of what follows."""
    return _HEAD.pack(MAGIC, size)
