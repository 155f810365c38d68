"""Find the fields of a writer's schema that a table's columns do not hold, before its messages are decoded."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.keys import Column, RecordPart, TableSettings
from kafka2hive.config.keys.bucket_path import read_bucket_path
from kafka2hive.config.keys.source import change_log_of
from kafka2hive.decode.contract.sources import (
    Source,
    SourceTree,
    Spelling,
    exact_spelling,
    lower_case_spelling,
    source_tree,
)
from kafka2hive.decode.schemas.avro import AvroSchema
from kafka2hive.decode.schemas.json import JsonSchema
from kafka2hive.decode.schemas.protobuf import ProtobufSchema
from kafka2hive.model.errors import SchemaDiffers
from kafka2hive.model.hive_types import hive_type_of, is_wider, parse_hive_type
from kafka2hive.model.writer_schema import SchemaId, WriterId
from kafka2hive.schema_evolution.fields import WriterField, avro_fields, protobuf_fields
from kafka2hive.schema_evolution.json_types import json_fields

_NAME = re.compile(r"[A-Za-z0-9_]{1,128}")


def merge(held: pa.DataType, written: pa.DataType) -> pa.DataType | None:
    """Return a type that holds the values of both types, and with which Hive still reads files of the type `held`.

    None if there is no such type. Fields of structs are never left out, and new fields come last. A number does not become
    text, because messages with numbers would not fill a text column.
    """
    if held == written:
        return held
    if pa.types.is_list(held) and pa.types.is_list(written):
        element = merge(held.value_type, written.value_type)
        return None if element is None else pa.list_(element)
    if pa.types.is_map(held) and pa.types.is_map(written):
        item = merge(held.item_type, written.item_type)
        return None if item is None else pa.map_(held.key_type, item)
    if pa.types.is_struct(held) and pa.types.is_struct(written):
        return _merge_structs(held, written)
    if pa.types.is_nested(held) or pa.types.is_string(held) or pa.types.is_string(written):
        return None
    if is_wider(hive_type_of(written), hive_type_of(held)):
        return written
    return held if is_wider(hive_type_of(held), hive_type_of(written)) else None


def _merge_structs(held: pa.StructType, written: pa.StructType) -> pa.StructType | None:
    new = {field.name.lower(): field for field in written}
    fields = []
    for field in held:
        other = new.pop(field.name.lower(), None)
        both = field.type if other is None else merge(field.type, other.type)
        if both is None:
            return None
        fields.append(pa.field(field.name, both))
    return pa.struct([*fields, *new.values()])


@dataclass(frozen=True, slots=True)
class Differences:
    """`columns` are new, or were added earlier and get a wider type. `lost` describes what even these columns would not take."""

    columns: tuple[Column, ...] = ()
    lost: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.columns or self.lost)

    @property
    def text(self) -> str:
        """Return a description of every difference."""
        return "; ".join(
            [*(f"no column for {column.name} {column.type}" for column in self.columns), *self.lost]
        )


def differences(table: TableSettings, fields: Iterable[WriterField]) -> Differences:
    """Propose a column for each field that no column takes, unless Hive cannot hold it or the map ignores it.

    A column that was added earlier becomes wider if its files stay readable. A column that the map declares never
    changes.
    """
    comparison = _Comparison(table)
    for field in fields:
        comparison.compare(field)
    return Differences(tuple(comparison.columns), tuple(comparison.lost))


class _Comparison:
    """Collects the differences between a table's columns and fields."""

    def __init__(self, table: TableSettings) -> None:
        self.columns: list[Column] = []
        self.lost: list[str] = []
        self._spelling: Spelling = lower_case_spelling if table.any_case else exact_spelling
        values = [column for column in table.columns if column.part is RecordPart.VALUE]
        others = [replace(column, path=path) for column in values for path in column.leeway.others]
        self._values = [*values, *others]
        sources = [Source(column.keys) for column in self._values]
        self._sources = source_tree(sources, self._spelling)
        self._added = table.added
        self._ignored = frozenset(table.ignored_fields)
        self._taken = {column.name.lower(): f"column {column.name}" for column in table.columns}
        self._taken |= {name.lower(): f"metadata column {name}" for _, name in table.metadata}
        self._format = FILE_FORMATS[table.writer.format]
        stored = self._format.stored_as
        # metadata columns come last: a new column would shift them
        self._is_closed = stored is not None and stored.by_place and bool(table.metadata)
        path = read_bucket_path(table.bucketing.path).names
        self._taken |= {name.lower(): f"partition column {name}" for name in path}

    def compare(self, field: WriterField) -> None:
        if field.name in self._ignored:
            return
        source = self._sources.inner.get(self._spelling(field.name))
        if source is None:
            self._add_column(field)
        elif field.type is not None:
            self._compare_columns(field, field.type, source)

    def _add_column(self, field: WriterField) -> None:
        self.lost += field.notes
        if field.type is None:
            return
        if (other := self._taken.get(field.name.lower())) is not None:
            self.lost.append(f"{field.name} {field.type} has the name of {other}")
        elif self._is_closed:
            self.lost.append(
                f"{field.name} {field.type} would shift the metadata columns, which Hive reads by position"
                f" in {self._format.title} files"
            )
        elif faults := list(self._format.column_faults(field.name, field.type)):
            self.lost += [
                f"no column of {self._format.title} files for {field.name[:140]}: {fault}" for fault in faults
            ]
        elif not _NAME.fullmatch(field.name):
            self.lost.append(f"{field.name[:140]} cannot be the name of a column")
        else:
            self.columns.append(Column(field.name, field.type))
            self._taken[field.name.lower()] = f"field {field.name}"

    def _compare_columns(self, field: WriterField, kind: str, source: SourceTree) -> None:
        if any(self._values[number].leeway.json != "refuse" for number in source.columns):
            return  # a text holds all of the field
        for number in source.columns:
            column = self._values[number]
            present = parse_hive_type(column.type)
            wider = merge(present, parse_hive_type(kind)) if column.name.lower() in self._added else None
            if wider is not None:
                if wider != present:
                    self.columns.append(Column(column.name, hive_type_of(wider), column.path))
                self.lost += field.notes
                return
        self.lost += _parts_without_column(
            path=field.name,
            written=parse_hive_type(kind),
            source=source,
            columns=self._values,
            spelling=self._spelling,
        )


def _parts_without_column(
    path: str, written: pa.DataType, source: SourceTree, columns: Sequence[Column], spelling: Spelling
) -> Iterator[str]:
    """Yield descriptions of the parts of a field that no column takes, if columns take the whole field or a part of it."""
    if source.columns:
        column = columns[source.columns[0]]
        yield from _parts_not_held(path, written, parse_hive_type(column.type), spelling)
    elif pa.types.is_struct(written):
        for inner in written:
            inner_source = source.inner.get(spelling(inner.name))
            if inner_source is None:
                yield f"no column for {path}.{inner.name} {hive_type_of(inner.type)}"
            else:
                yield from _parts_without_column(
                    path=f"{path}.{inner.name}",
                    written=inner.type,
                    source=inner_source,
                    columns=columns,
                    spelling=spelling,
                )


def _parts_not_held(path: str, written: pa.DataType, held: pa.DataType, spelling: Spelling) -> Iterator[str]:
    if pa.types.is_list(written) and pa.types.is_list(held):
        yield from _parts_not_held(f"{path}[]", written.value_type, held.value_type, spelling)
    elif pa.types.is_map(written) and pa.types.is_map(held):
        yield from _parts_not_held(f"{path}{{}}", written.item_type, held.item_type, spelling)
    elif pa.types.is_struct(written) and pa.types.is_struct(held):
        members = {spelling(member.name): member.type for member in held}
        for inner in written:
            if (member := members.get(spelling(inner.name))) is None:
                yield f"no field for {path}.{inner.name} {hive_type_of(inner.type)}"
            else:
                yield from _parts_not_held(f"{path}.{inner.name}", inner.type, member, spelling)
    elif (
        is_wider(hive_type_of(written), hive_type_of(held))
        and written != held
        and not pa.types.is_string(written)
    ):
        yield f"{path} is {hive_type_of(written)}, but its column is {hive_type_of(held)}"


class WriterFieldsCheck:
    """The SchemaCheck of a table whose schema evolution is `add` or `stop`."""

    def __init__(self, table: TableSettings) -> None:
        self._table = table

    def avro(self, schema_id: SchemaId, schema: AvroSchema) -> None:
        is_change_log = change_log_of(self._table.source) is not None
        self._check(WriterId(schema_id), avro_fields(schema, is_change_log=is_change_log))

    def protobuf(self, schema_id: SchemaId, schema: ProtobufSchema, message: str) -> None:
        self._check(WriterId(schema_id, message), protobuf_fields(schema, message))

    def json(self, schema_id: SchemaId, schema: JsonSchema) -> None:
        is_change_log = change_log_of(self._table.source) is not None
        self._check(WriterId(schema_id), json_fields(schema, is_change_log=is_change_log))

    def unresolvable(self, schema_id: SchemaId, why: str) -> None:
        if self._table.schema_evolution == "stop":
            raise schema_differs(self._table.table, f"id {schema_id}", why)

    def _check(self, writer: WriterId, fields: Iterator[WriterField]) -> None:
        difference = differences(self._table, fields)
        if difference.columns if self._table.schema_evolution == "add" else difference:
            raise schema_differs(self._table.table, str(writer), difference.text, writer)


def schema_differs(table: str, schema: str, text: str, writer: WriterId | None = None) -> SchemaDiffers:
    """Return the error for differences between the columns and a schema; `schema` is its name in the message."""
    return SchemaDiffers(
        f"{table}: the schema with {schema} does not fit the table's columns: {text}. Its records are not lost: they wait in"
        " Kafka",
        "add columns to the map, or name the fields in ignored_fields, and restart; or set schema_evolution: add. A table"
        " whose columns are Hive's resumes after an ALTER TABLE",
        writer,
    )
