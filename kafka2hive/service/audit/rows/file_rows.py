"""The rows of a data file, reduced for a comparison."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kafka2hive.formats.lines.reader import Plain
from kafka2hive.formats.opened import UNREADABLE, opened
from kafka2hive.formats.port import FileReader
from kafka2hive.model.paths.data_file import extension_of
from kafka2hive.service.audit.rows.rows import PlaceColumns, Rows, Span, hashes_of

_BATCH_ROWS = 32_768  # more: batches leave the processor's cache


def file_schema(data: bytes, path: str, plain: Plain | None = None) -> pa.Schema:
    """`path` tells the format, `plain` what a file without compression does not say. Raises UNREADABLE."""
    return opened(data, extension_of(path), plain).schema


def is_readable(data: bytes, path: str, plain: Plain | None) -> bool:
    """Whether it is known what the file holds."""
    try:
        file_schema(data, path, plain)
    except UNREADABLE:
        return False
    return True


def read_rows(
    reader: FileReader,
    columns: Mapping[str, str],
    place: PlaceColumns | None,
    span: Span,
    bucket: int,
    file: int,
) -> Rows:
    """A file's rows. `columns`: see hashes_of; `bucket` and `file` stand in each row.

    Raises UNREADABLE for a damaged file.
    """
    wanted = list(dict.fromkeys([*columns.values(), *(place.names() if place else ())]))
    rows = Rows()
    for batch in reader.batches(wanted, _BATCH_ROWS):
        places = span.places(place, batch) if place else None
        rows.add(places, hashes_of(batch, columns), np.full(len(batch), bucket, np.int32), file)
    return rows
