"""Parquet files, written and read by pyarrow: codec, pages, Bloom filters, and a dictionary for columns that it makes smaller."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.port import FileEnd, FormatCode, Unwritable
from kafka2hive.formats.contract.read_back import check_row_group
from kafka2hive.formats.contract.times import (
    PART_OF_MILLISECOND,
    batch_in_microseconds,
    rows_not_in_millis,
    schema_in_microseconds,
)
from kafka2hive.storage.stored_file import StoredFile

BloomFilters = dict[str, dict[str, float]]
_FALSE_POSITIVES = 0.01
"""The rate of a Bloom filter, as in Java's Parquet: 10 bits per distinct value."""
_BYTES_PER_VALUE = 8  # columns of smaller values have few distinct ones
_ROWS_PER_PAGE = 128 * 1024
"""1 MiB of 8-byte values. The compressor restarts with each page, so with Arrow's 20,000 rows it would find fewer repetitions."""
_SAMPLE_ROWS = 16 * 1024
_SMALLEST_SAMPLE = 8 * 1024
_WORTH_IT = 0.9
"""A column loses its dictionary only if it shrinks below this share of its size, because readers also filter by dictionaries."""
_TAIL_BYTES = 64 * 1024
_END = 8  # bytes: the length of the footer (4, little-endian) and the magic PAR1


def leaf_paths(schema: pa.Schema) -> list[str]:
    """Return the paths of all leaves in the order of the file: `name`, `name.field`, `name.list.element`."""
    footers: list[pq.FileMetaData] = []
    with pq.ParquetWriter(pa.MockOutputStream(), schema, metadata_collector=footers):
        pass
    leaves = footers[0].schema
    return [leaves.column(number).path for number in range(len(leaves))]


def bloom_filters(options: WriterOptions) -> BloomFilters:
    """Return filters for the most distinct values that a row group can have; Arrow then folds each to the size it needs."""
    values = min(options.row_group_rows * 3 // 2, options.row_group_bytes // _BYTES_PER_VALUE)
    return {name: {"ndv": max(1, values), "fpp": _FALSE_POSITIVES} for name in options.bloom_filter}


def sorting_columns(schema: pa.Schema, options: WriterOptions) -> list[pq.SortingColumn]:
    """Return the order that the footer declares, up to the first INT96 column, which has no order. The encoder does not sort."""
    if not options.sorted_by:
        return []
    leaves = leaf_paths(schema)
    columns = []
    for name in options.sorted_by:
        if options.timestamps == "int96" and pa.types.is_timestamp(schema.field(name).type):
            break
        columns.append(pq.SortingColumn(leaves.index(name), descending=False, nulls_first=False))
    return columns


def parquet_writer(
    sink: pa.NativeFile,
    schema: pa.Schema,
    options: WriterOptions,
    dictionary: bool | list[str],
    footers: list[pq.FileMetaData],
    filters: BloomFilters | None = None,
) -> pq.ParquetWriter:
    """Return a writer. `dictionary`: the paths of columns with a dictionary, or a bool for all; `footers` receives the footer."""
    return pq.ParquetWriter(
        sink,
        schema,
        compression=options.compression.upper(),
        compression_level=options.level,
        use_dictionary=dictionary,
        max_rows_per_page=_ROWS_PER_PAGE,
        metadata_collector=footers,
        store_schema=False,  # Arrow's schema would add kilobytes to every footer, and Hive does not read it
        use_deprecated_int96_timestamps=options.timestamps == "int96",
        coerce_timestamps="ms" if options.timestamps == "millis" else None,
        write_page_index=options.page_index,
        bloom_filter_options=filters or None,
        sorting_columns=sorting_columns(schema, options) or None,
    )


class DictionaryColumns:
    """The columns of a table that get a dictionary, decided once by the first row group that is large enough for a sample."""

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._map_choices = dict(options.dictionary)
        self._columns: list[str] | None = None

    def of_rows(self, rows: pa.Table) -> bool | list[str]:
        """Return the columns with a dictionary for a file that begins with these rows.

        Until the decision these are all columns that the map does not exclude.
        """
        if self._columns is None and len(rows) >= _SMALLEST_SAMPLE:
            self._columns = self._decide(rows.slice(0, _SAMPLE_ROWS))
        if self._columns is not None:
            return self._columns
        return (
            [path for path in leaf_paths(rows.schema) if self._choice(path, True)]
            if self._map_choices
            else True
        )

    def _decide(self, sample: pa.Table) -> list[str]:
        sizes = self._bytes_by_column(sample, dictionary=True)
        plain_sizes = self._bytes_by_column(sample, dictionary=False)
        return [
            path for path, size in sizes.items() if self._choice(path, plain_sizes[path] >= size * _WORTH_IT)
        ]

    def _choice(self, path: str, default: bool) -> bool:
        """Return the map's choice for the column of this path, or `default` if it has none."""
        return self._map_choices.get(path.partition(".")[0], default)

    def _bytes_by_column(self, rows: pa.Table, *, dictionary: bool) -> dict[str, int]:
        footers: list[pq.FileMetaData] = []
        with parquet_writer(
            sink=pa.MockOutputStream(),
            schema=rows.schema,
            options=self._options,
            dictionary=dictionary,
            footers=footers,
        ) as file:
            file.write_table(rows)
        group = footers[0].row_group(0)
        columns = map(group.column, range(group.num_columns))
        return {column.path_in_schema: column.total_compressed_size for column in columns}


class ParquetEncoder:
    """One Parquet file."""

    def __init__(
        self,
        stream: pa.NativeFile,
        schema: pa.Schema,
        options: WriterOptions,
        dictionary: bool | list[str],
        make: Callable[..., pq.ParquetWriter] = parquet_writer,
    ) -> None:
        self._footers: list[pq.FileMetaData] = []
        self._options = options
        self._dictionary = dictionary
        filters = bloom_filters(options)
        self._make = make
        self._writer = make(stream, schema, options, dictionary, self._footers, filters)

    def write(self, rows: pa.Table) -> None:
        self._read_back(rows.select([f.name for f in rows.schema if pa.types.is_nested(f.type)]))
        self._writer.write_table(rows, row_group_size=max(1, len(rows)))

    def _read_back(self, nested: pa.Table) -> None:
        """Check nested columns, because pyarrow computes their levels and could compute wrong ones.

        A row group of the file cannot be read before its footer is written, and its bytes are not held until then. So these
        columns are written a second time, to memory and without compression.
        """
        if not nested.num_columns or not len(nested):
            return
        sink = pa.BufferOutputStream()
        plain = replace(self._options, compression="none", level=None, sorted_by=(), page_index=False)
        with self._make(sink, nested.schema, plain, self._dictionary, []) as writer:
            writer.write_table(nested, row_group_size=len(nested))
        file = pq.ParquetFile(pa.BufferReader(sink.getvalue()), coerce_int96_timestamp_unit="us")
        names = nested.schema.names
        check_row_group(
            nested, lambda n: file.read(columns=[names[n]], use_threads=False).column(0), "parquet"
        )

    def end(self, metadata: Mapping[str, str]) -> int:
        self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()
        return sum(int(footer.num_rows) for footer in self._footers)

    def abandon(self) -> None:
        with suppress(RuntimeError, pa.ArrowException):  # a row group that failed leaves no footer to collect
            self._writer.close()


class ParquetEncoding:
    """Parquet files of one table."""

    extension = "parquet"

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._dictionary = DictionaryColumns(options)

    def open(self, stream: pa.NativeFile, first: pa.Table) -> ParquetEncoder:
        return ParquetEncoder(stream, first.schema, self._options, self._dictionary.of_rows(first))


class ParquetReader:
    """Reads a file (see FileReader), a row group at a time."""

    def __init__(self, file: BytesIO | StoredFile) -> None:
        self._source = file
        self._footer = pq.read_metadata(file)

    @cached_property
    def schema(self) -> pa.Schema:
        return schema_in_microseconds(self._footer.schema.to_arrow_schema())

    @property
    def rows(self) -> int:
        return int(self._footer.num_rows)

    def filled_columns(self) -> set[str]:
        filled = set()
        for group in map(self._footer.row_group, range(self._footer.num_row_groups)):
            for column in map(group.column, range(self._footer.num_columns)):
                counts = column.statistics
                if counts is None or not counts.has_null_count or counts.null_count < column.num_values:
                    filled.add(column.path_in_schema.split(".")[0])
        return filled

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        file = pq.ParquetFile(
            self._source,
            metadata=self._footer,
            read_dictionary=_with_dictionary(self._footer),
            coerce_int96_timestamp_unit="us",  # nanoseconds would overflow before 1677 and after 2262
        )
        for group in range(self._footer.num_row_groups):
            # over all groups at once, pyarrow would keep the pages of those that it has read
            part = file.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False)
            yield from map(batch_in_microseconds, part)


def _with_dictionary(footer: pq.FileMetaData) -> list[str]:
    """Return string columns with a dictionary in every row group, which are read as dictionaries to save memory."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    columns = [footer.schema.column(number) for number in range(footer.num_columns)]
    return [
        column.path
        for number, column in enumerate(columns)
        if column.physical_type == "BYTE_ARRAY"
        and column.logical_type.type in ("STRING", "NONE")
        and column.max_definition_level <= 1  # not within a struct or an array
        and all(group.column(number).has_dictionary_page for group in groups)
    ]


def parquet_end(length: int, tail: Callable[[int], bytes]) -> FileEnd:
    """See formats.files.end_of."""
    data = tail(_TAIL_BYTES)
    size = int.from_bytes(data[-_END:-4], "little") + _END
    if len(data) < size <= length:
        data = tail(size)
    footer = pq.read_metadata(BytesIO(data))
    return FileEnd(int(footer.num_rows), footer.metadata or {})


_MILLIS = Unwritable(rows_not_in_millis, "parquet.timestamp", PART_OF_MILLISECOND)


def _unwritable(options: WriterOptions) -> Unwritable | None:
    return _MILLIS if options.timestamps == "millis" else None


PARQUET = FormatCode(
    encoding=ParquetEncoding,
    read=ParquetReader,
    magic=b"PAR1",
    has_parts=True,
    end=parquet_end,
    unwritable=_unwritable,
)
