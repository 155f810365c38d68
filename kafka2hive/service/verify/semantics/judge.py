"""Judge rows by the schemas of their records.

The deep audit decodes records with the same decoder as a run, so a wrong unit or scale is the same mistake on both sides.
This package shares no code with the decoders: it reads some records of each schema, and says which times, decimals, integers
and UUIDs their rows must have, and which times the map's own patterns make of texts in JSON without a schema. It does not
judge values within arrays, maps and structs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import pyarrow as pa

from kafka2hive.config.keys import ChangeLog, TableSettings
from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.config.keys.source import change_log_of, flat_rows
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.service.verify.semantics.framing import FramedRecords, SchemaById
from kafka2hive.service.verify.semantics.json import JsonRecords
from kafka2hive.service.verify.semantics.masks import is_judged, masked
from kafka2hive.service.verify.semantics.texts import TextTimes
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
        self._texts: dict[str, TextTimes] = {}
        is_plain = table.format == "json" and (table.compression, table.encoding) == ("none", "utf-8")
        if is_judged and is_plain and log is None and not self._any_case:
            texts = [column for column in table.columns if _has_own_forms(column)]
            kinds = {column.name: parse_hive_type(column.type) for column in texts}
            self._texts = {c.name: TextTimes(c, self._zone, pa.types.is_date(kinds[c.name])) for c in texts}
            others = {column.name for column in self.columns}
            self.columns += tuple(
                JudgedColumn(
                    name=name,
                    type=dtype,
                    kind=_MOMENT_KINDS[pa.types.is_date(dtype)],
                    paths=(),
                    unit=None,
                    truncates=False,
                    may_be_beyond=False,
                )
                for name, dtype in kinds.items()
                if name not in others
            )

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
        key = self.records.key(message)
        return b"" if key is None and self._texts else key

    def expected(self, message: bytes) -> dict[str, Any] | None:
        """Return by column what the row of a message must have, a text if it must have no row.

        Columns of which nothing is known are missing. None if the message cannot be read by its schema.
        """
        try:
            if self._texts and self.records.key(message) is None:
                texts = ((name, times.expected(message)) for name, times in self._texts.items())
                return {name: value for name, value in texts if value is not None}
            record = self.records.read(message)
            if self._has_envelope:
                operation = record.members().get("op")
                image = "before" if operation is not None and operation.value == "d" else "after"
                record = self._member(record, image)
            values = ((c, expected(c, self._value(c, record), self._zone)) for c in self.columns)
            return {c.name: self._masked(c, value) for c, value in values if value is not None}
        except (ValueError, ArithmeticError):
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

    Columns that `row` does not have, or that are NULL in it, are not judged.
    """
    for name, value in expected.items():
        if row.get(name) is not None and value != row[name]:
            return f"column {name} is {row[name]}, the record's schema makes it {value}"
    return ""


_MOMENT_KINDS: tuple[ColumnKind, ColumnKind] = ("timestamp", "date")


def _has_own_forms(column: Column) -> bool:
    leeway = column.leeway
    is_own = bool(leeway.time_pattern) or leeway.time_of_day != "refuse" or leeway.epoch != "whole"
    return is_own and column.part is RecordPart.VALUE


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
