"""ORC's tail: stripe statistics, footer and PostScript, read from a file and put together from several.

Layout, from the end: one byte with the length of the PostScript; the PostScript, which says how long the footer and the
metadata (statistics of each stripe) before it are, and with which codec; both are streams of chunks (chunks.py).
Field numbers are those of orc_proto.proto (ORC specification v1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from kafka2hive.formats.orc.chunks import Codec, in_chunks, out_of_chunks
from kafka2hive.formats.orc.wire import Field, bytes_of, number_of, read_fields, write_fields

MAGIC = b"ORC"

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

_PROLEPTIC = 2  # CalendarKind: without it, Hive takes days before 1582 for those of the Julian calendar


@dataclass(frozen=True, slots=True)
class Stripe:
    """`length` of its index, data and footer together; `fields` as the file has them, `offset` from its beginning."""

    offset: int
    length: int
    rows: int
    fields: tuple[Field, ...]

    def at(self, offset: int) -> "Stripe":
        fields = tuple((n, offset) if n == _OFFSET else (n, value) for n, value in self.fields)
        return replace(self, offset=offset, fields=fields)


@dataclass(frozen=True, slots=True)
class Tail:
    """`statistics` of the whole file by column, `metadata` the message with those of each stripe.

    `other` fields of the footer stay as they are (types, writer, stride of the row index), as do those of `postscript`.
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
    """Bytes from the beginning of the metadata to the file's end, by its last bytes. Raises pa.ArrowInvalid."""
    fields = _postscript(end)
    return number_of(fields, _FOOTER_LENGTH) + number_of(fields, _METADATA_LENGTH) + end[-1] + 1


def _postscript(end: bytes) -> list[Field]:
    if len(end) < 2 or len(end) < end[-1] + 1:
        raise pa.ArrowInvalid("ORC: the file is too short")
    fields = list(read_fields(end[-1 - end[-1] : -1]))
    if MAGIC not in bytes_of(fields, _MAGIC):
        raise pa.ArrowInvalid("ORC: the file does not end with an ORC PostScript")
    return fields


def parse_tail(end: bytes) -> Tail:
    """`end`: at least `tail_length` bytes. Raises pa.ArrowInvalid."""
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
    footer = list(read_fields(out_of_chunks(end[footer_start:footer_end], codec)))
    ours = {_CONTENT_LENGTH, _STRIPE, _USER_METADATA, _ROWS, _STATISTICS, _CALENDAR}
    return Tail(
        codec=codec,
        block=number_of(postscript, _BLOCK),
        stripes=tuple(_stripe(message) for message in bytes_of(footer, _STRIPE)),
        rows=number_of(footer, _ROWS),
        statistics=tuple(bytes_of(footer, _STATISTICS)),
        user_metadata=tuple(_pair(item) for item in bytes_of(footer, _USER_METADATA)),
        metadata=out_of_chunks(end[footer_start - metadata_length : footer_start], codec),
        other=tuple(field for field in footer if field[0] not in ours),
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


def joined(tails: Sequence[Tail], stripes: Sequence[Stripe]) -> Tail:
    """Of a file that holds the stripes of all `tails`, which have one schema and codec, where `stripes` say."""
    return replace(
        tails[0],
        stripes=tuple(stripes),
        rows=sum(tail.rows for tail in tails),
        statistics=tails[0].statistics if len(tails) == 1 else _joined_statistics(tails),
        metadata=b"".join(tail.metadata for tail in tails),  # a repeated field
    )


def _joined_statistics(tails: Sequence[Tail]) -> tuple[bytes, ...]:
    """How many values, and whether there are nulls: smallest and largest stand in the statistics of each stripe."""
    joined = []
    for of_column in zip(*(tail.statistics for tail in tails), strict=True):
        parsed = [list(read_fields(statistics)) for statistics in of_column]
        values = sum(number_of(fields, _VALUES) for fields in parsed)
        has_null = max(number_of(fields, _HAS_NULL, 1) for fields in parsed)
        joined.append(write_fields([(_VALUES, values), (_HAS_NULL, has_null)]))
    return tuple(joined)


def values_by_column(tail: Tail) -> list[int | None]:
    """How many values that are not null the file holds, by ORC's number of the column; None: it does not say."""
    counts: list[int | None] = []
    for statistics in tail.statistics:
        fields = list(read_fields(statistics))
        counts.append(number_of(fields, _VALUES) if any(n == _VALUES for n, _ in fields) else None)
    return counts


def tail_bytes(tail: Tail, user_metadata: Mapping[str, str]) -> bytes:
    """What follows the last stripe. Nothing in it is compressed; with a codec it stands in original chunks."""
    footer = write_fields(
        [
            *((n, value) for n, value in tail.other),
            (_CONTENT_LENGTH, sum(stripe.length for stripe in tail.stripes) + len(MAGIC)),
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
    footer, metadata = (in_chunks(part, tail.codec, tail.block) for part in (footer, tail.metadata))
    postscript = write_fields(
        [
            (_FOOTER_LENGTH, len(footer)),
            *tail.postscript,
            (_METADATA_LENGTH, len(metadata)),
            (_MAGIC, MAGIC),
        ]
    )
    return metadata + footer + postscript + bytes([len(postscript)])
