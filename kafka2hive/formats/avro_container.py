"""Avro's container files (specification 1.12): a header, blocks of rows, each followed by the file's sync marker, and codecs.

The module also derives the Avro schema of a file's rows.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafka2hive.formats.contract.primitives import from_snappy, from_zstd, read_varint, varint

AVRO_MAGIC = b"Obj\x01"
MARKER_BYTES = 16
CODEC = "avro.codec"
SCHEMA = "avro.schema"
"""The metadata keys that Avro defines."""
AVRO_CODECS = {"gzip": "deflate", "zstd": "zstandard", "snappy": "snappy", "none": "null"}
"""Avro's names of the codecs, by the map's."""
_RAW = -15  # deflate without a head and a checksum
_LEVEL = 1  # Avro's own default: a fifth larger than 6, in a quarter of the time
_CHECKSUM = 4

Codec = Callable[[bytes], bytes]
_SIMPLE = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
}


@dataclass(frozen=True, slots=True)
class Block:
    """One block. `data` is compressed, as in the file."""

    rows: int
    data: bytes


def long_bytes(number: int) -> bytes:
    """Return a number that is not negative as a zigzag varint."""
    return varint(number << 1)


def head_bytes(metadata: Mapping[str, bytes], marker: bytes) -> bytes:
    pairs = ((name.encode(), value) for name, value in metadata.items())
    parts = (long_bytes(len(part)) + part for pair in pairs for part in pair)
    return b"".join([AVRO_MAGIC, long_bytes(len(metadata)), *parts, long_bytes(0), marker])


def block_bytes(block: Block, marker: bytes) -> bytes:
    return b"".join([long_bytes(block.rows), long_bytes(len(block.data)), block.data, marker])


def blocks(data: bytes, marker: bytes, start: int = 0) -> Iterator[Block]:
    """Yield the blocks from byte `start` to the end. Raises pa.ArrowInvalid if they are damaged."""
    cursor = ByteCursor(data, start)
    while cursor.at < len(data):
        rows = cursor.count()
        yield Block(rows, cursor.take(cursor.count()))
        if cursor.take(MARKER_BYTES) != marker:
            raise pa.ArrowInvalid("a block does not end with the file's marker")


@dataclass(frozen=True, slots=True)
class Container:
    """A whole file. `blocks` does not include the trailer."""

    metadata: Mapping[str, bytes]
    blocks: tuple[Block, ...]


def read_container(data: bytes) -> Container:
    """Read a whole file. Raises pa.ArrowInvalid if it is damaged."""
    if not data.startswith(AVRO_MAGIC):
        raise pa.ArrowInvalid("not an Avro file")
    cursor = ByteCursor(data, len(AVRO_MAGIC))
    metadata = {}
    while count := cursor.count():
        for _ in range(count):
            name = cursor.take(cursor.count())
            metadata[name.decode(errors="replace")] = cursor.take(cursor.count())
    marker = cursor.take(MARKER_BYTES)
    return Container(metadata, tuple(block for block in blocks(data, marker, cursor.at) if block.rows))


class ByteCursor:
    """A position in some bytes. Every method raises pa.ArrowInvalid if they end too early."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def take(self, size: int) -> bytes:
        data = self._data[self.at : self.at + size]
        if len(data) != size:
            raise pa.ArrowInvalid("the file ends too early")
        self.at += size
        return data

    def long(self) -> int:
        """Read a zigzag varint."""
        number, self.at = read_varint(self._data, self.at)
        return number >> 1 ^ -(number & 1)

    def count(self) -> int:
        """Read a count of bytes, rows or elements. A negative count, which other writers put before a size, is not supported."""
        count = self.long()
        if count < 0:
            raise pa.ArrowInvalid("a count is negative")
        return count


def compressor(name: str, level: int | None) -> Codec:
    """Return the codec with this name in the map."""
    match name:
        case "gzip":
            return lambda data: zlib.compress(data, _LEVEL if level is None else level, _RAW)
        case "zstd":
            zstd = pa.Codec("zstd", compression_level=level)
            return lambda data: bytes(zstd.compress(data, asbytes=True))
        case "snappy":
            snappy = pa.Codec("snappy")
            return lambda data: (
                snappy.compress(data, asbytes=True) + zlib.crc32(data).to_bytes(_CHECKSUM, "big")
            )
        case _:
            return lambda data: data


def decompress(data: bytes, name: str) -> bytes:
    """Decompress a block with the codec of this Avro name. Bytes after a deflate stream are ignored.

    Raises OSError or pa.ArrowException.
    """
    match name:
        case "null":
            return data
        case "zstandard":
            return from_zstd(data)
        case "snappy":
            plain = from_snappy(data[:-_CHECKSUM])
            if zlib.crc32(plain).to_bytes(_CHECKSUM, "big") != data[-_CHECKSUM:]:
                raise pa.ArrowInvalid("a block's checksum is wrong")
            return plain
        case "deflate":
            try:
                return zlib.decompress(data, _RAW)
            except zlib.error as error:
                raise pa.ArrowInvalid(f"damaged deflate: {error}") from error
        case other:
            raise pa.ArrowInvalid(f"blocks have the codec {other}, which this program does not write")


def avro_schema(schema: pa.Schema) -> dict[str, Any]:
    """Return the Avro schema that Hive derives from a table: every value may be null, column names are in lower case.

    Raises pa.ArrowInvalid for a type that Avro files cannot have.
    """
    return _Records().record([field.with_name(field.name.lower()) for field in schema])


class _Records:
    """Gives every record of a schema a different name, as Avro requires."""

    def __init__(self) -> None:
        self._count = 0

    def record(self, fields: list[pa.Field]) -> dict[str, Any]:
        name = f"record_{self._count}"
        self._count += 1
        members = [
            {"name": field.name, "type": self._nullable(field.type), "default": None} for field in fields
        ]
        return {"type": "record", "name": name, "fields": members}

    def _nullable(self, kind: pa.DataType) -> list[Any]:
        return ["null", self._type(kind)]

    def _type(self, kind: pa.DataType) -> Any:
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if pa.types.is_date32(kind):
            return {"type": "int", "logicalType": "date"}
        if kind == pa.timestamp("us"):
            return {"type": "long", "logicalType": "local-timestamp-millis"}
        if pa.types.is_decimal128(kind):
            digits = {"precision": kind.precision, "scale": kind.scale}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        if pa.types.is_list(kind):
            return {"type": "array", "items": self._nullable(kind.value_type)}
        if pa.types.is_map(kind) and kind.key_type == pa.string():
            return {"type": "map", "values": self._nullable(kind.item_type)}
        if pa.types.is_struct(kind):
            return self.record(list(kind))
        raise pa.ArrowInvalid(f"Avro files have no {kind}")
