"""Marks in the topics of change logs: messages by which the tool reports its progress, and which change no row.

Marks are skipped and counted by kind. Only messages that are known to be marks are: any other message without a change of a row
becomes a dead letter.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import ChangeLog, WireFormat
from kafka2hive.decode.contract.spec import Changes, DecoderSpec
from kafka2hive.decode.framing.frames import heads
from kafka2hive.decode.schemas.avro import AvroSchema, Record, parse
from kafka2hive.decode.values.batch import Mask, Places, mask_of
from kafka2hive.model.marks import (
    BOOTSTRAP,
    HEARTBEAT,
    LOGICAL_MESSAGE,
    REMOVAL,
    SCHEMA_CHANGE,
    TRANSACTION,
    TRUNCATION,
    WATERMARK,
)
from kafka2hive.model.writer_schema import AVRO, WriterSchema

TRUNCATE = "t"
"""The operation of a row that stands for a truncation of the database's table."""
_OPERATIONS = {"m": LOGICAL_MESSAGE}
_CANAL_TYPES = {
    "TIDB_WATERMARK": WATERMARK,
    "MHEARTBEAT": HEARTBEAT,
    "GTID": TRANSACTION,
    "XACOMMIT": TRANSACTION,
    "XAROLLBACK": TRANSACTION,
}
_CANAL_STATEMENTS = frozenset({"CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX", "QUERY"})
_MAXWELL_TYPES = {
    "bootstrap-start": BOOTSTRAP,
    "bootstrap-complete": BOOTSTRAP,
    "heartbeat": HEARTBEAT,
}
_MAXWELL_STATEMENTS = frozenset(
    f"{what}-{change}" for what in ("table", "database") for change in ("create", "alter", "drop")
)
_TIME_KEYS = frozenset({"ts_ms", "ts_us", "ts_ns"})
_TRANSACTION_KEYS = _TIME_KEYS | {"status", "id", "event_count", "data_collections"}
_SCHEMA_KEYS = _TIME_KEYS | {"source", "databaseName", "schemaName", "ddl", "tableChanges"}
_REMOVES = re.compile(
    r"\s*(?:drop\s+(?:table|database|schema)|truncate)\b|.*\b(?:drop|truncate|exchange)\s+partition\b",
    re.I | re.S,
)

Document = Mapping[str, Any]


def mark_of(log: ChangeLog, document: Document) -> str | None:
    """Return the kind of mark that the message's document is; None if it is not known to be a mark."""
    if log is ChangeLog.CANAL:
        return _canal_mark(document)
    payload = document.get("payload") if document.keys() <= {"schema", "payload"} else document
    if not isinstance(payload, Mapping):
        return None
    return _debezium_mark(payload) if log is ChangeLog.DEBEZIUM else _maxwell_mark(payload)


def _canal_mark(document: Document) -> str | None:
    kind = document.get("type")
    if document.get("data") or not isinstance(kind, str):
        return None
    if kind in _CANAL_STATEMENTS and document.get("isDdl") is True:
        return _of_statement(document.get("sql"), removes=kind == "ERASE")
    return _CANAL_TYPES.get(kind)


def _maxwell_mark(document: Document) -> str | None:
    kind = document.get("type")
    if document.get("data") or not isinstance(kind, str):
        return None
    if kind in _MAXWELL_STATEMENTS:
        return _of_statement(document.get("sql"), removes=kind.endswith("-drop"))
    return _MAXWELL_TYPES.get(kind)


def _debezium_mark(document: Document) -> str | None:
    if document.get("op") == "m":
        return LOGICAL_MESSAGE
    kind = _kind_by_keys(document.keys())
    if kind == TRANSACTION and document["status"] not in ("BEGIN", "END"):
        return None
    return _of_statement(document["ddl"], removes=False) if kind == SCHEMA_CHANGE else kind


def _kind_by_keys(keys: Set[str]) -> str | None:
    """Return the kind of a message of Debezium without an operation, which has exactly the documented keys."""
    if {"ts_ms"} <= keys <= _TIME_KEYS:
        return HEARTBEAT
    if {"status", "id"} <= keys <= _TRANSACTION_KEYS:
        return TRANSACTION
    return SCHEMA_CHANGE if {"source", "databaseName", "ddl"} <= keys <= _SCHEMA_KEYS else None


def _of_statement(sql: object, removes: bool) -> str:
    return REMOVAL if removes or (isinstance(sql, str) and _REMOVES.match(sql)) else SCHEMA_CHANGE


class Marks:
    """Finds the marks among messages without a known change of a row, and counts them."""

    def __init__(self, log: ChangeLog, spec: DecoderSpec | None = None) -> None:
        """`spec`: the specification of the messages' decoder; None: the messages are JSON, and nothing counts marks."""
        self._log = log
        self._format = "json" if spec is None else spec.format
        self._wire = WireFormat() if spec is None else spec.wire
        self._writers = None if spec is None else spec.writers
        self._changes = Changes() if spec is None else spec.changes

    def among(self, values: pa.BinaryArray, operations: Sequence[str | None]) -> Mask:
        """Return the mask of the messages that are marks. `operations`: the operation of each message, as its tool names it."""
        kinds = [
            kind if operation is None or self._log is not ChangeLog.DEBEZIUM else _OPERATIONS.get(operation)
            for kind, operation in zip(self._kinds(values), operations, strict=True)
        ]
        for kind, messages in Counter(kinds).items():
            if kind is not None:
                self._changes.add(kind, messages)
        return np.array([kind is not None for kind in kinds], np.bool_)

    def note_truncations(self, operations: pa.StringArray) -> None:
        """Count the truncations among the letters of rows. They are rows, but they also say that earlier rows are gone."""
        if mask_of(truncations := pc.equal(operations, TRUNCATE)).any():
            self._changes.add(TRUNCATION, pc.sum(truncations).as_py())

    def _kinds(self, values: pa.BinaryArray) -> list[str | None]:
        """Return the kind of each message, as far as its content says it."""
        kinds: list[str | None] = [None] * len(values)
        if self._format == "json":
            return [self._of_json(value) for value in values.to_pylist()]
        if self._format == "json_schema":
            for head, places in heads(values, self._wire.framing):
                if head.schema_id is not None:
                    for place in places.tolist():
                        kinds[place] = self._of_json(values[place].as_py()[head.length :])
        elif self._format == "avro" and self._log is ChangeLog.DEBEZIUM:
            for places, kind in self._of_schemas(values):
                for place in places.tolist():
                    kinds[place] = kind
        return kinds

    def _of_json(self, message: bytes) -> str | None:
        try:
            document = orjson.loads(message)
        except orjson.JSONDecodeError:
            return None
        return mark_of(self._log, document) if isinstance(document, dict) else None

    def _of_schemas(self, values: pa.BinaryArray) -> Iterator[tuple[Places, str | None]]:
        """Yield the places of messages with the same Avro schema, and the kind of mark that the schema's fields say."""
        if isinstance(self._writers, WriterSchema) or self._writers is None:
            return  # the one schema of all messages is that of the envelopes
        for head, places in heads(values, self._wire.framing):
            writer = None if head.schema_id is None else self._writers.get(head.schema_id)
            if writer is not None and writer.kind == AVRO:
                yield places, _kind_by_keys(_field_names(parse(writer)))


def _field_names(schema: AvroSchema) -> frozenset[str]:
    root = schema.definition(schema.root)
    return frozenset(field.name for field in root.fields) if isinstance(root, Record) else frozenset()
