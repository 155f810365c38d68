"""Read, join and write ORC's tail: stripe statistics, footer and PostScript.

A file ends with the metadata (statistics of each stripe), the footer, the PostScript, and a byte with the PostScript's length.
The PostScript has the lengths and the codec of metadata and footer, which are streams of chunks. Field numbers are from
orc_proto.proto (ORC specification v1).
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import pyarrow as pa

from kafka2hive.formats.contract.primitives import from_snappy, from_zstd, read_varint, varint

ORC_MAGIC = b"ORC"

# PostScript
_FOOTER_LENGTH, _COMPRESSION, _BLOCK, _METADATA_LENGTH, _MAGIC = 1, 2, 3, 5, 8000
# Footer
_CONTENT_LENGTH, _STRIPE, _USER_METADATA, _ROWS, _STATISTICS, _CALENDAR = 2, 3, 5, 6, 7, 11
# StripeInformation
_OFFSET, _INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH, _STRIPE_ROWS = 1, 2, 3, 4, 5
# UserMetadataItem
_NAME, _VALUE = 1, 2
# ColumnStatistics
_VALUES, _HAS_NULL = 1, 10

_PROLEPTIC = 2  # CalendarKind: without it, Hive reads days before 1582 as Julian

Field = tuple[int, int | bytes]
"""Field number and value: a varint's number, or the bytes of a string, a message or a packed list."""

_HEADER = 3
"""The number of bytes before each chunk."""
_RAW_DEFLATE = -15
_CHUNK_LIMIT = 1 << 23


class _WireType(IntEnum):
    """Wire types of protocol buffers."""

    VARINT = 0
    FIXED_64 = 1
    BYTES = 2
    FIXED_32 = 5


class Codec(IntEnum):
    """Codecs with their numbers in the PostScript."""

    NONE = 0
    ZLIB = 1
    SNAPPY = 2
    LZ4 = 4
    ZSTD = 5


def to_chunks(data: bytes, codec: Codec, block: int) -> bytes:
    """Return `data` as uncompressed chunks of at most `block` bytes; without a codec, unchanged."""
    if codec is Codec.NONE:
        return data
    block = min(block, _CHUNK_LIMIT - 1)
    parts = [data[start : start + block] for start in range(0, len(data), block)]
    return b"".join((len(part) << 1 | 1).to_bytes(_HEADER, "little") + part for part in parts)


def from_chunks(data: bytes, codec: Codec) -> bytes:
    """Join and decompress a stream of chunks. Raises pa.ArrowInvalid if it is damaged."""
    if codec is Codec.NONE:
        return data
    parts, at = [], 0
    while at < len(data):
        header = int.from_bytes(data[at : at + _HEADER], "little")
        at += _HEADER
        chunk = data[at : at + (header >> 1)]
        if len(chunk) < header >> 1:
            raise pa.ArrowInvalid("ORC: a chunk goes beyond its stream")
        parts.append(chunk if header & 1 else _decompress(chunk, codec))
        at += len(chunk)
    return b"".join(parts)


def _decompress(chunk: bytes, codec: Codec) -> bytes:
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
    """Return the decompressed length, which an LZ4 block does not contain, as the sum of its literals and matches."""

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


def read_fields(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message; fields of fixed width, which the tail does not use, are skipped. Raises pa.ArrowInvalid."""
    at = 0
    while at < len(message):
        key, at = read_varint(message, at)
        match key & 7:
            case _WireType.VARINT:
                number, at = read_varint(message, at)
                yield key >> 3, number
            case _WireType.BYTES:
                length, at = read_varint(message, at)
                if at + length > len(message):
                    raise pa.ArrowInvalid("ORC: a field goes beyond its message")
                yield key >> 3, message[at : at + length]
                at += length
            case _WireType.FIXED_64:
                at += 8
            case _WireType.FIXED_32:
                at += 4
            case kind:
                raise pa.ArrowInvalid(f"ORC: a field of unknown wire type {kind}")


def write_fields(fields: Iterable[Field]) -> bytes:
    message = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            message += varint(number << 3 | _WireType.VARINT) + varint(value)
        else:
            message += varint(number << 3 | _WireType.BYTES) + varint(len(value)) + value
    return bytes(message)


def number_of(fields: Iterable[Field], field: int, default: int = 0) -> int:
    """Return a field's last number, as protocol buffers require. Raises pa.ArrowInvalid if the field is not a number."""
    result = default
    for number, value in fields:
        if number == field:
            if not isinstance(value, int):
                raise pa.ArrowInvalid(f"ORC: field {field} is not a number")
            result = value
    return result


def bytes_of(fields: Iterable[Field], field: int) -> list[bytes]:
    """Return all values of a repeated field."""
    return [value for number, value in fields if number == field and isinstance(value, bytes)]


@dataclass(frozen=True, slots=True)
class Stripe:
    """A stripe. `offset`: from the file's beginning; `length`: of index, data and footer together; `fields`: not interpreted."""

    offset: int
    length: int
    rows: int
    fields: tuple[Field, ...]

    def at(self, offset: int) -> "Stripe":
        """Return the stripe at another offset."""
        fields = tuple((n, offset) if n == _OFFSET else (n, value) for n, value in self.fields)
        return replace(self, offset=offset, fields=fields)


@dataclass(frozen=True, slots=True)
class Tail:
    """A parsed tail. `statistics`: of the whole file, by column. `metadata`: the message with the statistics of each stripe.

    `other` holds the footer's remaining fields (types, writer, stride of the row index), which are copied, like `postscript`.
    """

    codec: Codec
    block: int
    stripes: tuple[Stripe, ...]
    rows: int
    statistics: tuple[bytes, ...]
    user_metadata: tuple[tuple[bytes, bytes], ...]
    metadata: bytes
    other: tuple[Field, ...]
    postscript: tuple[Field, ...]


def tail_length(end: bytes) -> int:
    """Return the number of bytes from the metadata to the file's end. `end`: the file's last bytes. Raises pa.ArrowInvalid."""
    fields = _postscript(end)
    return number_of(fields, _FOOTER_LENGTH) + number_of(fields, _METADATA_LENGTH) + end[-1] + 1


def _postscript(end: bytes) -> list[Field]:
    if len(end) < 2 or len(end) < end[-1] + 1:
        raise pa.ArrowInvalid("ORC: the file is too short")
    fields = list(read_fields(end[-1 - end[-1] : -1]))
    if ORC_MAGIC not in bytes_of(fields, _MAGIC):
        raise pa.ArrowInvalid("ORC: the file does not end with an ORC PostScript")
    return fields


def parse_tail(end: bytes) -> Tail:
    """Parse the tail in the last bytes of a file, at least `tail_length` of them. Raises pa.ArrowInvalid."""
    postscript = _postscript(end)
    footer_length, metadata_length = (number_of(postscript, n) for n in (_FOOTER_LENGTH, _METADATA_LENGTH))
    footer_end = len(end) - 1 - end[-1]
    footer_start = footer_end - footer_length
    if footer_start < metadata_length:
        raise pa.ArrowInvalid("ORC: the footer is longer than the file")
    try:
        codec = Codec(number_of(postscript, _COMPRESSION))
    except ValueError as error:
        raise pa.ArrowInvalid(f"ORC: {error}") from error
    footer = list(read_fields(from_chunks(end[footer_start:footer_end], codec)))
    known = {_CONTENT_LENGTH, _STRIPE, _USER_METADATA, _ROWS, _STATISTICS, _CALENDAR}
    return Tail(
        codec=codec,
        block=number_of(postscript, _BLOCK),
        stripes=tuple(_stripe(message) for message in bytes_of(footer, _STRIPE)),
        rows=number_of(footer, _ROWS),
        statistics=tuple(bytes_of(footer, _STATISTICS)),
        user_metadata=tuple(_pair(item) for item in bytes_of(footer, _USER_METADATA)),
        metadata=from_chunks(end[footer_start - metadata_length : footer_start], codec),
        other=tuple(field for field in footer if field[0] not in known),
        postscript=tuple(f for f in postscript if f[0] not in (_FOOTER_LENGTH, _METADATA_LENGTH, _MAGIC)),
    )


def _stripe(message: bytes) -> Stripe:
    fields = tuple(read_fields(message))
    length = sum(number_of(fields, n) for n in (_INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH))
    return Stripe(number_of(fields, _OFFSET), length, number_of(fields, _STRIPE_ROWS), fields)


def _pair(item: bytes) -> tuple[bytes, bytes]:
    fields = list(read_fields(item))
    name, value = (b"".join(bytes_of(fields, n)) for n in (_NAME, _VALUE))
    return name, value


def join_tails(tails: Sequence[Tail], stripes: Sequence[Stripe]) -> Tail:
    """Return the tail of a file with the stripes of all `tails`, at the places in `stripes`.

    All tails must have the same schema and codec.
    """
    return replace(
        tails[0],
        stripes=tuple(stripes),
        rows=sum(tail.rows for tail in tails),
        statistics=tails[0].statistics if len(tails) == 1 else _join_statistics(tails),
        metadata=b"".join(tail.metadata for tail in tails),  # a repeated field
    )


def _join_statistics(tails: Sequence[Tail]) -> tuple[bytes, ...]:
    """Join the value counts and null flags. Minimum and maximum remain in the statistics of each stripe."""
    result = []
    for column in zip(*(tail.statistics for tail in tails), strict=True):
        fields_by_tail = [list(read_fields(statistics)) for statistics in column]
        values = sum(number_of(fields, _VALUES) for fields in fields_by_tail)
        has_null = max(number_of(fields, _HAS_NULL, 1) for fields in fields_by_tail)
        result.append(write_fields([(_VALUES, values), (_HAS_NULL, has_null)]))
    return tuple(result)


def values_by_column(tail: Tail) -> list[int | None]:
    """Return the count of values that are not null, by ORC's column number; None if the file has no count."""
    counts: list[int | None] = []
    for statistics in tail.statistics:
        fields = list(read_fields(statistics))
        counts.append(number_of(fields, _VALUES) if any(n == _VALUES for n, _ in fields) else None)
    return counts


def tail_bytes(tail: Tail, user_metadata: Mapping[str, str]) -> bytes:
    """Return the bytes after the last stripe. They are not compressed; with a codec, they are uncompressed chunks."""
    footer = write_fields(
        [
            *((n, value) for n, value in tail.other),
            (_CONTENT_LENGTH, sum(stripe.length for stripe in tail.stripes) + len(ORC_MAGIC)),
            *((_STRIPE, write_fields(stripe.fields)) for stripe in tail.stripes),
            *(
                (_USER_METADATA, write_fields([(_NAME, name.encode()), (_VALUE, value.encode())]))
                for name, value in user_metadata.items()
            ),
            (_ROWS, tail.rows),
            *((_STATISTICS, statistics) for statistics in tail.statistics),
            (_CALENDAR, _PROLEPTIC),
        ]
    )
    footer, metadata = (to_chunks(part, tail.codec, tail.block) for part in (footer, tail.metadata))
    postscript = write_fields(
        [
            (_FOOTER_LENGTH, len(footer)),
            *tail.postscript,
            (_METADATA_LENGTH, len(metadata)),
            (_MAGIC, ORC_MAGIC),
        ]
    )
    return metadata + footer + postscript + bytes([len(postscript)])
