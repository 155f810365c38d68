"""The layout of Avro's container files (specification 1.12): a head, then blocks of rows, each with the file's mark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

MAGIC = b"Obj\x01"
MARK_BYTES = 16
CODEC = "avro.codec"
SCHEMA = "avro.schema"
"""Avro's own keys of the metadata."""


@dataclass(frozen=True, slots=True)
class Block:
    """`data` as the file has them: compressed."""

    rows: int
    data: bytes


def long_bytes(number: int) -> bytes:
    """A zigzag varint of a number that is not negative."""
    left, out = number << 1, bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def head_bytes(metadata: Mapping[str, bytes], mark: bytes) -> bytes:
    pairs = ((name.encode(), value) for name, value in metadata.items())
    written = (long_bytes(len(part)) + part for pair in pairs for part in pair)
    return b"".join([MAGIC, long_bytes(len(metadata)), *written, long_bytes(0), mark])


def block_bytes(block: Block, mark: bytes) -> bytes:
    return b"".join([long_bytes(block.rows), long_bytes(len(block.data)), block.data, mark])


def blocks(data: bytes, mark: bytes, start: int = 0) -> Iterator[Block]:
    """From `start` to the end. Raises pa.ArrowInvalid where the file is damaged."""
    place = Place(data, start)
    while place.at < len(data):
        rows = place.count()
        yield Block(rows, place.take(place.count()))
        if place.take(MARK_BYTES) != mark:
            raise pa.ArrowInvalid("a block does not end with the file's mark")


@dataclass(frozen=True, slots=True)
class Container:
    """A whole file; `blocks` without the trailer."""

    metadata: Mapping[str, bytes]
    blocks: tuple[Block, ...]


def read_container(data: bytes) -> Container:
    """Raises pa.ArrowInvalid where it is damaged."""
    if not data.startswith(MAGIC):
        raise pa.ArrowInvalid("no Avro file")
    place = Place(data, len(MAGIC))
    metadata = {}
    while count := place.count():
        for _ in range(count):
            name = place.take(place.count())
            metadata[name.decode(errors="replace")] = place.take(place.count())
    found = blocks(data, place.take(MARK_BYTES), place.at)
    return Container(metadata, tuple(block for block in found if block.rows))


class Place:
    """In some bytes. Everything raises pa.ArrowInvalid where they end too early."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def take(self, size: int) -> bytes:
        found = self._data[self.at : self.at + size]
        if len(found) != size:
            raise pa.ArrowInvalid("the file ends too early")
        self.at += size
        return found

    def long(self) -> int:
        """A zigzag varint."""
        number = shift = 0
        while True:
            (byte,) = self.take(1)
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number >> 1 ^ -(number & 1)
            if shift > 63:
                raise pa.ArrowInvalid("a number has more than 64 bits")

    def count(self) -> int:
        """Of bytes, rows or elements. A negative one, as other writers have them before a size, is not known here."""
        found = self.long()
        if found < 0:
            raise pa.ArrowInvalid("a count is negative")
        return found
