"""The rows of a data file, reduced for a comparison."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kafka2hive.formats.opened import UNREADABLE, opened
from kafka2hive.service.audit.rows.rows import PlaceColumns, Rows, Span, hashes_of

_BATCH_ROWS = 32_768  # more: batches leave the processor's cache


def file_schema(data: bytes) -> pa.Schema:
    """Raises UNREADABLE for what is no data file."""
    return opened(data).schema


def is_readable(data: bytes) -> bool:
    """Whether there is a footer that says what the file holds."""
    try:
        file_schema(data)
    except UNREADABLE:
        return False
    return True


def read_rows(
    data: bytes, columns: Mapping[str, str], place: PlaceColumns | None, span: Span, bucket: int, file: int
) -> Rows:
    """A file's rows. `columns`: see hashes_of; `bucket` and `file` stand in each row.

    Raises UNREADABLE for a damaged file.
    """
    wanted = list(dict.fromkeys([*columns.values(), *(place.names() if place else ())]))
    rows = Rows()
    for batch in opened(data).batches(wanted, _BATCH_ROWS):
        places = span.places(place, batch) if place else None
        rows.add(places, hashes_of(batch, columns), np.full(len(batch), bucket, np.int32), file)
    return rows
