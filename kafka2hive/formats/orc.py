"""ORC files: one stripe per row group.

pyarrow's writer holds a stripe and a buffer for each stream until the stripe is full, and no call ends a stripe earlier. So
each row group becomes a whole ORC file in memory; its stripe goes into the file, and the tails are joined when the file ends.
Between row groups only these small tails are held, even if many files are open.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from io import BytesIO
from os import SEEK_END

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.port import FileEnd, FormatCode, Unwritable
from kafka2hive.formats.contract.read_back import check_row_group
from kafka2hive.formats.contract.times import (
    RowMask,
    batch_in_microseconds,
    in_nanoseconds,
    rows_with,
    schema_in_microseconds,
)
from kafka2hive.formats.orc_tail import (
    ORC_MAGIC,
    Stripe,
    Tail,
    join_tails,
    parse_tail,
    tail_bytes,
    tail_length,
    values_by_column,
)
from kafka2hive.storage.stored_file import StoredFile

_CODECS = {"none": "uncompressed", "gzip": "zlib"}
_BLOCK = 256 * 1024  # as Java's ORC
_BATCH_ROWS = 16 * 1024
_ONE_STRIPE = 1 << 40  # bytes
_DICTIONARY = 0.8  # the largest share of distinct values for a dictionary, as in Java's ORC
_TIGHT = ("snappy", "lz4", "none")
"""Codecs that compress numbers poorly, so that bit-packing makes files smaller; zstd and zlib do better without it."""
_SECOND = 1_000_000  # microseconds
_TAIL_BYTES = 64 * 1024


def writable(rows: pa.Table) -> pa.Table:
    """Return equal rows that pyarrow's writer accepts: a column with structs is one chunk and has no values beneath a NULL."""
    for number, field in enumerate(rows.schema):
        if _has_structs(field.type):
            rows = rows.set_column(number, field, _without_hidden(rows.column(number).combine_chunks()))
    return rows


def _without_hidden(column: pa.Array) -> pa.Array:
    kind = column.type
    if not _has_structs(kind):
        return column
    mask = column.is_null() if column.null_count else None
    if pa.types.is_struct(kind):
        fields = [_without_hidden(field) for field in column.flatten()]  # each is NULL where the struct is
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask)
    if pa.types.is_map(kind):
        pairs = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        keys, items = pairs.flatten().flatten()
        return pa.MapArray.from_arrays(_offsets(pairs), keys, _without_hidden(items), type=kind, mask=mask)
    elements = _without_hidden(column.flatten())
    return pa.ListArray.from_arrays(_offsets(column), elements, type=kind, mask=mask)


def _has_structs(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _has_structs(kind.item_type)
    return pa.types.is_struct(kind) or (pa.types.is_list(kind) and _has_structs(kind.value_type))


def _offsets(lists: pa.Array) -> pa.Array:
    """Return the offsets of lists whose elements are contiguous."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


class OrcEncoder:
    """Writes one ORC file."""

    def __init__(
        self,
        stream: pa.NativeFile,
        schema: pa.Schema,
        codec: str,
        prepare: Callable[[pa.Table], pa.Table] = writable,
    ) -> None:
        """Begin a file. `prepare` returns equal rows that pyarrow's writer accepts."""
        self._stream = stream
        self._schema = schema
        self._codec = codec
        self._prepare = prepare
        self._tails: list[Tail] = []
        self._stripes: list[Stripe] = []
        self._length = stream.write(ORC_MAGIC)

    def write(self, rows: pa.Table) -> None:
        data = self._whole_file(rows)
        self._read_back(rows, data)
        tail = parse_tail(_end(data))
        for stripe in tail.stripes:
            self._stream.write(data.slice(stripe.offset, stripe.length))
            self._stripes.append(stripe.at(self._length))
            self._length += stripe.length
        self._tails.append(tail)

    def _whole_file(self, rows: pa.Table) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        with orc.ORCWriter(
            sink,
            batch_size=_BATCH_ROWS,
            stripe_size=_ONE_STRIPE,
            compression=_CODECS.get(self._codec, self._codec),
            compression_block_size=_BLOCK,
            compression_strategy="compression" if self._codec in _TIGHT else "speed",
            dictionary_key_size_threshold=_DICTIONARY,
        ) as writer:
            writer.write(self._prepare(rows))
        return sink.getvalue()

    def _read_back(self, rows: pa.Table, data: pa.Buffer) -> None:
        """Check the row group.

        pyarrow writes times before 1677 and after 2262, but cannot read them. For the check, the rows are encoded once more with
        other times in such a column.
        """
        for number, field in enumerate(rows.schema):
            if (readable := _in_readable_times(rows.column(number))) is not None:
                rows = rows.set_column(number, field.name, readable)
                data = self._whole_file(rows)
        file = orc.ORCFile(pa.BufferReader(data))
        check_row_group(rows, lambda number: file.read(columns=[number]).column(0), "orc")

    def end(self, metadata: Mapping[str, str]) -> int:
        if not self._tails:
            self.write(self._schema.empty_table())
        tail = join_tails(self._tails, self._stripes)
        self._stream.write(tail_bytes(tail, metadata))
        return tail.rows

    def abandon(self) -> None:
        """Do nothing, because the encoder holds no resource."""


def _in_readable_times(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the column in nanoseconds, with overflowing times wrapped; None if no time overflows."""
    kind = in_nanoseconds(column.type)
    if kind == column.type:
        return None
    try:
        column.cast(kind)
    except pa.ArrowInvalid:
        return column.cast(kind, safe=False)
    return None


def _end(data: pa.Buffer) -> bytes:
    last = data.slice(max(0, data.size - 1024)).to_pybytes()  # a PostScript has at most 255 bytes
    return bytes(data.slice(max(0, data.size - tail_length(last))))


class OrcEncoding:
    """Opens the ORC files of one table."""

    extension = "orc"

    def __init__(self, options: WriterOptions) -> None:
        self._codec = options.compression

    def open(self, stream: pa.NativeFile, first: pa.Table) -> OrcEncoder:
        return OrcEncoder(stream, first.schema, self._codec)


def unwritable_rows(column: pa.Array) -> RowMask | None:
    """Return the mask of rows that hold a time before 1970 with a fraction of a second, at any depth; None if no row does."""
    return rows_with(column, _fractions_before_1970)


def _fractions_before_1970(column: pa.Array) -> RowMask | None:
    smallest = pc.min(column.view(pa.int64())).as_py()
    if smallest is None or smallest >= 0:
        return None
    micros = pc.fill_null(column.view(pa.int64()), 0).to_numpy()
    bad: RowMask = np.logical_and(micros < 0, micros % _SECOND != 0)
    return bad if bad.any() else None


class OrcReader:
    """Reads a file (see FileReader), a stripe at a time. Timestamps, nanoseconds in pyarrow, become microseconds."""

    def __init__(self, file: BytesIO | StoredFile) -> None:
        self._source = file
        self._file = orc.ORCFile(file)

    @property
    def schema(self) -> pa.Schema:
        return schema_in_microseconds(self._file.schema)

    @property
    def rows(self) -> int:
        return int(self._file.nrows)

    def filled_columns(self) -> set[str]:
        counts = iter(values_by_column(self._tail))
        next(counts, None)  # the count of the root, which is the row
        return {field.name for field in self._file.schema if _is_filled(field.type, counts)}

    @cached_property
    def _tail(self) -> Tail:
        length = self._source.seek(0, SEEK_END)

        def end(most: int) -> bytes:
            self._source.seek(max(0, length - most))
            return self._source.read()

        return _tail_of(length, end)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        for number in range(self._file.nstripes):
            if isinstance(self._source, StoredFile):  # a stripe's streams are read by turns
                place = self._tail.stripes[number]
                self._source.hold(place.offset, place.length)
            stripe = self._file.read_stripe(number, columns=list(columns))
            for start in range(0, len(stripe), rows):
                yield batch_in_microseconds(stripe.slice(start, rows))


def _is_filled(kind: pa.DataType, counts: Iterator[int | None]) -> bool:
    """Return whether a column holds a value. `counts` begins with this column, followed by those in it."""
    count = next(counts, None)
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [kind.key_type, kind.item_type]
    if not inner:
        return count is None or count > 0
    filled = [_is_filled(one, counts) for one in inner]  # no short cut: each must consume its counts
    return any(filled)


def _tail_of(length: int, tail: Callable[[int], bytes]) -> Tail:
    """Return the tail of a file of `length` bytes, of which `tail(n)` returns the last n."""
    data = tail(_TAIL_BYTES)
    size = tail_length(data)
    if len(data) < size <= length:
        data = tail(size)
    return parse_tail(data)


def orc_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.files.end_of. The row count is the sum over the stripes."""
    orc_tail = _tail_of(length, tail)
    return FileEnd(sum(stripe.rows for stripe in orc_tail.stripes), dict(orc_tail.user_metadata))


_UNWRITABLE = Unwritable(unwritable_rows, "orc.timestamp", "is before 1970 with a fraction of a second")
ORC = FormatCode(
    encoding=OrcEncoding,
    read=OrcReader,
    magic=ORC_MAGIC,
    has_parts=True,
    end=orc_end,
    unwritable=lambda _options: _UNWRITABLE,
)
