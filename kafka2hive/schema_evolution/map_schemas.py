"""Check a schema that the map declares against the columns that it must fill. Pure, except for Protobuf's compiler."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from difflib import get_close_matches

import pyarrow as pa

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.avro import resolve as avro_resolve
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source, exact_spelling
from kafka2hive.decode.protobuf import resolve as protobuf_resolve
from kafka2hive.decode.schemas import avro as avro_parse
from kafka2hive.decode.schemas import protobuf as protobuf_parse
from kafka2hive.decode.values.declared_times import has_declared_times
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import AVRO, SchemaInvalid, WriterSchema
from kafka2hive.schema_evolution.fields import avro_fields, protobuf_fields


def declared_schema_faults(schema: WriterSchema, columns: Sequence[Column]) -> dict[str, str]:
    """Return, by column name, why the column would always be NULL or why every record would be a dead letter.

    Raises ValueError if the schema itself is invalid.
    """
    try:
        declared = _Avro(schema) if schema.kind == AVRO else _Protobuf(schema)
    except SchemaInvalid as error:
        raise ValueError(str(error)) from error
    return {column.name: fault for column in columns if (fault := declared.fault_of(column))}


class _DeclaredSchema(ABC):
    """A schema that the map declares. `fields` has Hive's type of each top-level field, None if it has none."""

    fields: dict[str, str | None]

    def fault_of(self, column: Column) -> str:
        """Return why no path can fill the column; empty if at least one can."""
        paths = (column.keys, *column.leeway.others)
        faults = [self._fault_at(column, keys) for keys in paths]
        return faults[0] if all(faults) else ""

    def _fault_at(self, column: Column, keys: tuple[str, ...]) -> str:
        if absent := self._absent(keys):
            return absent
        fault = self._type_fault(column, keys, parse_hive_type(column.type))
        if fault and has_declared_times(column.leeway) and not self._type_fault(column, keys, pa.string()):
            return ""
        return fault

    def _type_fault(self, column: Column, keys: tuple[str, ...], dtype: pa.DataType) -> str:
        try:
            self.resolve(pa.schema([(column.name, dtype)]), [Source(keys, column.unit, column.leeway)])
        except SchemaUnresolvable as error:
            return str(error)
        return ""

    @abstractmethod
    def resolve(self, columns: pa.Schema, sources: list[Source]) -> None:
        """Resolve the columns against the schema. Raises SchemaUnresolvable."""

    def _absent(self, keys: tuple[str, ...]) -> str:
        """Return which key of the path the schema lacks; empty if it has all, or if a value on the path is no struct in Hive."""
        if not keys:
            return ""
        if keys[0] not in self.fields:
            return _no_field(keys[:1], self.fields)
        kind = self.fields[keys[0]]
        within = None if kind is None else parse_hive_type(kind)
        for depth, key in enumerate(keys[1:], 1):
            if within is None or not pa.types.is_struct(within):
                return ""
            names = [field.name for field in within]
            if key not in names:
                return _no_field(keys[: depth + 1], names)
            within = within.field(key).type
        return ""


class _Avro(_DeclaredSchema):
    def __init__(self, schema: WriterSchema) -> None:
        self._schema = avro_parse.parse(schema)
        self.fields = {f.name: f.type for f in avro_fields(self._schema, is_change_log=False)}

    def resolve(self, columns: pa.Schema, sources: list[Source]) -> None:
        avro_resolve.resolve(self._schema, columns, sources, exact_spelling)


class _Protobuf(_DeclaredSchema):
    def __init__(self, schema: WriterSchema) -> None:
        self._schema = protobuf_parse.parse(schema)
        self._message = self._schema.only_type(schema.message)
        self.fields = {f.name: f.type for f in protobuf_fields(self._schema, self._message)}

    def resolve(self, columns: pa.Schema, sources: list[Source]) -> None:
        protobuf_resolve.resolve(
            schema=self._schema, name=self._message, columns=columns, sources=sources, spelling=exact_spelling
        )


def _no_field(path: tuple[str, ...], known: Sequence[str] | dict[str, str | None]) -> str:
    near = get_close_matches(path[-1], list(known), 1)
    names = f", it has {near[0]}" if near else f", it has {', '.join(list(known)[:10]) or 'none'}"
    return f"the schema has no field {path_text(path)}{names}"
