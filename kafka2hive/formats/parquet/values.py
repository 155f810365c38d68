"""Which values of a row cannot be written as Parquet without becoming others."""

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.formats.times import Bad, rows_with

_MILLISECOND = 1_000  # microseconds


def rows_not_in_millis(column: pa.Array) -> Bad | None:
    """Which rows hold a time with a part of a millisecond, at any depth; None: none."""
    return rows_with(column, _parts_of_milliseconds)


def _parts_of_milliseconds(column: pa.Array) -> Bad | None:
    micros = pc.fill_null(column.view(pa.int64()), 0).to_numpy()
    bad: Bad = micros % _MILLISECOND != 0
    return bad if bad.any() else None
