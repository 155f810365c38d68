"""ORC's streams of chunks: three bytes of length and "original", then the bytes, compressed or original."""

import zlib
from enum import IntEnum

import pyarrow as pa

from kafka2hive.formats.compressed import from_snappy, from_zstd

_HEADER = 3
_RAW_DEFLATE = -15
_MOST_IN_A_CHUNK = 1 << 23


class Codec(IntEnum):
    """As the PostScript numbers them."""

    NONE = 0
    ZLIB = 1
    SNAPPY = 2
    LZ4 = 4
    ZSTD = 5


def in_chunks(data: bytes, codec: Codec, block: int) -> bytes:
    """As a stream of original chunks of at most `block` bytes; without a codec there are no chunks."""
    if codec is Codec.NONE:
        return data
    block = min(block, _MOST_IN_A_CHUNK - 1)
    parts = [data[start : start + block] for start in range(0, len(data), block)]
    return b"".join((len(part) << 1 | 1).to_bytes(_HEADER, "little") + part for part in parts)


def out_of_chunks(data: bytes, codec: Codec) -> bytes:
    """Raises pa.ArrowInvalid for what is damaged."""
    if codec is Codec.NONE:
        return data
    parts, at = [], 0
    while at < len(data):
        header = int.from_bytes(data[at : at + _HEADER], "little")
        at += _HEADER
        chunk = data[at : at + (header >> 1)]
        if len(chunk) < header >> 1:
            raise pa.ArrowInvalid("ORC: a chunk goes beyond its stream")
        parts.append(chunk if header & 1 else _decompressed(chunk, codec))
        at += len(chunk)
    return b"".join(parts)


def _decompressed(chunk: bytes, codec: Codec) -> bytes:
    try:
        match codec:
            case Codec.ZLIB:
                return zlib.decompress(chunk, _RAW_DEFLATE)
            case Codec.ZSTD:
                return from_zstd(chunk)
            case Codec.SNAPPY:
                return from_snappy(chunk)
            case _:
                length = _lz4_length(chunk)
                return bytes(pa.decompress(chunk, decompressed_size=length, codec="lz4_raw", asbytes=True))
    except (zlib.error, IndexError, OSError) as error:
        raise pa.ArrowInvalid(f"ORC: a chunk cannot be decompressed: {error}") from error


def _lz4_length(chunk: bytes) -> int:
    """A block does not say it: the sum over its literals and matches."""

    def more(at: int, nibble: int) -> tuple[int, int]:
        length = nibble
        while nibble == 15:
            length += chunk[at]
            at += 1
            if chunk[at - 1] != 255:
                break
        return length, at

    at = total = 0
    while at < len(chunk):
        token = chunk[at]
        literals, at = more(at + 1, token >> 4)
        total += literals
        at += literals
        if at < len(chunk):
            match, at = more(at + 2, token & 15)
            total += match + 4
    return total
