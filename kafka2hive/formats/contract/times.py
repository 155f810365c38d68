"""Timestamps: their conversion to the unit of rows, and the search for those that a format cannot store."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

RowMask = npt.NDArray[np.bool_]
BadTimes = Callable[[pa.Array], RowMask | None]
"""Returns the mask of timestamps (in microseconds) that cannot be stored; None if all can."""

PART_OF_MILLISECOND = "is not a whole number of milliseconds"
_MILLISECOND = 1_000  # microseconds


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    """Return the type with every timestamp in it, at any depth, in microseconds."""
    return _in_unit(kind, "us")


def in_nanoseconds(kind: pa.DataType) -> pa.DataType:
    return _in_unit(kind, "ns")


def _in_unit(kind: pa.DataType, unit: str) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp(unit, kind.tz)
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _in_unit(kind.item_type, unit))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_unit(kind.value_type, unit)))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_unit(field.type, unit)) for field in kind])
    return kind


def schema_in_microseconds(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, in_microseconds(field.type)) for field in schema])


def batch_in_microseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with every timestamp in microseconds. Raises pa.ArrowInvalid for a time out of their range."""
    for number, field in enumerate(batch.schema):
        kind = in_microseconds(field.type)
        if kind != field.type:
            batch = batch.set_column(number, field.name, batch.column(number).cast(kind))
    return batch


def rows_with(column: pa.Array, bad_times: BadTimes) -> RowMask | None:
    """Return the mask of rows that hold a bad time, at any depth; None if no row does."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return bad_times(column)
    if pa.types.is_struct(kind):
        return _any_of([rows_with(part, bad_times) for part in column.flatten()])
    if pa.types.is_map(kind):
        pairs = pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
        return rows_with(column.cast(pairs), bad_times) if _may_hold_times(kind.item_type) else None
    if pa.types.is_list(kind) and _may_hold_times(kind.value_type):
        inner = rows_with(column.flatten(), bad_times)
        if inner is None:
            return None
        rows = np.zeros(len(column), np.bool_)
        rows[pc.list_parent_indices(column).to_numpy()[inner]] = True
        return rows
    return None


def _may_hold_times(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_nested(kind))


def _any_of(parts: list[RowMask | None]) -> RowMask | None:
    masks = [part for part in parts if part is not None]
    return np.logical_or.reduce(masks) if masks else None


def rows_not_in_millis(column: pa.Array) -> RowMask | None:
    """Return the mask of rows that hold a time with a fraction of a millisecond, at any depth; None if no row does."""
    return rows_with(column, _parts_of_milliseconds)


def _parts_of_milliseconds(column: pa.Array) -> RowMask | None:
    micros = pc.fill_null(column.view(pa.int64()), 0).to_numpy()
    bad: RowMask = micros % _MILLISECOND != 0
    return bad if bad.any() else None
