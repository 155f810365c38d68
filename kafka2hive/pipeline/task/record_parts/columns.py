"""The columns of one table that do not come from the record's value, put beside those that do."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafka2hive.config.values import RecordPart, TableSettings
from kafka2hive.pipeline.decode.changes import Changes
from kafka2hive.pipeline.decode.writers import WriterSchemas
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.task.record_parts.headers import Found, HeaderColumns
from kafka2hive.pipeline.task.record_parts.keys import DecodedKeyColumns, RawKeyColumns
from kafka2hive.pipeline.task.record_parts.schema_headers import OF_KEYS, SchemaHeaders
from kafka2hive.pipeline.task.rejections import Rejections, without_rejections
from kafka2hive.pipeline.task.rows import column_schema

FRAMED = ("avro", "protobuf", "json_schema")
"""Formats whose data a registry's serializer writes a schema's id to."""


class RecordParts:
    """Reads keys and headers where a column asks for them."""

    def __init__(
        self, table: TableSettings, writers: WriterSchemas | None, changes: Changes | None = None
    ) -> None:
        """`writers`: of keys in Avro. Raises ValueError where a key's format cannot fill its columns."""
        self._schema = column_schema(table)
        headers = [column for column in table.columns if column.part is RecordPart.HEADER]
        keys = [column for column in table.columns if column.part is RecordPart.KEY]
        self._headers = HeaderColumns(headers, table.zone, changes) if headers else None
        self._key_schemas: SchemaHeaders | None = None
        self._keys: RawKeyColumns | DecodedKeyColumns | None = None
        if keys and table.key_format == "raw":
            self._keys = RawKeyColumns(keys, table.zone, changes)
        elif keys:
            wire = table.wire_format
            self._keys = DecodedKeyColumns(table.key_format, keys, table.zone, writers, wire, changes)
            if wire.framing == "header" and table.key_format in FRAMED:
                self._key_schemas = SchemaHeaders(OF_KEYS, table.key_format, wire.indexes)

    @property
    def wants_headers(self) -> bool:
        return self._headers is not None or self._key_schemas is not None

    def beside(
        self, rows: pa.RecordBatch, chunk: Chunk, positions: Positions | None
    ) -> tuple[pa.RecordBatch, Positions | None, Rejections | None]:
        """Whole rows of the messages at `positions` (None: all), those positions, and the messages that are refused."""
        if self._keys is None and self._headers is None:
            return rows, positions, None
        columns = {name: rows.column(name) for name in rows.schema.names}
        refused: dict[int, str] = {}
        for found, bad in self._found(chunk, positions):
            columns |= found
            refused = bad | refused  # the first one's reason stands
        whole = pa.RecordBatch.from_arrays(
            [columns[name] for name in self._schema.names], schema=self._schema
        )
        if not refused:
            return whole, positions, None
        every = np.arange(len(chunk)) if positions is None else positions
        places = sorted(refused)
        return without_rejections(
            whole, every, np.array(places, dtype=np.int64), [refused[place] for place in places]
        )

    def _found(self, chunk: Chunk, positions: Positions | None) -> Iterator[Found]:
        if self._keys is not None:
            yield self._of_keys(self._keys, chunk, positions)
        if self._headers is not None:
            yield self._headers.read(chunk.header_pairs(positions))

    def _of_keys(
        self, columns: RawKeyColumns | DecodedKeyColumns, chunk: Chunk, positions: Positions | None
    ) -> Found:
        keys = chunk.keys(positions)
        if self._key_schemas is None:
            return columns.read(keys)
        keys, bad = self._key_schemas.joined(keys, chunk.header_pairs(positions))
        found, refused = columns.read(keys)
        return found, refused | {place: f"key.{reason}" for place, reason in bad.items() if place in refused}
