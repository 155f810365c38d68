"""The compression and the text encoding of sampled values, told by the bytes with which most of them begin."""

from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.keys.source import Compression, Encoding
from kafka2hive.decode.transport.contents import Contents, Transport

_COMPRESSIONS: dict[Compression, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "lz4": (b"\x04\x22\x4d\x18",),
    "zlib": (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
    "snappy": (b"\x82SNAPPY\x00",),
}
"""Raw deflate and raw blocks of snappy begin with any bytes, so they are not recognised."""
_ENCODINGS: dict[Encoding, tuple[bytes, ...]] = {
    "utf-8-bom": (b"\xef\xbb\xbf",),
    "utf-16": (b"\xff\xfe", b"\xfe\xff"),
    "utf-16le": (b"{\0", b"[\0"),
}


def compression_of(values: Sequence[bytes]) -> Compression:
    """Return the compression that most values begin with, if most of them can be decompressed; otherwise `none`."""
    for compression, heads in _COMPRESSIONS.items():
        if _are_most(values, heads, Transport(compression)):
            return compression
    return "none"


def encoding_of(values: Sequence[bytes]) -> Encoding:
    """Return the encoding of text whose mark most values begin with; otherwise UTF-8."""
    for encoding, heads in _ENCODINGS.items():
        if _are_most(values, heads, Transport(encoding=encoding)):
            return encoding
    return "utf-8"


def contents_of(values: Sequence[bytes], compression: Compression, encoding: Encoding) -> Contents:
    """Return the contents by which the values are recognised."""
    return Transport(compression, encoding).all_contents(pa.array(values, pa.binary()))


def _are_most(values: Sequence[bytes], heads: tuple[bytes, ...], transport: Transport) -> bool:
    if 2 * sum(value.startswith(heads) for value in values) <= len(values):
        return False
    return 2 * len(transport.all_contents(pa.array(values, pa.binary())).places) > len(values)
