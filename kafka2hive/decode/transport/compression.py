"""Decompress one value, exactly and with bounded memory.

Every function returns the whole content, and raises Undecodable if the value is damaged, truncated, followed by other bytes,
or if its content has more than LARGEST_CONTENT bytes. No function holds much more than that.
"""

import zlib
from collections.abc import Callable, Iterator

import pyarrow as pa

from kafka2hive.config.keys.source import Compression
from kafka2hive.plugins import Reason

LARGEST_CONTENT = 64 * 1024 * 1024
"""Maximum size in bytes of a value after its decompression."""
DAMAGED, OVERSIZED = "compression.damaged", "compression.oversized"
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD = 16
_SNAPPY_FRAMES = b"\xff\x06\x00\x00sNaPpY"
_WINDOW_BITS = {"gzip": 31, "zlib": 15, "deflate": -15}
"""The parameter by which zlib reads a form: RFC 1952, 1950 and 1951."""
_FIRST_READ = 64 * 1024
Decompress = Callable[[bytes], bytes]


class Undecodable(Exception):
    """A value cannot be decompressed or transcoded; `reason` says why."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.reason = Reason(code, text)


def decompressor(compression: Compression) -> Decompress | None:
    """Return the function that decompresses a value, None without compression."""
    match compression:
        case "none":
            return None
        case "gzip" | "zlib" | "deflate":
            return lambda value: inflate(value, compression)
        case "zstd" | "lz4":
            return lambda value: _of_arrow(value, compression)
        case "snappy":
            return _snappy


def _damaged(compression: str, why: str) -> Undecodable:
    return Undecodable(DAMAGED, f"not readable as {compression}: {why}")


def _oversized() -> Undecodable:
    return Undecodable(OVERSIZED, f"its content has more than {LARGEST_CONTENT} bytes")


def inflate(value: bytes, compression: str) -> bytes:
    """Decompress gzip, which may have several members, zlib or deflate. zlib checks lengths and checksums."""
    parts: list[bytes] = []
    size, rest = 0, value
    while rest or not parts:
        stream = zlib.decompressobj(_WINDOW_BITS[compression])
        try:
            part = stream.decompress(rest, LARGEST_CONTENT - size + 1)
        except zlib.error as error:
            raise _damaged(compression, _fault(error)) from error
        size += len(part)
        if size > LARGEST_CONTENT:
            raise _oversized()
        if not stream.eof:
            raise _damaged(compression, "it is truncated")
        parts.append(part)
        rest = stream.unused_data
        if rest and compression != "gzip":
            raise _damaged(compression, f"{len(rest)} bytes follow its end")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _fault(error: zlib.error) -> str:
    """Return zlib's text without its number: `incorrect header check`."""
    return str(error).rpartition(": ")[2]


def _of_arrow(value: bytes, compression: str) -> bytes:
    """Decompress frames of zstd or lz4. Their libraries check lengths, and checksums if the frames have them."""
    if not value:
        raise _damaged(compression, "it is empty")
    parts: list[bytes] = []
    size, ahead = 0, max(_FIRST_READ, 4 * len(value))
    try:
        with pa.CompressedInputStream(pa.BufferReader(value), compression) as stream:
            while part := stream.read(min(ahead, LARGEST_CONTENT - size + 1)):
                parts.append(part)
                size += len(part)
                if size > LARGEST_CONTENT:
                    raise _oversized()
                ahead = size
    except OSError as error:
        raise _damaged(compression, str(error)) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _snappy(value: bytes) -> bytes:
    """Decompress a raw block, or the blocks of Java's SnappyOutputStream.

    The two are never confused: a raw block cannot begin with the stream's magic, because its first element would copy bytes
    from before the beginning.
    """
    if value.startswith(_SNAPPY_FRAMES):
        raise _damaged(
            "snappy", "it has snappy's framing format (sNaPpY); raw blocks and Java's streams are read"
        )
    if not value.startswith(_XERIAL):
        return _block(value, LARGEST_CONTENT)
    contents: list[bytes] = []
    left = LARGEST_CONTENT
    for block in _xerial_blocks(value):
        contents.append(_block(block, left))
        left -= len(contents[-1])
    return b"".join(contents)


def _xerial_blocks(value: bytes) -> Iterator[bytes]:
    """Yield the blocks after the head: each has its length before it, in four bytes, big-endian."""
    at = _XERIAL_HEAD
    if len(value) < at:
        raise _damaged("snappy", "it is truncated")
    while at < len(value):
        begin = at + 4
        at = begin + int.from_bytes(value[at:begin], "big")
        if begin > len(value) or at > len(value):
            raise _damaged("snappy", "it is truncated")
        yield value[begin:at]


def _block(block: bytes, most: int) -> bytes:
    """Decompress a raw block, which begins with the length of its content as a varint of at most five bytes."""
    size = shift = 0
    for octet in block[:5]:
        size |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            break
    else:
        raise _damaged("snappy", "the length of its content cannot be read")
    if size > most:
        raise _oversized()
    try:
        content: bytes = pa.decompress(block, size, "snappy", asbytes=True)
    except OSError as error:
        raise _damaged("snappy", "the block is truncated or damaged") from error
    return content
