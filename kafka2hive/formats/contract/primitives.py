"""Byte-level parts of several file formats: varints, Snappy, zstd, and zstd's skippable frames (RFC 8878)."""

import struct

import pyarrow as pa

_HEAD = struct.Struct("<4sI")
FRAME_HEAD_SIZE = _HEAD.size
FRAME_MAGIC = (0x184D2A5B).to_bytes(4, "little")  # 0x184D2A50 to 0x184D2A5F all mark a skippable frame
_SEVEN_BITS = 0x7F
_LONGEST_VARINT = 10


def varint(number: int) -> bytes:
    """Return a number that is not negative as a varint: seven bits in each byte, the lowest ones first."""
    octets = bytearray()
    while number > _SEVEN_BITS:
        octets.append(number & _SEVEN_BITS | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def read_varint(data: bytes, at: int = 0) -> tuple[int, int]:
    """Return the number at byte `at` and the position after it. Raises pa.ArrowInvalid."""
    number = shift = 0
    for end, octet in enumerate(data[at : at + _LONGEST_VARINT], at + 1):
        number |= (octet & _SEVEN_BITS) << shift
        shift += 7
        if octet <= _SEVEN_BITS:
            return number, end
    if len(data) - at >= _LONGEST_VARINT:
        raise pa.ArrowInvalid("a number has more than 64 bits")
    raise pa.ArrowInvalid("the data ends within a number")


def frame_head(size: int) -> bytes:
    """Return the header of a skippable frame with `size` bytes of content."""
    return _HEAD.pack(FRAME_MAGIC, size)


def from_snappy(block: bytes) -> bytes:
    """Decompress one block. Raises OSError or pa.ArrowInvalid if it is damaged."""
    length, _ = read_varint(block)  # of the decompressed data, which pyarrow needs
    return bytes(pa.decompress(block, decompressed_size=length, codec="snappy", asbytes=True))


def from_zstd(data: bytes) -> bytes:
    """Decompress all frames in `data`. Raises OSError or pa.ArrowInvalid if one is damaged."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read())
