"""A reader of Parquet files."""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.formats.contract.port import FileEnd
from kafka2hive.formats.contract.times import batch_in_microseconds, schema_in_microseconds

_TAIL_BYTES = 64 * 1024
_END = 8  # bytes: the length of the footer (4, little-endian) and the magic PAR1


class ParquetReader:
    """A whole file (FileReader)."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._footer = pq.read_metadata(BytesIO(data))

    @property
    def schema(self) -> pa.Schema:
        return schema_in_microseconds(self._file().schema_arrow)

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
        file = self._file(_with_dictionary(self._footer))
        yield from map(batch_in_microseconds, file.iter_batches(rows, columns=list(columns)))

    def _file(self, read_dictionary: Sequence[str] = ()) -> pq.ParquetFile:
        return pq.ParquetFile(
            BytesIO(self._data),
            metadata=self._footer,
            read_dictionary=list(read_dictionary),
            coerce_int96_timestamp_unit="us",  # nanoseconds would overflow before 1677 and after 2262
        )


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
    """See formats.readers.end_of."""
    data = tail(_TAIL_BYTES)
    size = int.from_bytes(data[-_END:-4], "little") + _END
    if len(data) < size <= length:
        data = tail(size)
    footer = pq.read_metadata(BytesIO(data))
    return FileEnd(int(footer.num_rows), footer.metadata or {})
