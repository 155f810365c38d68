"""Timestamps of files in the unit that rows have, whatever their format stores."""

import pyarrow as pa


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    """The type with every timestamp in it, at any depth, in microseconds; equal to `kind` where they all are."""
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
    """Raises pa.ArrowInvalid for a time that microseconds cannot hold."""
    for number, field in enumerate(batch.schema):
        wanted = in_microseconds(field.type)
        if wanted != field.type:
            batch = batch.set_column(number, field.name, batch.column(number).cast(wanted))
    return batch
