"""Columns that records' keys and headers fill, and schema ids from headers.

A schema id from a header is put in front of the record's value or key, where decoders expect it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Column, ProtobufIndexes, RecordPart, TableSettings, WireFormat
from kafka2hive.decode import DecoderSpec, Source, make_decoder
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.framing.frames import GUID_HEAD, HEAD
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.decode.values.loose_texts import LooseTexts, takes_other_forms
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import HeaderPairs, Indices
from kafka2hive.task.rejections import Rejections, without_rejections
from kafka2hive.task.required_headers import NO_HEAD, named_framing
from kafka2hive.task.rows import column_schema

FRAMED = ("avro", "protobuf", "json_schema")
"""Formats whose data a registry's serializer prefixes with a schema id."""
VALUE_SCHEMA_ID_HEADER, KEY_SCHEMA_ID_HEADER = "__value_schema_id", "__key_schema_id"
_HEADS = {0: HEAD, 1: GUID_HEAD}
"""The length in bytes of a schema id in a header, by the value of its first byte, which is included."""
ColumnValues = tuple[dict[str, pa.Array], dict[int, Reason]]
"""Columns by name with one value per record, and the reason for each rejected record by its index."""


class SchemaHeaders:
    """Reads schema ids from the header `name`. If a record has it more than once, the last value wins."""

    def __init__(self, name: str, format: str, indexes: ProtobufIndexes) -> None:
        """`indexes` is the encoding of a Protobuf message's indexes."""
        self._name = name
        self._is_zigzag = indexes == "zigzag"
        self._is_protobuf = format == "protobuf"
        self._code = "json" if format == "json_schema" else format
        self._known: dict[bytes, bool] = {}

    def joined(
        self, data: pa.BinaryArray, headers: Sequence[HeaderPairs]
    ) -> tuple[pa.BinaryArray, dict[int, Reason]]:
        """Return `data` with each record's header value in front, and the reasons for malformed headers by index.

        Data of records without this header, and nulls, stay unchanged.
        """
        heads = [self._head_of(pairs) for pairs in headers]
        if not any(heads):
            return data, {}
        bad = {}
        for place, head in enumerate(heads):
            if head and not self._is_whole(head):
                bad[place] = self._reason(head)
                heads[place] = NO_HEAD
        return pc.binary_join_element_wise(pa.array(heads, pa.binary()), data, b""), bad

    def hint(self, headers: Sequence[HeaderPairs]) -> list[str]:
        """Return for each unframed message the text to append to its reason; empty if the message does not have the header."""
        text = f"; its header {self._name} names a schema, which `framing: header` reads"
        return [text if self._head_of(pairs) else named_framing(pairs) for pairs in headers]

    def _head_of(self, pairs: HeaderPairs) -> bytes:
        """Return the last value of the header; empty if the record lacks the header."""
        last = b""
        for name, value in pairs or ():
            if name == self._name:
                last = value or b""
        return last

    def _is_whole(self, head: bytes) -> bool:
        """Return whether `head` is exactly a schema id (for Protobuf, followed by the message's indexes). Answers are cached."""
        if head not in self._known:
            if len(self._known) >= 10_000:
                self._known.clear()
            length = _HEADS.get(head[0], 0)
            after_id = head[length:]
            self._known[head] = (
                length <= len(head)
                and length > 0
                and (_are_indexes(after_id, self._is_zigzag) if self._is_protobuf else not after_id)
            )
        return self._known[head]

    def _reason(self, head: bytes) -> Reason:
        indexes = ", then the message's indexes" if self._is_protobuf else ""
        return Reason(
            f"{self._code}.frame",
            f"header {self._name} is neither byte 0 and an id in 4 bytes nor byte 1 and a GUID in 16"
            f"{indexes}: {head[:20].hex(' ')} ({len(head)} bytes)",
        )


class RawKeyColumns:
    """Columns that each take the whole key as a string; they are NULL for a null key."""

    def __init__(self, columns: Sequence[Column], zone: str, changes: Changes) -> None:
        self._columns = [
            (column.name, _text_column(column, zone, "key", "the key", changes=changes)) for column in columns
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
        changes: Changes,
    ) -> None:
        """Raise ValueError if the format cannot fill the columns."""
        self._schema = pa.schema([(column.name, parse_hive_type(column.type)) for column in columns])
        sources = [Source(column.path, column.unit, column.leeway) for column in columns]
        self._decoder = make_decoder(
            DecoderSpec(format, self._schema, zone, sources, writers=writers, wire=wire, changes=changes)
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
        return columns, dict(zip(bad, map(_as_key_reason, decoded.reasons), strict=True))


class HeaderColumns:
    """Columns that each take the value of a header. If a header repeats, the last value wins; if it is missing, NULL."""

    def __init__(self, columns: Sequence[Column], zone: str, changes: Changes) -> None:
        """`columns` must be taken from headers. Raises ValueError for a nested type."""
        self._columns = [
            (c.name, c.path[0], _text_column(c, zone, "header", f"header {c.path[0]}", changes=changes))
            for c in columns
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
    """The columns of a table that its records' keys and headers fill. Without such columns, it reads neither."""

    def __init__(self, table: TableSettings, writers: WriterSchemas | None, changes: Changes) -> None:
        """`writers` are the schemas of keys. Raises ValueError if the key's format cannot fill its columns."""
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
                self._key_schemas = SchemaHeaders(KEY_SCHEMA_ID_HEADER, table.key_format, wire.indexes)

    @property
    def wants_headers(self) -> bool:
        return self._headers is not None or self._key_schemas is not None

    def add_to(
        self, rows: pa.RecordBatch, chunk: Chunk, indices: Indices | None
    ) -> tuple[pa.RecordBatch, Indices | None, Rejections | None]:
        """Return the rows with key and header columns, their indices (None: all), and the rejected messages."""
        if self._keys is None and self._headers is None:
            return rows, indices, None
        columns = {name: rows.column(name) for name in rows.schema.names}
        rejected: dict[int, Reason] = {}
        for more_columns, bad in self._read(chunk, indices):
            columns |= more_columns
            rejected = bad | rejected  # the first reason wins
        whole = pa.RecordBatch.from_arrays(
            [columns[name] for name in self._schema.names], schema=self._schema
        )
        if not rejected:
            return whole, indices, None
        every = np.arange(len(chunk)) if indices is None else indices
        places = sorted(rejected)
        return without_rejections(
            whole, every, np.array(places, dtype=np.int64), [rejected[place] for place in places]
        )

    def _read(self, chunk: Chunk, indices: Indices | None) -> Iterator[ColumnValues]:
        if self._keys is not None:
            yield self._read_keys(self._keys, chunk, indices)
        if self._headers is not None:
            yield self._headers.read(chunk.header_pairs(indices))

    def _read_keys(
        self, columns: RawKeyColumns | DecodedKeyColumns, chunk: Chunk, indices: Indices | None
    ) -> ColumnValues:
        keys = chunk.keys(indices)
        if self._key_schemas is None:
            return columns.read(keys)
        keys, bad = self._key_schemas.joined(keys, chunk.header_pairs(indices))
        values, rejected = columns.read(keys)
        return values, rejected | {
            place: _as_key_reason(reason) for place, reason in bad.items() if place in rejected
        }


def _text_column(
    column: Column, zone: str, family: str, origin: str, changes: Changes
) -> TextColumn | LooseTexts:
    """Return the reader of a column from strings; a reason's code begins with `family`, its text names `origin`."""
    texts = TextColumn(
        column=column.name,
        dtype=parse_hive_type(column.type),
        zone=zone,
        unit=column.unit,
        family=family,
        leeway=column.leeway,
        changes=changes,
        label=f"{column.name} ({origin})",
    )
    if not takes_other_forms(column.leeway):
        return texts
    return LooseTexts(texts, zone, column.unit, column.leeway, changes=changes)


def _as_key_reason(reason: Reason) -> Reason:
    return replace(reason, code=f"key.{reason.code}")


def _are_indexes(data: bytes, is_zigzag: bool) -> bool:
    """Return whether `data` is exactly a count as varint and that many varints. A single 0 means the first message."""
    ends = [index for index, octet in enumerate(data) if octet < 0x80]
    if not ends or ends[-1] != len(data) - 1 or ends[0] > 0:
        return False
    count, is_negative = (data[0] >> 1, data[0] & 1 == 1) if is_zigzag else (data[0], False)
    return not is_negative and len(ends) == 1 + count
