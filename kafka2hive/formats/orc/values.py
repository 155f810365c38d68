"""Which values of a row cannot be written as ORC so that Hive reads them.

pyarrow writes a time before 1970 with a fraction of a second as a negative count of nanoseconds: Java's reader, which is
Hive's, then fails for the whole file. Whole seconds, and all times since 1970, come out right.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.formats.times import Bad, rows_with

_SECOND = 1_000_000  # microseconds


def unwritable_rows(column: pa.Array) -> Bad | None:
    """Which rows hold such a time, at any depth; None: none."""
    return rows_with(column, _fractions_before_1970)


def _fractions_before_1970(column: pa.Array) -> Bad | None:
    smallest = pc.min(column.view(pa.int64())).as_py()
    if smallest is None or smallest >= 0:
        return None
    micros = pc.fill_null(column.view(pa.int64()), 0).to_numpy()
    bad: Bad = np.logical_and(micros < 0, micros % _SECOND != 0)
    return bad if bad.any() else None
