"""Codecs of whole files of lines: consecutive gzip members or zstd frames, which every reader reads as one stream.

The trailer (formats/contract/trailer.py) is in the extra fields of gzip members without data (RFC 1952), or in a
skippable frame of zstd.
"""

import gzip
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from kafka2hive.formats.contract.port import FileEnd
from kafka2hive.formats.contract.primitives import FRAME_HEAD_SIZE, frame_head, from_zstd
from kafka2hive.formats.contract.trailer import END_SIZE, end_mark, parse_trailer, trailer_of

_MEMBER = (
    b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff"
)  # head of a gzip member: deflate, an extra field, unknown system
_SUBFIELD = struct.Struct("<H2sH")  # length of the extra field, id of the only subfield, its length
_ID = b"K2"
_NO_DATA = zlib.compress(b"", wbits=-15) + bytes(8)  # no data, its checksum and its length
_MEMBER_LIMIT = 0xFFFF - 4
_AROUND = len(_MEMBER) + _SUBFIELD.size + len(_NO_DATA)
CODEC_NAMES = {"gz": "gzip", "zst": "zstd"}
"""Codecs by the suffix of a file's name."""
_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", b"\x5b\x2a\x4d\x18")  # a frame; the trailer of a file without rows


@dataclass(frozen=True, slots=True)
class LineCodec:
    """One codec. `suffix`: of file names, without a dot. `trailer` makes a trailer of a payload; None without compression."""

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


def gzip_trailer(payload: bytes) -> bytes:
    """Return members without data whose extra fields hold the payload, and a last one that holds the end mark."""
    starts = range(0, len(payload), _MEMBER_LIMIT)
    members = b"".join(_member(payload[start : start + _MEMBER_LIMIT]) for start in starts)
    return members + _member(end_mark(len(members) + _AROUND + END_SIZE))


def _member(content: bytes) -> bytes:
    return _MEMBER + _SUBFIELD.pack(len(content) + 4, _ID, len(content)) + content + _NO_DATA


def zstd_trailer(payload: bytes) -> bytes:
    """Return a skippable frame that holds the payload and the end mark."""
    size = len(payload) + END_SIZE
    return frame_head(size) + payload + end_mark(FRAME_HEAD_SIZE + size)


def read_trailer(codec: str, length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """Read the trailer of a file of `length` bytes. `codec` is `gzip` or `zstd`; `tail(n)` returns the last n bytes.

    Raises pa.ArrowInvalid without a valid trailer, and what `tail` raises.
    """
    after = len(_NO_DATA) if codec == "gzip" else 0
    trailer = trailer_of(length, tail, FRAME_HEAD_SIZE + END_SIZE, after)
    return parse_trailer(_members_payload(trailer) if codec == "gzip" else _frame_payload(trailer))


def _members_payload(trailer: bytes) -> bytes:
    contents, at = [], 0
    while at < len(trailer):
        head = trailer[at : at + len(_MEMBER) + _SUBFIELD.size]
        if len(head) < len(_MEMBER) + _SUBFIELD.size or not head.startswith(_MEMBER):
            raise pa.ArrowInvalid("a damaged trailer")
        _, name, size = _SUBFIELD.unpack_from(head, len(_MEMBER))
        if name != _ID:
            raise pa.ArrowInvalid("a trailer of another program")
        contents.append(trailer[at + len(head) : at + len(head) + size])
        at += _AROUND + size
    return b"".join(contents[:-1])


def _frame_payload(trailer: bytes) -> bytes:
    if trailer[:FRAME_HEAD_SIZE] != frame_head(len(trailer) - FRAME_HEAD_SIZE):
        raise pa.ArrowInvalid("a damaged trailer")
    return trailer[FRAME_HEAD_SIZE:-END_SIZE]
