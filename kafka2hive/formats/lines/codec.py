"""Codecs of whole files: gzip members and zstd frames one after the other, which every reader takes for one stream."""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from kafka2hive.formats.contract.compression import from_zstd
from kafka2hive.formats.lines.trailer import gzip_trailer, zstd_trailer

CODEC_NAMES = {"gz": "gzip", "zst": "zstd"}
"""By the suffix of a file's name."""

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5b\x2a\x4d\x18")  # a frame; the trailer of a file without rows


@dataclass(frozen=True, slots=True)
class LineCodec:
    """`suffix` of file names, without a dot; `trailer` of a payload, None: files without compression have none."""

    suffix: str
    compress: Callable[[pa.Buffer], bytes | pa.Buffer]
    trailer: Callable[[bytes], bytes] | None


def line_codec(name: str, level: int | None) -> LineCodec:
    """`name` is `gzip`, `zstd` or `none`."""
    if name == "none":
        return LineCodec("", lambda data: data, None)
    codec = pa.Codec(name, compression_level=level)
    (suffix,) = (suffix for suffix, codec_name in CODEC_NAMES.items() if codec_name == name)
    return LineCodec(suffix, codec.compress, gzip_trailer if name == "gzip" else zstd_trailer)


def codec_of(data: bytes) -> str | None:
    """By what a file begins with; None: neither gzip nor zstd."""
    if data.startswith(_GZIP):
        return "gzip"
    return "zstd" if data.startswith(_ZSTD) else None


def decompressed(data: bytes, codec: str) -> bytes:
    """The whole file. Raises pa.ArrowException or OSError for a damaged one."""
    if codec == "zstd":
        return from_zstd(data)
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error) as error:
        raise pa.ArrowInvalid(f"damaged gzip: {error}") from error
