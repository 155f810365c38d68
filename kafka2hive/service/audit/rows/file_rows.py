"""The rows of a data file, reduced for a comparison."""

from collections.abc import Mapping
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.service.audit.rows.rows import PlaceColumns, Rows, Span, hashes_of

UNREADABLE = (pa.ArrowException, OSError)
"""What pyarrow raises for a damaged file."""

_BATCH_ROWS = 32_768  # more: batches leave the processor's cache


def file_schema(data: bytes) -> pa.Schema:
    """Raises UNREADABLE for what is no Parquet file."""
    return pq.read_schema(BytesIO(data))


def is_readable(data: bytes) -> bool:
    """Whether there is a footer that says what the file holds."""
    try:
        file_schema(data)
    except UNREADABLE:
        return False
    return True


def filled_columns(data: bytes) -> set[str]:
    """Columns of which the file holds any value, by its footer; one that the footer does not count is taken for filled.

    A struct counts by its fields, an array by its elements. Raises UNREADABLE.
    """
    metadata = pq.read_metadata(BytesIO(data))
    filled = set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(metadata.num_columns)):
            counted = column.statistics
            if counted is None or not counted.has_null_count or counted.null_count < column.num_values:
                filled.add(column.path_in_schema.split(".")[0])
    return filled


def _with_dictionary(footer: pq.FileMetaData) -> list[str]:
    """Strings whose distinct values stand in a dictionary of every row group: nobody needs each row's copy of them."""
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


def read_rows(
    data: bytes, columns: Mapping[str, str], place: PlaceColumns | None, span: Span, bucket: int, file: int
) -> Rows:
    """A file's rows. `columns`: see hashes_of; `bucket` and `file` stand in each row.

    Raises UNREADABLE for a damaged file.
    """
    wanted = list(dict.fromkeys([*columns.values(), *(place.names() if place else ())]))
    rows = Rows()
    footer = pq.ParquetFile(BytesIO(data)).metadata
    file_of = pq.ParquetFile(BytesIO(data), metadata=footer, read_dictionary=_with_dictionary(footer))
    for batch in file_of.iter_batches(_BATCH_ROWS, columns=wanted):
        places = span.places(place, batch) if place else None
        rows.add(places, hashes_of(batch, columns), np.full(len(batch), bucket, np.int32), file)
    return rows
