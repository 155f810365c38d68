"""Columns of JSON that Kafka Connect wrote with the schema beside it: each has the type that the schema names. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from kafka2hive.decode.values.connect_decimals import NAME as DECIMAL
from kafka2hive.model.hive_type_parser import MAX_DECIMAL_DIGITS
from kafka2hive.schema_evolution.fields import Followed, written_field
from kafka2hive.service.draft.columns import Names, SchemaColumns
from kafka2hive.service.draft.map_text import DraftColumn

PAYLOAD = "payload"
_PLAIN = {
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
"""By the schema's name: the type and the unit. Nanoseconds stay numbers, as a timestamp holds no part of a microsecond."""
Fields = list[dict[str, Any]]


def fields_beside(document: dict[str, Any]) -> Fields | None:
    """Of the payload that stands beside its schema, and of nothing else. None where the document is another one."""
    schema = document.get("schema")
    if document.keys() != {"schema", PAYLOAD} or not isinstance(schema, dict):
        return None
    return _fields_of(schema)


def image_fields(document: dict[str, Any]) -> Fields | None:
    """Of the row within Debezium's envelope that stands beside its schema."""
    for field in fields_beside(document) or ():
        if field["field"] in ("after", "before") and (found := _fields_of(field)) is not None:
            return found
    return None


class ConnectColumns(SchemaColumns):
    """`decimals`: how those of the rows are written, `base64` or `text`."""

    def __init__(
        self, schemas: Iterable[Fields], rows: Sequence[dict[str, Any]], prefix: tuple[str, ...] = ()
    ) -> None:
        """`prefix` leads to the row, from where the table's source begins; where it is not empty there are no decimals of
        bytes. Of a field that the schemas have differently the first counts.
        """
        fields: dict[str, dict[str, Any]] = {}
        for schema in schemas:
            for field in schema:
                fields.setdefault(field["field"], field)
        decimals = [name for name, field in fields.items() if field.get("name") == DECIMAL]
        values = [row.get(name) for name in decimals for row in rows]
        are_bytes = bool(decimals) and all(isinstance(value, str | None) for value in values)
        self.decimals = "base64" if are_bytes and not prefix else "text"
        types = _ConnectTypes(has_decimals=not (are_bytes and prefix))
        units = {name: _moment(field)[1] for name, field in fields.items()}
        super().__init__(
            (
                written_field(name, types, partial(types.column, field, name))
                for name, field in fields.items()
            ),
            units,
            prefix,
        )


class _ConnectTypes(Followed):
    def __init__(self, has_decimals: bool) -> None:
        super().__init__()
        self._has_decimals = has_decimals

    def column(self, schema: dict[str, Any], place: str) -> str | None:
        if schema.get("name") == DECIMAL:
            return self._decimal(schema, place)
        return _moment(schema)[0] or self._type_of(schema, place)

    def _decimal(self, schema: dict[str, Any], place: str) -> str:
        parameters = schema.get("parameters")
        told = parameters if isinstance(parameters, dict) else {}
        digits = _number(told.get("connect.decimal.precision", MAX_DECIMAL_DIGITS))
        scale = _number(told.get("scale"))
        if self._has_decimals and 0 <= scale <= digits <= MAX_DECIMAL_DIGITS and digits:
            return f"decimal({digits},{scale})"
        self.notes.append(
            f"{place} is a decimal as bytes, which only a column of a change log with up to {MAX_DECIMAL_DIGITS} digits can be:"
            " its base64 as it stands. The connector writes texts with decimal.handling.mode string"
        )
        return "string"

    def _type_of(self, schema: dict[str, Any], place: str) -> str | None:
        with self.one():
            if schema.get("name") == DECIMAL:
                return "string"  # base64 as it stands: only a column of its own can be a decimal
            match schema.get("type"):
                case "struct":
                    inner = _fields_of(schema) or []
                    names = ((f["field"], self._type_of(f, f"{place}.{f['field']}")) for f in inner)
                    return self.struct(place, names)
                case "array":
                    return self._within("array<{}>", schema.get("items"), f"{place}[]")
                case "map" if _is_text(schema.get("keys")):
                    return self._within("map<string,{}>", schema.get("values"), f"{place}.*")
                case str(kind) if kind in _PLAIN:
                    return _PLAIN[kind]
            return self.left_out(
                place, "has a type that Kafka Connect's schemas have not, or a map's keys are no texts"
            )

    def _within(self, text: str, schema: object, place: str) -> str | None:
        found = self._type_of(schema if isinstance(schema, dict) else {}, place)
        return None if found is None else text.format(found)


def _number(text: object) -> int:
    """-1: it is none, or a long one."""
    return int(str(text)) if str(text).isdecimal() and len(str(text)) < 4 else -1


def _is_text(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "string"


def _moment(schema: dict[str, Any]) -> tuple[str | None, str | None]:
    name = schema.get("name")
    return _MOMENTS.get(name, (None, None)) if isinstance(name, str) else (None, None)


def _fields_of(schema: dict[str, Any]) -> Fields | None:
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        return None
    return list(_named(fields))


def _named(fields: Fields) -> Iterator[dict[str, Any]]:
    return (field for field in fields if isinstance(field.get("field"), str) and field["field"])


_TYPE = re.compile(r"(\w+)(?:\(([^)]*)\))?(.*)")
_TYPES = {
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
"""As wide as the unsigned ones; whatever is not here is a text."""


def is_canal(document: dict[str, Any]) -> bool:
    known = {"database", "table", "type", "data", "mysqlType"} <= document.keys()
    return known and isinstance(document["data"], list | None)


def canal_columns(documents: Iterable[dict[str, Any]]) -> tuple[tuple[DraftColumn, ...], list[str]]:
    """A column for each of the table's own, in the order of the first record that names it, and notes."""
    types: dict[str, str] = {}
    notes: list[str] = []
    for document in documents:
        if isinstance(named := document["mysqlType"], dict):
            for name, written in named.items():
                if name:
                    types.setdefault(name, _hive_type(str(written)))
    names = Names(notes)
    return tuple(DraftColumn(names.name((name,)), kind, (name,)) for name, kind in types.items()), notes


def _hive_type(written: str) -> str:
    matched = _TYPE.match(written.strip().lower())
    if matched is None:
        return "string"
    name, size, more = matched.groups()
    if name in ("decimal", "numeric"):
        precision, _, scale = (size or "10,0").partition(",")
        digits, fraction = (int(n) if n.isdecimal() and len(n) < 4 else 99 for n in (precision, scale or "0"))
        return f"decimal({digits},{fraction})" if 0 < digits <= 38 and fraction <= digits else "string"
    if name == "bigint" and "unsigned" in more:
        return "decimal(20,0)"
    return _TYPES.get(name, "string")
