"""Columns of JSON documents that name their columns' types: Kafka Connect's with a schema, and Canal's. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kafka2hive.decode.values.connect_decimals import NAME as DECIMAL
from kafka2hive.model.hive_type_parser import MAX_DECIMAL_DIGITS
from kafka2hive.schema_evolution.fields import SchemaTypes, writer_field
from kafka2hive.service.draft.columns import Names, SchemaColumns
from kafka2hive.service.draft.documents import is_not_finite
from kafka2hive.service.draft.map_text import DraftColumn

Fields = list[dict[str, Any]]

PAYLOAD = "payload"
_PRIMITIVES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "binary",
}
_MOMENTS = {
    "io.debezium.time.Date": ("date", "d"),
    "org.apache.kafka.connect.data.Date": ("date", "d"),
    "io.debezium.time.Timestamp": ("timestamp", "ms"),
    "org.apache.kafka.connect.data.Timestamp": ("timestamp", "ms"),
    "io.debezium.time.MicroTimestamp": ("timestamp", "us"),
    "io.debezium.time.ZonedTimestamp": ("timestamp", None),
}
"""Type and unit by the schema's name. Nanoseconds stay numbers, because a timestamp has only microseconds."""
_YEARS = 2_932_896
"""Days from 1970 to the last of the year 9999."""
_PER_DAY = {"d": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_NANOSECONDS = "io.debezium.time.NanoTimestamp"
_CANAL_TYPE = re.compile(r"(\w+)(?:\(([^)]*)\))?(.*)")
_CANAL_TYPES = {
    "tinyint": "int",
    "smallint": "int",
    "mediumint": "int",
    "int": "bigint",
    "integer": "bigint",
    "bigint": "bigint",
    "year": "int",
    "float": "double",
    "double": "double",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "timestamp",
}
"""Hive's type by MySQL's name, wide enough for unsigned values; a type that is not listed becomes a string."""


def payload_fields(document: dict[str, Any]) -> Fields | None:
    """Return the fields that `schema` gives `payload`; None if the document has other members, or no such schema."""
    schema = document.get("schema")
    if document.keys() != {"schema", PAYLOAD} or not isinstance(schema, dict):
        return None
    return _fields_of(schema)


def image_fields(document: dict[str, Any]) -> Fields | None:
    """Return the fields that the schema gives the row in Debezium's envelope; None if the record has no such schema."""
    for field in payload_fields(document) or ():
        if field["field"] in ("after", "before") and (fields := _fields_of(field)) is not None:
            return fields
    return None


class ConnectColumns(SchemaColumns):
    """A column for each field of Kafka Connect's schemas.

    `decimals` is how a change log's decimals are written, `base64` or `text`; other columns say it themselves.
    """

    def __init__(
        self, schemas: Iterable[Fields], rows: Sequence[dict[str, Any]], prefix: tuple[str, ...] = ()
    ) -> None:
        """`prefix` is the path from the table's source to the row; `rows` are the rows themselves.

        If the schemas differ in a field, the first one wins.
        """
        fields: dict[str, dict[str, Any]] = {}
        for schema in schemas:
            for field in schema:
                fields.setdefault(field["field"], field)
        decimals = [name for name, field in fields.items() if field.get("name") == DECIMAL]
        values = [row.get(name) for name in decimals for row in rows]
        are_bytes = bool(decimals) and all(isinstance(value, str | None) for value in values)
        self.decimals = "base64" if are_bytes and not prefix else "text"
        types = _ConnectTypes()
        units = {name: _moment(field)[1] for name, field in fields.items()}
        super().__init__(
            (writer_field(name, types, partial(types.column, field, name)) for name, field in fields.items()),
            units,
            prefix,
        )
        self.columns = tuple(
            replace(column, leeway=keys) if (keys := _loose_keys(column, rows)) else column
            for column in self.columns
        )
        self.notes += [
            f"{c.name}: {', '.join(c.leeway)} for values that are NaN or infinite"
            for c in self.columns
            if c.leeway
        ]
        if are_bytes and prefix:
            self.columns = tuple(
                replace(column, decimals="base64") if column.type.startswith("decimal(") else column
                for column in self.columns
            )


def _loose_keys(column: DraftColumn, rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return the keys that take values which the column's type does not have: NaN, infinities, PostgreSQL's infinite times."""
    values = [row.get(column.keys[-1]) for row in rows]
    if column.type in ("double", "float") and any(
        isinstance(value, str) and is_not_finite(value) for value in values
    ):
        return ("non_finite: null",)
    if column.type not in ("timestamp", "date"):
        return ()
    most = _YEARS * (_PER_DAY[column.unit] if column.unit else 1)
    far = (isinstance(value, int) and abs(value) > most for value in values)
    texts = (isinstance(value, str) and value.lower().lstrip("+-") == "infinity" for value in values)
    return ("beyond: clamp",) if any(far) or any(texts) else ()


class _ConnectTypes(SchemaTypes):
    def column(self, schema: dict[str, Any], place: str) -> str | None:
        if schema.get("name") == DECIMAL:
            return self._decimal(schema, place)
        if schema.get("name") == _NANOSECONDS:
            self.notes.append(
                f"{place} counts nanoseconds, but a timestamp has microseconds:"
                " type: timestamp, unit: ns, fraction: truncate cuts them off"
            )
        return _moment(schema)[0] or self._type_of(schema, place)

    def _decimal(self, schema: dict[str, Any], place: str) -> str:
        value = schema.get("parameters")
        parameters = value if isinstance(value, dict) else {}
        digits = _number(parameters.get("connect.decimal.precision", MAX_DECIMAL_DIGITS))
        scale = _number(parameters.get("scale"))
        if 0 <= scale <= digits <= MAX_DECIMAL_DIGITS and digits:
            return f"decimal({digits},{scale})"
        self.notes.append(
            f"{place} is a decimal in bytes that no decimal of up to {MAX_DECIMAL_DIGITS} digits holds: a string in base64."
            " With decimal.handling.mode string the connector writes decimals as texts"
        )
        return "string"

    def _type_of(self, schema: dict[str, Any], place: str) -> str | None:
        with self.count_type():
            if schema.get("name") == DECIMAL:
                return "string"  # base64, because only a whole column can become a decimal
            match schema.get("type"):
                case "struct":
                    inner = _fields_of(schema) or []
                    names = ((f["field"], self._type_of(f, f"{place}.{f['field']}")) for f in inner)
                    return self.struct(place, names)
                case "array":
                    return self._within("array<{}>", schema.get("items"), f"{place}[]")
                case "map" if _is_text(schema.get("keys")):
                    return self._within("map<string,{}>", schema.get("values"), f"{place}.*")
                case str(kind) if kind in _PRIMITIVES:
                    return _PRIMITIVES[kind]
            return self.left_out(
                place,
                "has a type that Kafka Connect's schemas do not have, or is a map whose keys are not strings",
            )

    def _within(self, text: str, schema: object, place: str) -> str | None:
        inner = self._type_of(schema if isinstance(schema, dict) else {}, place)
        return None if inner is None else text.format(inner)


def _number(text: object) -> int:
    """Return `text` as a number if it has at most three digits, otherwise -1."""
    return int(str(text)) if str(text).isdecimal() and len(str(text)) < 4 else -1


def _is_text(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "string"


def _moment(schema: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return Hive's type and the unit if the schema is that of a date or time."""
    name = schema.get("name")
    return _MOMENTS.get(name, (None, None)) if isinstance(name, str) else (None, None)


def _fields_of(schema: dict[str, Any]) -> Fields | None:
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        return None
    return list(_named(fields))


def _named(fields: Fields) -> Iterator[dict[str, Any]]:
    return (field for field in fields if isinstance(field.get("field"), str) and field["field"])


def is_canal(document: dict[str, Any]) -> bool:
    """Return whether the document is an envelope of Canal."""
    known = {"database", "table", "type", "data", "mysqlType"} <= document.keys()
    return known and isinstance(document["data"], list | None)


def canal_columns(documents: Iterable[dict[str, Any]]) -> tuple[tuple[DraftColumn, ...], list[str]]:
    """Return the columns that the envelopes name, in the order of their first occurrence, and notes."""
    types: dict[str, str] = {}
    notes: list[str] = []
    for document in documents:
        if isinstance(mysql_types := document["mysqlType"], dict):
            for name, mysql_type in mysql_types.items():
                if name:
                    types.setdefault(name, _hive_type(str(mysql_type)))
    names = Names(notes)
    return tuple(DraftColumn(names.name((name,)), kind, (name,)) for name, kind in types.items()), notes


def _hive_type(mysql_type: str) -> str:
    match = _CANAL_TYPE.match(mysql_type.strip().lower())
    if match is None:
        return "string"
    name, size, more = match.groups()
    if name in ("decimal", "numeric"):
        precision, _, scale = (size or "10,0").partition(",")
        digits, fraction = (int(n) if n.isdecimal() and len(n) < 4 else 99 for n in (precision, scale or "0"))
        return f"decimal({digits},{fraction})" if 0 < digits <= 38 and fraction <= digits else "string"
    if name == "bigint" and "unsigned" in more:
        return "decimal(20,0)"
    return _CANAL_TYPES.get(name, "string")
