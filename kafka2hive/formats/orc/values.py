"""Which values of a row cannot be written as ORC so that Hive reads them.

pyarrow writes a time before 1970 with a fraction of a second as a negative count of nanoseconds: Java's reader, which is
Hive's, then fails for the whole file. Whole seconds, and all times since 1970, come out right.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_SECOND = 1_000_000  # microseconds

Bad = npt.NDArray[np.bool_]


def unwritable_rows(column: pa.Array) -> Bad | None:
    """Which rows hold such a time, at any depth; None: none."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _of_times(column)
    if pa.types.is_struct(kind):
        return _any_of([unwritable_rows(part) for part in column.flatten()])
    if pa.types.is_map(kind):
        pairs = pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
        return unwritable_rows(column.cast(pairs)) if _may_hold_times(kind.item_type) else None
    if pa.types.is_list(kind) and _may_hold_times(kind.value_type):
        inner = unwritable_rows(column.flatten())
        if inner is None:
            return None
        rows = np.zeros(len(column), np.bool_)
        rows[pc.list_parent_indices(column).to_numpy()[inner]] = True
        return rows
    return None


def _may_hold_times(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_nested(kind))


def _any_of(parts: list[Bad | None]) -> Bad | None:
    found = [part for part in parts if part is not None]
    return np.logical_or.reduce(found) if found else None


def _of_times(column: pa.Array) -> Bad | None:
    smallest = pc.min(column.view(pa.int64())).as_py()
    if smallest is None or smallest >= 0:
        return None
    micros = pc.fill_null(column.view(pa.int64()), 0).to_numpy()
    bad: Bad = np.logical_and(micros < 0, micros % _SECOND != 0)
    return bad if bad.any() else None
