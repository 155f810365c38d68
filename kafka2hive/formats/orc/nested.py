"""Nested columns as pyarrow's ORC writer takes them: put together anew, and null wherever something around them is.

pyarrow 26 writes the nulls of other rows for a struct within an array that begins in the middle of its memory. Of a
struct within a struct it writes the value that memory holds below a NULL, and from there on the values of other rows.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def writable(rows: pa.Table) -> pa.Table:
    """Equal rows: each column with structs is one chunk, and nothing lies beneath a NULL."""
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
    """Of lists whose elements lie one after the other."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
