"""Decompress one value, exactly and with bounded memory.

Every function returns the whole content, and raises Undecodable if the value is damaged, truncated, followed by other bytes,
or if its content has more than LARGEST_CONTENT bytes. No function holds much more than that.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

import pyarrow as pa

from kafka2hive.config.keys.source import Compression
from kafka2hive.decode.transport.crc32c import crc32c
from kafka2hive.plugins import Reason

LARGEST_CONTENT = 64 * 1024 * 1024
"""Maximum size in bytes of a value after its decompression."""
DAMAGED, OVERSIZED = "compression.damaged", "compression.oversized"
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD = 16
_SNAPPY_FRAMES = b"\xff\x06\x00\x00sNaPpY"
_FRAME_HEAD, _FRAME_SUM, _FRAME_CONTENT = 4, 4, 65_536
"""Of a chunk of snappy's framing format: the bytes of its type and length, those of its checksum, and its longest content."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_CODEC = pa.Codec("zstd")
_ZSTD_SIZES = ((0, 0), (2, 256), (4, 0), (8, 0))
"""By a frame's flag: the bytes of the content's size, and what is added to it."""
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
        case "zstd":
            return _zstd
        case "lz4":
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


def _zstd(value: bytes) -> bytes:
    """Decompress frames of zstd: at once if there is one frame whose head has the content's size, otherwise as a stream.

    zstd compares the sizes, so that a content of another size, or of several frames, fails at once and is read as a stream.
    """
    if 0 < (size := zstd_size(value)) <= LARGEST_CONTENT:
        with suppress(OSError):
            content: bytes = _ZSTD_CODEC.decompress(value, size, asbytes=True)
            return content
    return _of_arrow(value, "zstd")


def zstd_size(value: bytes) -> int:
    """Return the content's size by the head of a frame (RFC 8878), 0 if it has none."""
    if len(value) < 5 or not value.startswith(_ZSTD):
        return 0
    flag, is_single, dictionary = value[4] >> 6, value[4] >> 5 & 1, value[4] & 3
    begin = 6 - is_single + (0, 1, 2, 4)[dictionary]
    octets, more = (1, 0) if is_single and not flag else _ZSTD_SIZES[flag]
    return int.from_bytes(value[begin : begin + octets], "little") + more


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
    """Decompress a raw block, the blocks of Java's SnappyOutputStream, or snappy's framing format.

    They are never confused: a raw block cannot begin with the magic of the others, because its first element would copy bytes
    from before the beginning.
    """
    if value.startswith(_SNAPPY_FRAMES):
        return b"".join(_framed_contents(value))
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


def _framed_contents(value: bytes) -> Iterator[bytes]:
    """Yield the contents of the chunks of snappy's framing format: each begins with its type, and its length in three bytes."""
    size = 0
    for at, end in _chunks(value):
        kind, body = value[at], value[at + _FRAME_HEAD : end]
        if kind in (0, 1):
            content = _chunk_content(kind, body)
            size += len(content)
            if size > LARGEST_CONTENT:
                raise _oversized()
            yield content
        elif kind == _SNAPPY_FRAMES[0] and value[at:end] != _SNAPPY_FRAMES:
            raise _damaged("snappy", "a stream begins with other bytes than sNaPpY")
        elif kind < 0x80:
            raise _damaged("snappy", f"a chunk of the unknown type {kind}")


def _chunks(value: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each chunk begins and ends."""
    at = 0
    while at < len(value):
        end = at + _FRAME_HEAD + int.from_bytes(value[at + 1 : at + _FRAME_HEAD], "little")
        if end > len(value) or at + _FRAME_HEAD > len(value):
            raise _damaged("snappy", "it is truncated")
        yield at, end
        at = end


def _chunk_content(kind: int, body: bytes) -> bytes:
    """Return the content of a chunk: after its checksum a block (type 0), or the content itself (type 1)."""
    if len(body) < _FRAME_SUM:
        raise _damaged("snappy", "a chunk is too short for its checksum")
    content = body[_FRAME_SUM:] if kind else _block(body[_FRAME_SUM:], LARGEST_CONTENT)
    if len(content) > _FRAME_CONTENT:
        raise _damaged("snappy", f"a chunk has more than {_FRAME_CONTENT} bytes")
    total = crc32c(content)
    masked = ((total >> 15 | total << 17) + 0xA282EAD8) & 0xFFFFFFFF
    if masked != int.from_bytes(body[:_FRAME_SUM], "little"):
        raise _damaged("snappy", "the checksum of a chunk differs")
    return content


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
