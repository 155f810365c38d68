"""Codecs of a file's blocks: those that Hive reads."""

import zlib
from collections.abc import Callable

import pyarrow as pa

from kafka2hive.formats.compressed import from_snappy, from_zstd

Codec = Callable[[bytes], bytes]

NAMES = {"gzip": "deflate", "zstd": "zstandard", "snappy": "snappy", "none": "null"}
"""Avro's, by the map's."""

_RAW = -15  # deflate without a head and a checksum
_LEVEL = 1  # as Avro's own output format: a fifth larger than with 6, at a quarter of the time
_CHECKSUM = 4


def compressor(name: str, level: int | None) -> Codec:
    """By the map's name."""
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


def decompressed(data: bytes, name: str) -> bytes:
    """By Avro's name. What stands behind a deflate stream is not looked at. Raises OSError or pa.ArrowException."""
    match name:
        case "null":
            return data
        case "zstandard":
            return from_zstd(data)
        case "snappy":
            plain = from_snappy(data[:-_CHECKSUM])
            if zlib.crc32(plain).to_bytes(_CHECKSUM, "big") != data[-_CHECKSUM:]:
                raise pa.ArrowInvalid("a block has another checksum")
            return plain
        case "deflate":
            try:
                return zlib.decompress(data, _RAW)
            except zlib.error as error:
                raise pa.ArrowInvalid(f"damaged deflate: {error}") from error
        case other:
            raise pa.ArrowInvalid(f"blocks have the codec {other}, which this program does not write")
