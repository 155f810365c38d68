"""Codecs of whole files: consecutive gzip members or zstd frames, which every reader reads as one stream."""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from kafka2hive.formats.contract.primitives import from_zstd
from kafka2hive.formats.lines.trailer import gzip_trailer, zstd_trailer

CODEC_NAMES = {"gz": "gzip", "zst": "zstd"}
"""Codecs by the suffix of a file's name."""

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5b\x2a\x4d\x18")  # a frame; the trailer of a file without rows


@dataclass(frozen=True, slots=True)
class LineCodec:
    """One codec. `suffix` is that of file names, without a dot. `trailer` wraps a payload; None without compression."""

    suffix: str
    compress: Callable[[pa.Buffer], bytes | pa.Buffer]
    trailer: Callable[[bytes], bytes] | None


def line_codec(name: str, level: int | None) -> LineCodec:
    """Return the codec with this name: `gzip`, `zstd` or `none`."""
    if name == "none":
        return LineCodec("", lambda data: data, None)
    codec = pa.Codec(name, compression_level=level)
    (suffix,) = (suffix for suffix, codec_name in CODEC_NAMES.items() if codec_name == name)
    return LineCodec(suffix, codec.compress, gzip_trailer if name == "gzip" else zstd_trailer)


def codec_of(data: bytes) -> str | None:
    """Return the codec that the file's first bytes show; None if it is neither gzip nor zstd."""
    if data.startswith(_GZIP):
        return "gzip"
    return "zstd" if data.startswith(_ZSTD) else None


def decompress(data: bytes, codec: str) -> bytes:
    """Decompress a whole file. Raises pa.ArrowException or OSError if it is damaged."""
    if codec == "zstd":
        return from_zstd(data)
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error) as error:
        raise pa.ArrowInvalid(f"damaged gzip: {error}") from error
