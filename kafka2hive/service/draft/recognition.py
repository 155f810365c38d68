"""What the sampled values are: JSON, JSON behind a registry's head, Avro, Protobuf, CSV, a change log, or unknown bytes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys import Framing, WireFormat
from kafka2hive.config.keys.change_log import BEFORE, CHANGE_COLUMNS
from kafka2hive.decode.framing.frames import HEAD, LONG_HEAD, schema_ids
from kafka2hive.decode.protobuf.heads import indexed_heads, type_at
from kafka2hive.decode.schemas.avro import AvroSchemaInvalid, Record, parse
from kafka2hive.decode.schemas.writers import AVRO, PROTOBUF, WriterSchema, WriterSchemas
from kafka2hive.decode.values.batch import Places
from kafka2hive.model.text import counted
from kafka2hive.schema_evolution.fields import avro_fields, envelope_row, protobuf_fields
from kafka2hive.service.draft.change_log_columns import (
    PAYLOAD,
    ConnectColumns,
    canal_columns,
    fields_beside,
    image_fields,
    is_canal,
)
from kafka2hive.service.draft.columns import Columns, Names, SchemaColumns, free_name
from kafka2hive.service.draft.csv_fields import as_documents, fields_of, header_of, lines_of
from kafka2hive.service.draft.documents import Documents, DocumentShape, documents_of, several_in, why_none
from kafka2hive.service.draft.map_text import DraftColumn


@dataclass(frozen=True, slots=True)
class Recognised:
    """`format`, `source`, `rows` and columns of a table that takes the values; no columns: they are raw. `delimiter`: of CSV.

    `decimals`: of Debezium's envelopes. `header`: the fields of a header line of CSV.
    """

    format: str
    source: str = "events"
    columns: tuple[DraftColumn, ...] = ()
    notes: tuple[str, ...] = ()
    delimiter: str = ","
    rows: str = "one"
    decimals: str = "text"
    header: tuple[str, ...] = ()
    framing: Framing = "id4"


def recognised(values: Sequence[bytes], writers: WriterSchemas | None) -> Recognised:
    """`writers`: a registry's schemas, None where none is known. Raises the registry's errors."""
    found = _recognised(values, writers)
    return found if found.source == "events" else _beside_change_columns(found)


def _beside_change_columns(found: Recognised) -> Recognised:
    """A member of the row may have the name of a column that every table of changes has."""
    taken = {column.name.lower() for column in found.columns} | {*CHANGE_COLUMNS, BEFORE}
    columns, notes = [], list(found.notes)
    for column in found.columns:
        if column.name.lower() in (*CHANGE_COLUMNS, BEFORE):
            name = free_name(column.name, taken)
            notes.append(f"{column.name} is a column of every change: {name} takes the row's own")
            taken.add(name.lower())
            column = replace(column, name=name)
        columns.append(column)
    return replace(found, columns=tuple(columns), notes=tuple(notes))


def _recognised(values: Sequence[bytes], writers: WriterSchemas | None) -> Recognised:
    documents = documents_of(values)
    if (several := several_in(values, documents)) is not None:
        rows, within = several
        return replace(_of_rows("json", "events", [row for row in within if row is not None]), rows=rows)
    if _most(documents):
        return _of_documents("json", documents)
    framing, ids = _ids_of(values)
    objects = sum(document is not None for document in documents)
    notes = [f"only {objects:,} of {counted(len(values), 'record')} are JSON objects"]
    if 2 * (ids >= 0).sum() > len(values):
        within = documents_of(
            [
                value[HEAD if framing == "id4" else LONG_HEAD :] if number >= 0 else b""
                for value, number in zip(values, ids, strict=True)
            ]
        )
        if _most(within):
            return replace(_of_documents("json_schema", within), framing=framing)
        frequent = [number for number, _ in Counter(ids[ids >= 0].tolist()).most_common(3)]
        hint = "give the registry with --registry"
        if writers is not None:
            for number in sorted(frequent, reverse=True):
                if (found := _of_schema(number, writers, values, framing)) is not None:
                    return replace(found, framing=framing)
            hint = "the registry has none of them for Avro or Protobuf records"
        named = ", ".join(map(str, sorted(frequent)))
        notes.append(f"most begin as a schema registry's records do (schema ids {named}): {hint}")
    elif (fields := fields_of(values)) is not None:
        return _of_fields(*fields)
    elif (fields := fields_of(lines := lines_of(values))) is not None and len(lines) > len(values):
        return replace(_of_fields(*fields), rows="lines")
    notes += why_none(values)
    return Recognised("raw", notes=(*notes, "each value becomes one binary column"))


def _of_fields(delimiter: str, rows: list[list[str | None]]) -> Recognised:
    """A column for each place, also where every record has nothing there: places count."""
    header = header_of(rows)
    shape = DocumentShape()
    for document in as_documents([row for row in rows if not _is(row, header)]):
        shape.add(document)
    known = {column.name: column for column in Columns(shape).columns}
    places = [f"field_{n}" for n in range(1, len(rows[0]) + 1)]
    columns = tuple(known.get(name, DraftColumn(name, "string", (name,))) for name in places)
    notes = [
        f"fields stand by their places ({delimiter!r} between them) and have no names: give each column its own"
    ]
    if header:
        lines = counted(sum(_is(row, header) for row in rows), "header line")
        notes = [f"columns are named by the {lines} among the records, which csv.header leaves out"]
        names = Names(notes)
        own = [names.name((text.removeprefix("\ufeff"),)) for text in header]
        columns = tuple(replace(c, name=name, keys=(name,)) for c, name in zip(columns, own, strict=True))
    return Recognised(
        format="csv", source="events", columns=columns, notes=tuple(notes), delimiter=delimiter, header=header
    )


def _is(row: Sequence[str | None], header: tuple[str, ...]) -> bool:
    return tuple(text or "" for text in row) == header


def _most(documents: Documents) -> bool:
    return 2 * sum(document is not None for document in documents) >= len(documents)


def _of_documents(format: str, documents: Documents) -> Recognised:
    there = [document for document in documents if document is not None]
    changes = [document for document in there if is_canal(document)]
    if 2 * len(changes) > len(there):
        columns, notes = canal_columns(changes)
        if columns:
            return Recognised(format, "canal", columns, tuple(notes))
    for source, row_of in (("debezium", _debezium_row), ("maxwell", _maxwell_row)):
        rows = [row for row in map(row_of, there) if row is not None]
        if 2 * len(rows) > len(there):
            schemas = [fields for fields in map(image_fields, there) if fields]
            if source == "debezium" and 2 * len(schemas) > len(there):
                return _of_connect(format, source, ConnectColumns(schemas, rows), rows)
            return _of_rows(format, source, rows)
    beside = [fields for fields in map(fields_beside, there) if fields]
    rows = [row for document in there if isinstance(row := document.get(PAYLOAD), dict)]
    if 2 * len(beside) > len(there) and 2 * len(rows) > len(there):
        return _of_connect(format, "events", ConnectColumns(beside, rows, (PAYLOAD,)), there)
    return _of_rows(format, "events", there)


def _of_connect(
    format: str, source: str, found: ConnectColumns, rows: Sequence[dict[str, Any]]
) -> Recognised:
    if not found.columns:
        return _of_rows(format, source, rows)
    notes = ("types are those that the schema beside each record names", *found.notes)
    return Recognised(format, source, found.columns, notes, decimals=found.decimals)


def _of_rows(format: str, source: str, rows: Sequence[dict[str, Any]]) -> Recognised:
    shape = DocumentShape()
    for row in rows:
        shape.add(row)
    found = Columns(shape)
    if not found.columns:
        return Recognised("raw", notes=(*found.notes, "each value becomes one binary column"))
    return Recognised(format, source, found.columns, tuple(found.notes))


def _debezium_row(document: dict[str, Any]) -> dict[str, Any] | None:
    payload = document.get("payload")
    envelope = payload if isinstance(payload, dict) else document
    row = envelope.get("after") or envelope.get("before")
    return row if isinstance(envelope.get("op"), str) and isinstance(row, dict) else None


def _maxwell_row(document: dict[str, Any]) -> dict[str, Any] | None:
    row = document.get("data")
    known = {"database", "table", "type", "ts"} <= document.keys()
    return row if known and isinstance(row, dict) else None


def _ids_of(values: Sequence[bytes]) -> tuple[Framing, Places]:
    """Ids begin with 1: if most of those in 4 bytes are 0, they are the first half of ids in 8 bytes."""
    data = pa.array(values, pa.binary())
    ids = schema_ids(data)
    return ("id8", schema_ids(data, "id8")) if 2 * (ids == 0).sum() > len(values) else ("id4", ids)


def _of_schema(
    schema_id: int, writers: WriterSchemas, values: Sequence[bytes], framing: Framing
) -> Recognised | None:
    """None: it is no record's schema in Avro, and none of the values' message in Protobuf."""
    written = writers.get(schema_id)
    if written is not None and written.kind == PROTOBUF:
        return _of_messages(schema_id, written, values, framing)
    if written is None or written.kind != AVRO:
        return None
    try:
        schema = parse(written)
    except AvroSchemaInvalid:
        return None
    root = schema.whole(schema.root)
    if not any(isinstance(schema.whole(b), Record) for b in getattr(root, "branches", (root,))):
        return None
    source = "events" if envelope_row(schema) is None else "debezium"
    found = SchemaColumns(avro_fields(schema, is_change_log=source == "debezium"))
    return _of_written("avro", source, found, f"schema {schema_id}, the newest of the records")


def _of_messages(
    schema_id: int, written: WriterSchema, values: Sequence[bytes], framing: Framing
) -> Recognised | None:
    """By the message type that most of the schema's values have."""
    from kafka2hive.decode.schemas.protobuf import parse as parse_protobuf

    try:
        schema = parse_protobuf(written)
    except ValueError:
        return None
    named = (
        (len(places), head.indexes)
        for head, places in indexed_heads(pa.array(values, pa.binary()), WireFormat(framing))
        if head.schema_id == schema_id
    )
    name = type_at(schema.declared, max(named, default=(0, ()))[1])
    if name is None:
        return None
    found = SchemaColumns(protobuf_fields(schema, name))
    return _of_written(
        "protobuf", "events", found, f"{name} of schema {schema_id}, the newest of the records"
    )


def _of_written(format: str, source: str, found: SchemaColumns, schema: str) -> Recognised:
    if not found.columns:
        none = f"no column for any field of {schema}: each value becomes one binary column"
        return Recognised("raw", notes=(none, *found.notes))
    return Recognised(format, source, found.columns, (f"columns of {schema}", *found.notes))
