"""Columns that are filled from a record's key and headers, which are added to the columns of its value."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import Column, RecordPart, TableSettings, WireFormat
from kafka2hive.decode import DecoderSpec, Source, make_decoder
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Positions
from kafka2hive.task.rejections import Rejections, without_rejections
from kafka2hive.task.rows import column_schema
from kafka2hive.task.schema_headers import OF_KEYS, SchemaHeaders

FRAMED = ("avro", "protobuf", "json_schema")
"""Formats whose data a registry's serializer prefixes with a schema id."""

ColumnValues = tuple[dict[str, pa.Array], dict[int, Reason]]
"""Columns by name with one value per record, and the reason for each rejected record by its position."""


class RawKeyColumns:
    """Columns that each take the whole key as a text; they are NULL for a null key."""

    def __init__(self, columns: Sequence[Column], zone: str, changes: Changes | None = None) -> None:
        self._columns = [
            (
                c.name,
                TextColumn(
                    column=c.name,
                    dtype=parse_hive_type(c.type),
                    zone=zone,
                    unit=c.unit,
                    family="key",
                    leeway=c.leeway,
                    changes=changes,
                    label=f"{c.name} (the key)",
                ),
            )
            for c in columns
        ]

    def read(self, keys: pa.BinaryArray) -> ColumnValues:
        columns: dict[str, pa.Array] = {}
        rejected: dict[int, Reason] = {}
        for name, column in self._columns:
            columns[name], bad = column.read_bytes(keys)
            rejected = bad | rejected
        return columns, rejected


class DecodedKeyColumns:
    """Columns that each take the value at their path in the decoded key; they are NULL for a null key."""

    def __init__(
        self,
        format: str,
        columns: Sequence[Column],
        zone: str,
        writers: WriterSchemas | None,
        wire: WireFormat,
        changes: Changes | None = None,
    ) -> None:
        """Raise ValueError if the format cannot fill the columns."""
        self._schema = pa.schema([(column.name, parse_hive_type(column.type)) for column in columns])
        sources = [Source(column.path, column.unit, column.leeway) for column in columns]
        self._decoder = make_decoder(
            DecoderSpec(
                format, self._schema, zone, sources, writers=writers, wire=wire, changes=changes or Changes()
            )
        )

    def read(self, keys: pa.BinaryArray) -> ColumnValues:
        """Decode the keys. Raises SchemaRegistryUnavailable (see AvroDecoder)."""
        places = np.flatnonzero(keys.is_valid().to_numpy(zero_copy_only=False))
        decoded = self._decoder.decode(keys.drop_null() if keys.null_count else keys)
        rows = np.full(len(keys), -1)
        rows[places[decoded.accepted.to_numpy()]] = np.arange(len(decoded.rows))
        order = pa.array(rows, mask=rows < 0)
        columns = {name: decoded.rows.column(name).take(order) for name in self._schema.names}
        bad = places[decoded.rejected.to_numpy()].tolist()
        return columns, dict(zip(bad, map(_of_key, decoded.reasons), strict=True))


class HeaderColumns:
    """Columns that each take the value of a header. If a header repeats, the last value wins; without it, NULL."""

    def __init__(self, columns: Sequence[Column], zone: str, changes: Changes | None = None) -> None:
        """`columns` must be taken from headers. Raises ValueError for a nested type."""
        self._columns = [
            (
                column.name,
                column.path[0],
                TextColumn(
                    column=column.name,
                    dtype=parse_hive_type(column.type),
                    zone=zone,
                    unit=column.unit,
                    family="header",
                    leeway=column.leeway,
                    changes=changes,
                    label=f"{column.name} (header {column.path[0]})",
                ),
            )
            for column in columns
        ]
        self._names = {header for _, header, _ in self._columns}

    def read(self, headers: Sequence[Sequence[tuple[str, bytes | None]] | None]) -> ColumnValues:
        """Read the columns; `headers` has the name and value pairs of each record."""
        texts: dict[str, list[bytes | None]] = {name: [None] * len(headers) for name in self._names}
        for place, pairs in enumerate(headers):
            for name, value in pairs or ():
                if name in texts:
                    texts[name][place] = value
        values = {name: pa.array(column, pa.binary()) for name, column in texts.items()}
        columns: dict[str, pa.Array] = {}
        rejected: dict[int, Reason] = {}
        for name, header, column in self._columns:
            columns[name], bad = column.read_bytes(values[header])
            rejected = bad | rejected  # the reason of the first column wins
        return columns, rejected


class KeyAndHeaderColumns:
    """Reads keys and headers if a column needs them."""

    def __init__(
        self, table: TableSettings, writers: WriterSchemas | None, changes: Changes | None = None
    ) -> None:
        """`writers` are those of the keys. Raises ValueError if the key's format cannot fill its columns."""
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
            self._keys = DecodedKeyColumns(
                format=table.key_format,
                columns=keys,
                zone=table.zone,
                writers=writers,
                wire=wire,
                changes=changes,
            )
            if wire.framing == "header" and table.key_format in FRAMED:
                self._key_schemas = SchemaHeaders(OF_KEYS, table.key_format, wire.indexes)

    @property
    def wants_headers(self) -> bool:
        return self._headers is not None or self._key_schemas is not None

    def add_to(
        self, rows: pa.RecordBatch, chunk: Chunk, positions: Positions | None
    ) -> tuple[pa.RecordBatch, Positions | None, Rejections | None]:
        """Return the rows with key and header columns, their positions (None: all), and the rejected messages."""
        if self._keys is None and self._headers is None:
            return rows, positions, None
        columns = {name: rows.column(name) for name in rows.schema.names}
        rejected: dict[int, Reason] = {}
        for found, bad in self._read(chunk, positions):
            columns |= found
            rejected = bad | rejected  # the first reason stands
        whole = pa.RecordBatch.from_arrays(
            [columns[name] for name in self._schema.names], schema=self._schema
        )
        if not rejected:
            return whole, positions, None
        every = np.arange(len(chunk)) if positions is None else positions
        places = sorted(rejected)
        return without_rejections(
            whole, every, np.array(places, dtype=np.int64), [rejected[place] for place in places]
        )

    def _read(self, chunk: Chunk, positions: Positions | None) -> Iterator[ColumnValues]:
        if self._keys is not None:
            yield self._of_keys(self._keys, chunk, positions)
        if self._headers is not None:
            yield self._headers.read(chunk.header_pairs(positions))

    def _of_keys(
        self, columns: RawKeyColumns | DecodedKeyColumns, chunk: Chunk, positions: Positions | None
    ) -> ColumnValues:
        keys = chunk.keys(positions)
        if self._key_schemas is None:
            return columns.read(keys)
        keys, bad = self._key_schemas.joined(keys, chunk.header_pairs(positions))
        values, rejected = columns.read(keys)
        return values, rejected | {
            place: _of_key(reason) for place, reason in bad.items() if place in rejected
        }


def _of_key(reason: Reason) -> Reason:
    return replace(reason, code=f"key.{reason.code}")
