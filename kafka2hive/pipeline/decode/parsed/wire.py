"""What to ask pyarrow.json for, so that one reading of a message fills every column, and each column taken from it.

A column may stand deep in the message, share its way with others, or be a struct of which a part fills another column:
the wire schema is the union of all of them, and a column is a walk into it and a selection of its own fields.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.parsed.columns import wire_type
from kafka2hive.pipeline.decode.sources import Source, SourceTree, Spelling, as_it_stands


class _Unreadable(Exception):
    """pyarrow.json has no one type for it."""


class Wire:
    """`schema` is what pyarrow.json reads; `column` takes a column out of a batch of it, still in its wire type."""

    def __init__(self, schema: pa.Schema, sources: Sequence[Source], types: Sequence[pa.DataType]) -> None:
        self.schema = schema
        self._sources = sources
        self._types = types

    def column(self, batch: pa.RecordBatch, number: int) -> pa.Array:
        """A value whose object is missing, or null, is null."""
        first, *further = self._sources[number].keys
        array = batch.column(first)
        for key in further:
            array = pc.struct_field(array, [array.type.get_field_index(key)])
        return _narrow(array, self._types[number])


def wire_of(
    schema: pa.Schema, sources: Sequence[Source], wanted: SourceTree, spelling: Spelling = as_it_stands
) -> Wire | None:
    """None where pyarrow.json cannot read it: maps, and one value that columns of different kinds take."""
    types = [
        pa.int64() if source.unit is not None else wire_type(field.type, spelling)
        for field, source in zip(schema, sources, strict=True)
    ]
    known = [dtype for dtype in types if dtype is not None]
    if len(known) < len(types):
        return None
    spelled = [Source(tuple(map(spelling, source.keys)), source.unit) for source in sources]
    try:
        return Wire(pa.schema(_fields(wanted, known)), spelled, known)
    except _Unreadable:
        return None


def _fields(wanted: SourceTree, types: Sequence[pa.DataType]) -> list[pa.Field]:
    fields = []
    for key, value in wanted.inner.items():
        kinds = [types[number] for number in value.columns]
        if value.inner:
            kinds.append(pa.struct(_fields(value, types)))
        whole = kinds[0]
        for kind in kinds[1:]:
            whole = _union(whole, kind)
        fields.append(pa.field(key, whole))
    return fields


def _union(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if one == other:
        return one
    if not (pa.types.is_struct(one) and pa.types.is_struct(other)):
        raise _Unreadable
    fields = {field.name: field.type for field in one}
    for field in other:
        known = fields.get(field.name)
        fields[field.name] = field.type if known is None else _union(known, field.type)
    return pa.struct(list(fields.items()))


def _narrow(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """A struct with those of its fields that `dtype` has."""
    if array.type == dtype:
        return array
    children = [
        _narrow(pc.struct_field(array, [array.type.get_field_index(field.name)]), field.type)
        for field in dtype
    ]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(dtype), mask=mask)
