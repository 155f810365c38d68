"""Marks of change logs are neither rows nor dead letters: they are skipped, counted by kind, and leave their neighbours alone."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.decode import Changes, DecoderSpec, make_decoder
from kafka2hive.decode.change_logs.marks import mark_of
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.marks import MARK_WORDS
from kafka2hive.model.marks import MARKS as KINDS
from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.plugins import Decoded
from tests.contract.change_log_records import MARKS, RECORDS, ROW, debezium, with_schema
from tests.contract.test_canal import WATERMARK, flat

TYPES = {"id": "bigint", "name": "string", "total": "decimal(10,2)", "__op": "string"}
SCHEMA = pa.schema([(name, parse_hive_type(kind)) for name, kind in TYPES.items()])
CANAL: list[tuple[str, Any, str]] = [
    ("TiCDC's watermark", WATERMARK, "watermark"),
    ("alter", flat("ALTER", None, sql="alter table customers add x int"), "schema_change"),
    ("create", flat("CREATE", None, sql="create table customers (id int)"), "schema_change"),
    ("index", flat("CINDEX", None, sql="create index i on customers (id)"), "schema_change"),
    ("drop", flat("ERASE", None, sql="drop table customers"), "removal"),
    ("partition", flat("ALTER", None, sql="alter table c drop partition p0"), "removal"),
    ("database", flat("QUERY", None, sql="DROP DATABASE shop"), "removal"),
    ("heartbeat", flat("MHEARTBEAT", None, isDdl=False), "heartbeat"),
    ("transaction", flat("GTID", None, isDdl=False), "transaction"),
]
EVERY = [*MARKS, *((name, ChangeLog.CANAL, record, kind) for name, record, kind in CANAL)]


def decode(log: ChangeLog, values: list[bytes], **more: Any) -> tuple[Decoded, dict[str, int]]:
    changes = Changes()
    spec = DecoderSpec(more.pop("format", "json"), SCHEMA, change_log=log, changes=changes, **more)
    return make_decoder(spec).decode(pa.array(values, pa.binary())), dict(changes.take())


def skipped(decoded: Decoded) -> list[int]:
    return [] if decoded.without_rows is None else decoded.without_rows.to_pylist()


@pytest.mark.parametrize(("log", "record", "kind"), [m[1:] for m in EVERY], ids=[m[0] for m in EVERY])
def test_a_mark_is_skipped_and_counted_by_its_kind(log: ChangeLog, record: Any, kind: str) -> None:
    shapes = [record, with_schema(record)] if log is ChangeLog.DEBEZIUM else [record]
    for shape in shapes:
        decoded, counts = decode(log, [json.dumps(shape).encode()])
        assert (skipped(decoded), decoded.reasons, len(decoded.rows)) == ([0], [], 0)
        assert counts == {kind: 1}
        assert mark_of(log, shape) == kind


def test_every_kind_of_mark_has_a_case_and_is_documented() -> None:
    assert {kind for *_, kind in EVERY} == KINDS.keys() < MARK_WORDS.keys()
    page = Path("docs/decoding.md").read_text()
    assert [kind for kind in MARK_WORDS if f"`{kind}`" not in page] == []


@pytest.mark.parametrize("prefixed", [False, True])
def test_rows_among_many_marks_are_decoded_in_their_order(prefixed: bool) -> None:
    marks = [record for _, log, record, _ in MARKS if log is ChangeLog.DEBEZIUM]
    rows = [debezium("c", None, ROW | {"id": number}, {}) for number in range(25)]
    records = [one for number, row in enumerate(rows) for one in (*marks[number % 3 :][:3], row)]
    values = [json.dumps(with_schema(r) if prefixed else r).encode() for r in records]
    decoded, counts = decode(ChangeLog.DEBEZIUM, values)
    assert decoded.rows.column("id").to_pylist() == list(range(25))
    assert sorted([*decoded.accepted.to_pylist(), *skipped(decoded)]) == list(range(100))
    assert sum(counts.values()) == 75 and not decoded.reasons


def test_watermarks_between_the_rows_of_canal_are_skipped() -> None:
    row = flat("INSERT", [{"id": "1"}, {"id": "2"}])
    values = [json.dumps(one).encode() for one in (WATERMARK, row, WATERMARK, WATERMARK)]
    decoded, counts = decode(ChangeLog.CANAL, values)
    assert (decoded.accepted.to_pylist(), skipped(decoded)) == ([1, 1], [0, 2, 3])
    assert counts == {"watermark": 3}


def test_a_truncation_is_a_row_and_is_counted() -> None:
    of_postgres = next(r.record for r in RECORDS if r.name == "postgres truncate")
    for log, record in ((ChangeLog.DEBEZIUM, of_postgres), (ChangeLog.CANAL, flat("TRUNCATE", None))):
        decoded, counts = decode(log, [json.dumps(record).encode()])
        assert decoded.rows.column("__op").to_pylist() == ["t"]
        assert counts == {"truncation": 1}


def test_marks_after_the_id_of_a_schema_are_skipped() -> None:
    values = [b"\0\0\0\0{" + json.dumps(one).encode() for one in ({"ts_ms": 1}, debezium("c", None, ROW, {}))]
    decoded, counts = decode(ChangeLog.DEBEZIUM, [*values, b'{"ts_ms":1}'], format="json_schema")
    assert (skipped(decoded), decoded.accepted.to_pylist()) == ([0], [1])
    assert [reason.code for reason in decoded.reasons] == ["json.frame"] and counts == {"heartbeat": 1}


def record_schema(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


ROW_SCHEMA = record_schema("Value", id="long", name="string")
AVRO_SCHEMAS = {
    1: record_schema("Envelope", op="string", before=["null", ROW_SCHEMA], after=["null", "Value"]),
    2: record_schema("Heartbeat", ts_ms="long"),
    3: record_schema("TransactionMetadataValue", status="string", id="string", event_count=["null", "long"]),
    4: record_schema("Row", id="long", ts_ms="long"),
}


class Registry:
    def get(self, schema_id: object) -> WriterSchema | None:
        assert isinstance(schema_id, int)
        return WriterSchema(AVRO, json.dumps(AVRO_SCHEMAS[schema_id]))


def test_marks_in_avro_are_known_by_the_fields_of_their_schema() -> None:
    records: list[tuple[int, dict[str, Any]]] = [
        (1, {"op": "c", "before": None, "after": {"id": 7, "name": "Anne"}}),
        (2, {"ts_ms": 5}),
        (3, {"status": "BEGIN", "id": "571", "event_count": None}),
        (1, {"op": "m", "before": None, "after": None}),
        (4, {"id": 7, "ts_ms": 5}),
    ]
    values = []
    for number, record in records:
        out = io.BytesIO(b"\0" + number.to_bytes(4, "big"))
        out.seek(5)
        fastavro.schemaless_writer(out, fastavro.parse_schema(AVRO_SCHEMAS[number]), record)
        values.append(out.getvalue())
    decoded, counts = decode(ChangeLog.DEBEZIUM, values, format="avro", writers=Registry())
    assert (decoded.accepted.to_pylist(), skipped(decoded)) == ([0], [1, 2, 3])
    assert [reason.code for reason in decoded.reasons] == ["change_log.op"]
    assert counts == {"heartbeat": 1, "transaction": 1, "message": 1}
