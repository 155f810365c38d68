"""The columns of a table's rows, the metadata columns, and the rows of nulls that stand for tombstones."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import Column, MetadataColumn, RecordPart, TableSettings
from kafka2hive.config.keys.bucket_path import read_bucket_path
from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.config.keys.source import (
    OPERATION,
    array_path,
    canal_keys,
    change_log_of,
    decimal_encoding,
    flat_rows,
    marks_unavailable,
    placeholder_of,
    rows_form,
)
from kafka2hive.decode import Changes, DecoderSpec, Source, WriterSchema, WriterSchemas
from kafka2hive.decode.contract.spec import UnavailableValues
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.write.bucket_times import record_wall_clock

DELETION = "d"
"""The letter of a deletion in OPERATION."""
_METADATA_TYPES = {column: parse_hive_type(text) for column, text in METADATA_TYPES.items()}

Metadata = Sequence[tuple[MetadataColumn, str]]


def column_schema(table: TableSettings) -> pa.Schema:
    """Return all columns except the metadata columns, in the map's order."""
    return _schema(table.columns)


def value_columns(table: TableSettings) -> list[Column]:
    """Return the columns that the record's value fills: rows within it, and the message around them."""
    parts = (RecordPart.VALUE, RecordPart.MESSAGE)
    return [column for column in table.columns if column.part in parts]


def value_schema(table: TableSettings) -> pa.Schema:
    """Return the Arrow schema of `value_columns`."""
    return _schema(value_columns(table))


def value_sources(table: TableSettings) -> list[Source]:
    """Return the sources of `value_columns`, in their order."""
    return [source_of(column) for column in value_columns(table)]


def value_spec(
    table: TableSettings, writers: WriterSchemas | WriterSchema | None, changes: Changes
) -> DecoderSpec:
    """Return the decoder spec for the values of a table, without a check of the writers' fields."""
    return DecoderSpec(
        format=table.format,
        schema=value_schema(table),
        zone=table.zone,
        sources=value_sources(table),
        any_case=table.any_case,
        writers=writers,
        wire=table.wire_format,
        rows=rows_form(table.rows),
        array=array_path(table.rows),
        csv=table.csv,
        change_log=change_log_of(table.source),
        flat=flat_rows(table.source),
        canal=canal_keys(table.source),
        decimals=decimal_encoding(table.source),
        unavailable=UnavailableValues(
            marks_unavailable(table.source), placeholder_of(table.source), _needed_columns(table)
        ),
        table=table.table,
        plugin=table.plugin,
        changes=changes,
    )


def _needed_columns(table: TableSettings) -> frozenset[str]:
    """Return the columns that decide where a row belongs: those of its bucket, and of the view of the newest states."""
    bucketing, latest = table.bucketing, table.latest
    names = {*read_bucket_path(bucketing.path).fields, *((bucketing.field,) if bucketing.field else ())}
    return frozenset(names if latest is None else {*names, *latest.key, latest.order})


def all_sources(table: TableSettings) -> list[Source]:
    """Return the sources of all value columns, including their alternative paths."""
    sources = value_sources(table)
    return [*sources, *(replace(source, keys=keys) for source in sources for keys in source.leeway.others)]


def source_of(column: Column) -> Source:
    """Return where and how a message holds the value of the column: its path, unit and leeway."""
    is_around = column.part is RecordPart.MESSAGE
    return Source(column.keys, column.unit, column.leeway, is_around=is_around)


def _schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, parse_hive_type(column.type)) for column in columns])


def row_schema(values: pa.Schema, metadata: Metadata) -> pa.Schema:
    """Return the schema of the values, followed by the metadata columns."""
    return pa.schema([*values, *(pa.field(name, _METADATA_TYPES[column]) for column, name in metadata)])


def schema_in_files(table: TableSettings) -> pa.Schema:
    """Return the columns of the files, which are all but the Hive partition columns (their values are in the path)."""
    in_path = {name.lower() for name in read_bucket_path(table.bucketing.path).names}
    whole = row_schema(column_schema(table), table.metadata)
    return pa.schema([field for field in whole if field.name.lower() not in in_path])


def metadata_column(chunk: Chunk, column: MetadataColumn, zone: str, indices: Indices | None) -> pa.Array:
    """Return one metadata column with a value per index (None: one per message).

    Timestamps are the wall clock of `zone`, null outside the years 1 to 9999.
    """
    match column:
        case MetadataColumn.TOPIC:
            return chunk.names_of_topics(indices)
        case MetadataColumn.PARTITION:
            return chunk.numbers(indices)
        case MetadataColumn.OFFSET:
            return chunk.offsets(indices)
        case MetadataColumn.KEY:
            return chunk.keys(indices)
        case MetadataColumn.HEADERS:
            return chunk.headers(indices)
        case MetadataColumn.TIMESTAMP:
            return record_wall_clock(chunk.timestamps(indices), zone)
        case MetadataColumn.ORDINAL:
            return _ordinals(len(chunk), indices)
        case MetadataColumn.MASK_KEY:  # the masks fill it
            return pa.nulls(len(chunk) if indices is None else len(indices), pa.string())


def _ordinals(messages: int, indices: Indices | None) -> pa.Int32Array:
    """Return the index of each row among the rows of its message, from 0. All rows of a message must be in one call."""
    if indices is None:
        return pa.array(np.zeros(messages, np.int32))
    return pa.array((np.arange(len(indices)) - np.searchsorted(indices, indices)).astype(np.int32))


def with_metadata(
    values: pa.RecordBatch, chunk: Chunk, metadata: Metadata, zone: str, indices: Indices | None
) -> pa.RecordBatch:
    """Append the metadata columns to `values`, which holds one row per index, in message order."""
    if not metadata:
        return values
    columns = [metadata_column(chunk, column, zone, indices) for column, _ in metadata]
    return pa.RecordBatch.from_arrays([*values.columns, *columns], schema=row_schema(values.schema, metadata))


def beyond_record_times(
    rows: pa.RecordBatch, chunk: Chunk, metadata: Metadata, indices: Indices | None
) -> tuple[Indices, list[Reason]]:
    """Return the rows of `with_metadata` whose record timestamp is outside the years 1 to 9999, and a reason for each."""
    names = [name for column, name in metadata if column is MetadataColumn.TIMESTAMP]
    if not names or not rows.column(names[0]).null_count:
        return np.array([], np.int64), []
    times = chunk.timestamps(indices)
    valid = rows.column(names[0]).is_valid().to_numpy(zero_copy_only=False)
    beyond = np.flatnonzero(times.is_valid().to_numpy(zero_copy_only=False) & ~valid)
    values = times.take(pa.array(beyond)).to_pylist()
    return beyond, [
        Reason(
            "metadata.timestamp",
            f"the record's timestamp, {time} ms since 1970, is outside the years 1 to 9999",
        )
        for time in values
    ]


def rows_of_nulls(values: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return `rows` rows of nulls, which is what tombstones write into the value columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(rows, field.type) for field in values], schema=values)


def rows_of_tombstones(table: TableSettings, values: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return what `rows` tombstones write into the value columns: nulls, and in flat rows of Debezium the deletion."""
    nulls = rows_of_nulls(values, rows)
    if flat_rows(table.source) is None:
        return nulls
    at = values.get_field_index(OPERATION)
    return nulls.set_column(at, values.field(at), pa.array([DELETION] * rows, pa.string()))
