"""The format of sampled values.

It is JSON (plain, a change log, or after the id of a registry's schema), Avro or Protobuf after such an id, CSV, or raw bytes.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys import ChangeLog, Framing, WireFormat
from kafka2hive.config.keys.source import BEFORE, CHANGE_COLUMNS, UNAVAILABLE, CsvOptions
from kafka2hive.decode.change_logs.marks import mark_of
from kafka2hive.decode.framing.frames import HEAD, LONG_HEAD, indexed_heads, schema_ids
from kafka2hive.decode.schemas.avro import Record, parse
from kafka2hive.decode.schemas.json import parse as parse_json
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.decode.values.batch import Places
from kafka2hive.model.text import counted
from kafka2hive.model.writer_schema import AVRO, JSON, PROTOBUF, SchemaInvalid, WriterSchema
from kafka2hive.schema_evolution.fields import avro_fields, envelope_row, protobuf_fields
from kafka2hive.schema_evolution.json_types import json_fields
from kafka2hive.service.draft.change_log_columns import (
    PAYLOAD,
    ConnectColumns,
    canal_columns,
    image_fields,
    is_canal,
    payload_fields,
)
from kafka2hive.service.draft.columns import Columns, Names, SchemaColumns, free_name
from kafka2hive.service.draft.csv_fields import CsvFields, documents_of_fields, fields_of, header_of, lines_of
from kafka2hive.service.draft.documents import (
    Documents,
    DocumentShape,
    documents_of,
    reasons_for_none,
    several_per_value,
)
from kafka2hive.service.draft.enclosed_rows import array_key, enclosed_rows, rows_text
from kafka2hive.service.draft.flat_records import OF_CHANGE, FlatRecords, flat_records
from kafka2hive.service.draft.framed_records import Headers, framed_records
from kafka2hive.service.draft.map_text import PLAIN_CSV, DraftColumn
from kafka2hive.service.draft.single_values import single_values

_NOT_OF_CSV = ("quoted", "empty", "json")
"""Keys of columns that CSV does not have."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """What the map must say of a table that reads the values; without columns they are raw.

    `decimals` and `options` belong to Debezium's envelopes and flat rows.
    """

    format: str
    source: str = "events"
    columns: tuple[DraftColumn, ...] = ()
    notes: tuple[str, ...] = ()
    csv: CsvOptions = PLAIN_CSV
    rows: str = "one"
    decimals: str = "text"
    options: tuple[str, ...] = ()
    framing: Framing = "id4"


def recognise(
    values: Sequence[bytes], writers: WriterSchemas | None, headers: Sequence[Headers] = ()
) -> Recognition:
    """Recognise the format of most values and draft their columns.

    `headers` are those of the records in the same order. `writers` has the registry's schemas; None if no registry is given.
    Raises the registry's errors.
    """
    recognition = _recognise(values, writers, headers)
    return recognition if recognition.source == "events" else _without_change_columns(recognition)


def _without_change_columns(recognition: Recognition) -> Recognition:
    """Rename the row's columns that have the name of a column of every change log."""
    names = {column.name.lower() for column in recognition.columns} | {*CHANGE_COLUMNS, BEFORE, UNAVAILABLE}
    columns, notes = [], list(recognition.notes)
    for column in recognition.columns:
        if column.name.lower() in (*CHANGE_COLUMNS, BEFORE, UNAVAILABLE):
            name = free_name(column.name, names)
            notes.append(f"{column.name} is a column of every change: {name} takes the row's own")
            names.add(name.lower())
            column = replace(column, name=name)
        columns.append(column)
    return replace(recognition, columns=tuple(columns), notes=tuple(notes))


def _recognise(
    values: Sequence[bytes], writers: WriterSchemas | None, headers: Sequence[Headers]
) -> Recognition:
    documents = documents_of(values)
    if (several := several_per_value(values, documents)) is not None:
        rows, elements = several
        return replace(_of_rows("json", "events", [row for row in elements if row is not None]), rows=rows)
    if _are_most(documents):
        return _of_documents("json", documents)
    framed = framed_records(values, headers)
    if framed is not None and _are_most(payloads := documents_of(framed.contents)):
        return replace(_of_documents("json_schema", payloads), framing=framed.framing)
    framing, ids = _ids_of(values)
    objects = sum(document is not None for document in documents)
    notes = [f"only {objects:,} of {counted(len(values), 'record')} are JSON objects"]
    if 2 * (ids >= 0).sum() > len(values):
        payloads = documents_of(
            [
                value[HEAD if framing == "id4" else LONG_HEAD :] if number >= 0 else b""
                for value, number in zip(values, ids, strict=True)
            ]
        )
        if _are_most(payloads):
            drafted = _by_json_schema(_of_documents("json_schema", payloads), ids, writers)
            return replace(drafted, framing=framing)
        frequent = [number for number, _ in Counter(ids[ids >= 0].tolist()).most_common(3)]
        faults = []
        if writers is not None:
            for number in sorted(frequent, reverse=True):
                recognition = _of_schema(number, writers, values, framing)
                if isinstance(recognition, Recognition):
                    return replace(recognition, framing=framing)
                faults.append(f"id {number}: {recognition}")
        hint = "; ".join(faults) or "give the registry with --registry"
        id_list = ", ".join(map(str, sorted(frequent)))
        notes.append(f"most begin as a schema registry's records do (schema ids {id_list}): {hint}")
    elif (fields := fields_of(values)) is not None:
        return _of_fields(fields)
    elif (fields := fields_of(lines := lines_of(values))) is not None and len(lines) > len(values):
        return replace(_of_fields(fields), rows="lines")
    notes += reasons_for_none(values) if framed is None else framed.notes()
    single = single_values(values) if framed is None and 2 * (ids >= 0).sum() <= len(values) else None
    if single is not None:
        return Recognition(single.format, columns=(single.column,), notes=(*notes, *single.notes))
    return Recognition("raw", notes=(*notes, "each value becomes one binary column"))


def _of_fields(read: CsvFields) -> Recognition:
    """Draft a column for each field, even if it is empty in every record, because CSV's columns are assigned in order."""
    delimiter, rows = read.options.delimiter, read.rows
    header = header_of(rows)
    shape = DocumentShape()
    for document in documents_of_fields([row for row in rows if not _is_header(row, header)]):
        shape.add(document)
    filled = {
        column.name: replace(column, type="string", unit=None, leeway=())
        if any(key.startswith(_NOT_OF_CSV) for key in column.leeway)
        else column
        for column in Columns(shape).columns
    }
    fields = [f"field_{n}" for n in range(1, len(rows[0]) + 1)]
    columns = tuple(filled.get(name, DraftColumn(name, "string", (name,))) for name in fields)
    notes = [f"the fields ({delimiter!r} between them) have no names, only an order: give each column a name"]
    if header:
        lines = counted(sum(_is_header(row, header) for row in rows), "header line")
        notes = [f"columns are named by the {lines} among the records, which csv.header leaves out"]
        names = Names(notes)
        titles = [names.name((text.removeprefix("\ufeff"),)) for text in header]
        columns = tuple(replace(c, name=name, keys=(name,)) for c, name in zip(columns, titles, strict=True))
    if own := [f"{column.name} ({', '.join(column.leeway)})" for column in columns if column.leeway]:
        notes.append(f"some columns take texts in forms of their own: {', '.join(own)}")
    if read.options.nulls:
        texts = ", ".join(json.dumps(text) for text in read.options.nulls)
        notes.append(f"fields with one of these texts are NULL: {texts}")
    return Recognition(
        format="csv",
        source="events",
        columns=columns,
        notes=tuple(notes),
        csv=replace(read.options, header=header),
    )


def _is_header(row: Sequence[str | None], header: tuple[str, ...]) -> bool:
    return tuple(text or "" for text in row) == header


def _are_most(documents: Documents) -> bool:
    """Return whether at least half of the values are objects."""
    return 2 * sum(document is not None for document in documents) >= len(documents)


def _of_documents(format: str, documents: Documents) -> Recognition:
    objects = [document for document in documents if document is not None]
    changes = [document for document in objects if is_canal(document)]
    if 2 * len(changes) > len(_without_marks(ChangeLog.CANAL, objects)):
        columns, notes = canal_columns(changes)
        if columns:
            return Recognition(format, "canal", columns, tuple(notes))
    for log, row_of in ((ChangeLog.DEBEZIUM, _debezium_row), (ChangeLog.MAXWELL, _maxwell_row)):
        rows = [row for row in map(row_of, objects) if row is not None]
        messages = _without_marks(log, objects)
        if 2 * len(rows) > len(messages):
            schemas = [fields for fields in map(image_fields, messages) if fields]
            if log is ChangeLog.DEBEZIUM and 2 * len(schemas) > len(messages):
                return _of_connect(format, log.value, ConnectColumns(schemas, rows), rows)
            return _of_rows(format, log.value, rows)
    if 2 * len(flat := flat_records(objects)) > len(_without_marks(ChangeLog.DEBEZIUM, objects)):
        return _of_flat(format, flat)
    schemas = [fields for fields in map(payload_fields, objects) if fields]
    rows = [row for document in objects if isinstance(row := document.get(PAYLOAD), dict)]
    if 2 * len(schemas) > len(objects) and 2 * len(rows) > len(objects):
        return _of_connect(format, "events", ConnectColumns(schemas, rows, (PAYLOAD,)), objects)
    return _of_events(format, objects)


def _of_events(format: str, objects: Sequence[dict[str, Any]]) -> Recognition:
    recognition = _of_rows(format, "events", objects)
    if (key := array_key(objects)) is None:
        return recognition
    if (enclosed := enclosed_rows(objects, key)) is None:
        note = f"each record has one array of objects: rows: {rows_text(key)} makes a row of each element"
        return replace(recognition, notes=(*recognition.notes, note))
    return Recognition(format, "events", enclosed.columns, enclosed.notes, rows=enclosed.rows)


def _of_flat(format: str, records: FlatRecords) -> Recognition:
    """Draft columns of Debezium's flat rows, without the fields of the change."""
    if 2 * len(records.schemas) > len(records.rows):
        recognition = _of_connect(
            format, "debezium", ConnectColumns(records.schemas, records.rows), records.rows
        )
    else:
        recognition = _of_rows(format, "debezium", records.rows)
    columns = tuple(column for column in recognition.columns if column.keys[0] not in OF_CHANGE)
    has_position = records.have_positions
    options = ("form: flat", *(("position: true",) if has_position else ()))
    note = "rows that ExtractNewRecordState has unwrapped: form: flat"
    if not has_position:
        note += "; without a position such as __lsn in every record, latest goes by offsets"
    return replace(recognition, columns=columns, options=options, notes=(note, *recognition.notes))


def _without_marks(log: ChangeLog, objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [document for document in objects if mark_of(log, document) is None]


def _of_connect(
    format: str, source: str, connect: ConnectColumns, rows: Sequence[dict[str, Any]]
) -> Recognition:
    if not connect.columns:
        return _of_rows(format, source, rows)
    notes = ("types are those of the schema in each record", *connect.notes)
    return Recognition(format, source, connect.columns, notes, decimals=connect.decimals)


def _of_rows(format: str, source: str, rows: Sequence[dict[str, Any]]) -> Recognition:
    shape = DocumentShape()
    for row in rows:
        shape.add(row)
    drafted = Columns(shape)
    if not drafted.columns and not (drafted.lacks_some and source == "events"):
        return Recognition("raw", notes=(*drafted.notes, "each value becomes one binary column"))
    columns = drafted.columns
    if drafted.lacks_some and source == "events":
        columns = (*columns, drafted.whole_message())
    return Recognition(format, source, columns, tuple(drafted.notes))


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
    """Return the schema id of each value, negative if it has none, and whether ids have 4 or 8 bytes.

    Ids begin with 1: if most ids of 4 bytes are 0, they are the first half of ids of 8 bytes.
    """
    data = pa.array(values, pa.binary())
    ids = schema_ids(data)
    return ("id8", schema_ids(data, "id8")) if 2 * (ids == 0).sum() > len(values) else ("id4", ids)


def _by_json_schema(recognition: Recognition, ids: Places, writers: WriterSchemas | None) -> Recognition:
    """Return the recognition with the columns of the JSON Schema that most of the records name, if it is known.

    A change log keeps the columns of its records: its envelopes need no schema to be read.
    """
    schema_id = Counter(ids[ids >= 0].tolist()).most_common(1)[0][0]
    writer = None if writers is None or recognition.source != "events" else writers.get(schema_id)
    if writer is None or writer.kind != JSON or recognition.rows != "one":
        return recognition
    try:
        drafted = SchemaColumns(json_fields(parse_json(writer), is_change_log=False), has_texts=True)
    except SchemaInvalid as error:
        note = f"the schema of id {schema_id} cannot be read, so columns are those of the records: {error}"
        return replace(recognition, notes=(*recognition.notes, note))
    if not drafted.columns:
        return recognition
    return _of_columns("json_schema", "events", drafted, f"schema {schema_id}, that of most records")


def _of_schema(
    schema_id: int, writers: WriterSchemas, values: Sequence[bytes], framing: Framing
) -> Recognition | str:
    """Draft columns by a schema of the registry; return why not if they cannot be drafted.

    The schema must be an Avro record, or declare the Protobuf message type that most of the values have.
    """
    writer = writers.get(schema_id)
    if writer is None:
        return "the registry has no such schema"
    if writer.kind not in (AVRO, PROTOBUF):
        return f"its schema's type is {writer.kind}, not Avro or Protobuf"
    try:
        if writer.kind == PROTOBUF:
            return _of_messages(schema_id, writer, values, framing)
        schema = parse(writer)
    except SchemaInvalid as error:
        return f"its schema cannot be read: {error}"
    root = schema.definition(schema.root)
    if not any(isinstance(schema.definition(b), Record) for b in getattr(root, "branches", (root,))):
        return "its Avro schema is not a record"
    source = "events" if envelope_row(schema) is None else "debezium"
    columns = SchemaColumns(avro_fields(schema, is_change_log=source == "debezium"), has_texts=True)
    return _of_columns("avro", source, columns, f"schema {schema_id}, the newest of the records")


def _of_messages(
    schema_id: int, writer: WriterSchema, values: Sequence[bytes], framing: Framing
) -> Recognition | str:
    """Draft columns by the message type that most of the schema's values have. Raises SchemaInvalid."""
    from kafka2hive.decode.schemas.protobuf import parse as parse_protobuf

    schema = parse_protobuf(writer)
    counts = (
        (len(places), head.indexes)
        for head, places in indexed_heads(pa.array(values, pa.binary()), WireFormat(framing))
        if head.schema_id == schema_id
    )
    name = schema.type_at(max(counts, default=(0, ()))[1])
    if name is None:
        return "its Protobuf schema has no message type at the records' indexes"
    columns = SchemaColumns(protobuf_fields(schema, name), has_texts=True)
    return _of_columns(
        "protobuf", "events", columns, f"{name} of schema {schema_id}, the newest of the records"
    )


def _of_columns(format: str, source: str, drafted: SchemaColumns, schema: str) -> Recognition:
    if not drafted.columns:
        none = f"no column for any field of {schema}: each value becomes one binary column"
        return Recognition("raw", notes=(none, *drafted.notes))
    return Recognition(format, source, drafted.columns, (f"columns of {schema}", *drafted.notes))
