"""Judge rows by the schemas of their records.

The deep audit decodes records with the same decoder as a run, so a wrong unit or scale is the same mistake on both sides.
This package shares no code with the decoders: it reads some records of each schema, and says which times, decimals, integers
and UUIDs their rows must have, and what the keys of the map's columns make of other forms of values in JSON, CSV, headers and
keys (`own_forms`). It does not judge values within arrays, maps and structs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import pyarrow as pa

from kafka2hive.config.keys import ChangeLog, TableSettings
from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.config.keys.source import change_log_of, flat_rows
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.service.verify.semantics.csv_line import CsvLine, can_split
from kafka2hive.service.verify.semantics.framing import FramedRecords, SchemaById
from kafka2hive.service.verify.semantics.json import JsonRecords
from kafka2hive.service.verify.semantics.masks import is_judged, masked
from kafka2hive.service.verify.semantics.own_forms import Exactly, OwnForms, has_own_forms
from kafka2hive.service.verify.semantics.tokens import Token, token_of
from kafka2hive.service.verify.semantics.values import ColumnKind, JudgedColumn, RecordValue, expected

_JSON = ("json", "json_schema")
_FRAMED = ("avro", "protobuf")


class RecordFormat(Protocol):
    """Reads the records of one format."""

    def key(self, message: bytes) -> bytes | None:
        """Return what tells the schemas of records apart; None if the record names no schema."""
        ...

    def read(self, message: bytes) -> RecordValue:
        """Return the record. Raises ValueError if it cannot be read by its schema."""
        ...


class SchemaJudge:
    """Judges rows of one table. `schemas` are the writers' schemas of a table in Avro or Protobuf, `mask_keys` the map's keys."""

    def __init__(
        self,
        table: TableSettings,
        schemas: WriterSchema | SchemaById | None = None,
        mask_keys: Sequence[bytes] = (),
    ) -> None:
        self._mask_keys = mask_keys
        self._zone = ZoneInfo(table.zone)
        self._any_case = table.any_case
        log = change_log_of(table.source)
        self._of_debezium = log is ChangeLog.DEBEZIUM
        self._has_envelope = self._of_debezium and flat_rows(table.source) is None
        self.records: RecordFormat = JsonRecords()
        is_judged = table.format in _JSON
        if table.format in _FRAMED and schemas is not None:
            self.records, is_judged = FramedRecords(table.format, table.wire_format, schemas), True
        is_judged = is_judged and not (table.sql or table.may_hold_several or log is ChangeLog.MAXWELL)
        self.columns = tuple(self._judged_columns(table)) if is_judged else ()
        self._of_schema = {column.name for column in self.columns}
        self._own: tuple[OwnForms, ...] = ()
        self._csv = CsvLine(table.csv) if table.format == "csv" and can_split(table.csv) else None
        of_value = [column.name for column in table.columns if column.part is RecordPart.VALUE]
        self._places = {name: place for place, name in enumerate(of_value)}
        if log is None and not (table.sql or table.may_hold_several):
            self._own = tuple(self._own_forms(table))
        forms = {own.column.name: own.type for own in self._own}
        self.types: Mapping[str, pa.DataType] = {c.name: c.type for c in self.columns} | forms
        """The columns that are judged."""

    def _own_forms(self, table: TableSettings) -> Iterator[OwnForms]:
        """Yield the columns whose values this package reads without a schema."""
        reads_values = self._csv is not None or (table.format in _JSON and not self._any_case)
        nulls = tuple(dict.fromkeys(("", *table.csv.nulls, table.csv.null_text)))
        for column in table.columns:
            is_value = column.part is RecordPart.VALUE
            if column.part is RecordPart.KEY and (table.key_format != "raw" or column.path):
                continue
            if has_own_forms(column, self._mask_keys) and (reads_values or not is_value):
                yield OwnForms(column, self._zone, self._mask_keys, nulls if is_value else ())

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that columns are judged by."""
        names = (own.column.path[0] for own in self._own if own.column.part is RecordPart.HEADER)
        return tuple(dict.fromkeys(names))

    @property
    def wants_keys(self) -> bool:
        """Whether columns are judged by the records' keys."""
        return any(own.column.part is RecordPart.KEY for own in self._own)

    def _judged_columns(self, table: TableSettings) -> Iterator[JudgedColumn]:
        is_json = table.format in _JSON
        for column in table.columns:
            dtype = parse_hive_type(column.type)
            kind = _kind(dtype)
            if (
                column.part is not RecordPart.VALUE
                or kind is None
                or (is_json and kind in ("integer", "string"))
                or column.leeway.json != "refuse"
                or (column.mask is not None and not is_judged(column.mask, self._mask_keys))
            ):
                continue
            paths = (column.keys, *column.leeway.others)
            if is_json and not self._of_debezium:
                paths = tuple(path[1:] for path in paths if path[0] == "payload")
            if paths:
                yield JudgedColumn(
                    name=column.name,
                    type=dtype,
                    kind=kind,
                    paths=paths,
                    unit=column.unit,
                    truncates=column.leeway.fraction == "truncate",
                    mask=column.mask,
                    may_be_beyond=column.leeway.beyond != "refuse",
                    takes_others=_takes_others(column),
                )

    def key(self, message: bytes) -> bytes | None:
        """Return what tells apart the schemas of records; empty for a record without one, None if it is not judged."""
        key = self.records.key(message) if self.columns else None
        return b"" if key is None and self._own else key

    def expected(
        self,
        message: bytes,
        key: bytes | None = None,
        headers: Mapping[str, bytes | None] = MappingProxyType({}),
    ) -> dict[str, Any] | None:
        """Return by column what the row of a message must have, a text if it must have no row.

        Columns of which nothing is known are missing. None if the message cannot be read by its schema.
        """
        found = self._by_own_forms(message, key, headers)
        if not self.columns or self.records.key(message) is None:
            return found if self._own else None
        try:
            record = self.records.read(message)
            if self._has_envelope:
                operation = record.members().get("op")
                image = "before" if operation is not None and operation.value == "d" else "after"
                record = self._member(record, image)
            values = ((c, expected(c, self._value(c, record), self._zone)) for c in self.columns)
            # the record's own schema counts before the map's keys
            found = {name: value for name, value in found.items() if name not in self._of_schema}
            return found | {c.name: self._masked(c, value) for c, value in values if value is not None}
        except (ValueError, ArithmeticError):
            return None

    def _by_own_forms(
        self, message: bytes, key: bytes | None, headers: Mapping[str, bytes | None]
    ) -> dict[str, Any]:
        """Return what rows must have in columns whose values are read without a schema."""
        fields, token = self._fields(message), self._token(message)
        found = {}
        for own in self._own:
            column = own.column
            with suppress(ValueError, ArithmeticError, LookupError, TypeError, RecursionError):
                if column.part is RecordPart.HEADER:
                    found[column.name] = own.of_text(_decoded(headers[column.path[0]]))
                elif column.part is RecordPart.KEY:
                    found[column.name] = own.of_text(_decoded(key))
                elif fields is not None:
                    found[column.name] = own.of_text(fields[self._places[column.name]])
                elif token is not None:
                    found[column.name] = own.of_message(token)
        return found

    def _fields(self, message: bytes) -> Sequence[str] | None:
        """Return the fields of a record in CSV; None if it is none, or has not a field for each column."""
        fields = None if self._csv is None else self._csv.fields(message)
        return fields if fields is not None and len(fields) == len(self._places) else None

    def _token(self, message: bytes) -> Token | None:
        """Return the object in a message in JSON, which may begin with the head of a registry's serializer."""
        if not isinstance(self.records, JsonRecords) or self._csv is not None:
            return None
        begin = max(message.find(b"{"), 0) if message[:1] in (b"\0", b"\3") else 0
        try:
            return token_of(message[begin:])
        except (ValueError, RecursionError):
            return None

    def _masked(self, column: JudgedColumn, value: Any) -> Any:
        return value if column.mask is None else masked(str(value), column.mask, self._mask_keys)

    def _value(self, column: JudgedColumn, record: RecordValue) -> RecordValue:
        for path in column.paths:
            value = record
            for key in path:
                value = self._member(value, key)
            if value.value is not None:
                return value
        return RecordValue(None)

    def _member(self, record: RecordValue, key: str) -> RecordValue:
        for name, member in record.members().items():
            if name == key or (self._any_case and name.lower() == key.lower()):
                return member
        return RecordValue(None)


def contradiction(expected: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return what is wrong with a row, empty if nothing is known to be wrong.

    Columns that `row` does not have are not judged, nor, by a schema, those that are NULL in it.
    """
    for name, value in expected.items():
        found = row.get(name)
        if isinstance(value, Exactly) and name in row and value != found:
            return (
                f"column {name} is {'NULL' if found is None else found}, the record's value makes it {value}"
            )
        if not isinstance(value, Exactly) and found is not None and value != found:
            return f"column {name} is {found}, the record's schema makes it {value}"
    return ""


def _decoded(text: bytes | None) -> str | None:
    return None if text is None else text.decode()


def _takes_others(column: Column) -> bool:
    leeway = column.leeway
    keys = (leeway.quoted, leeway.whole, leeway.beyond, leeway.numbers, leeway.time_pattern)
    return keys != ("refuse", "refuse", "refuse", None, ())


def _kind(dtype: pa.DataType) -> ColumnKind | None:
    if pa.types.is_timestamp(dtype):
        return "timestamp"
    if pa.types.is_date32(dtype):
        return "date"
    if pa.types.is_decimal128(dtype):
        return "decimal"
    if pa.types.is_integer(dtype):
        return "integer"
    return "string" if pa.types.is_string(dtype) else None
