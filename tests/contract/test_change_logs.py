"""Envelopes of change logs, as their tools document them: the row, its operation, time and position; or a dead letter."""

import datetime
import io
import json
import random
from decimal import Decimal
from functools import partial
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.change_logs.decoder import ENVELOPES, ChangeLogDecoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.plugins import Decoded
from tests.contract.change_log_records import (
    BEFORE,
    MARKS,
    RECORDS,
    REFUSED,
    ROW,
    Recorded,
    debezium,
    with_schema,
)
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.reasons import texts_of

_ROW_TYPES = {"id": "bigint", "name": "string", "total": "decimal(10,2)", "day": "date"}
_CHANGE_TYPES = {"__op": "string", "__ts_ms": "bigint", "__source_position": "string"}
SCHEMA = pa.schema([(name, parse_hive_type(kind)) for name, kind in {**_ROW_TYPES, **_CHANGE_TYPES}.items()])


def _decoder(way: str, log: ChangeLog, schema: pa.Schema = SCHEMA) -> ChangeLogDecoder:
    sources = [Source((name,), "d" if name == "day" else None) for name in schema.names]
    return ChangeLogDecoder(log, schema, sources, lambda columns, of: WAYS[way](columns, "UTC", of))


def _decode(decoder: ChangeLogDecoder, *records: Any) -> Decoded:
    values = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    decoded = decoder.decode(pa.array(values, pa.binary()))
    decoded.rows.validate(full=True)
    skipped = [] if decoded.without_rows is None else decoded.without_rows.to_pylist()
    every = sorted([*decoded.accepted.to_pylist(), *decoded.rejected.to_pylist(), *skipped])
    assert every == list(range(len(records))) and skipped == sorted(skipped)
    assert decoded.rows.schema == decoder.schema and len(decoded.rows) == len(decoded.accepted)
    return decoded


def _expected(recorded: Recorded) -> dict[str, Any]:
    number, name, total, day = recorded.row
    return {
        "id": number,
        "name": name,
        "total": None if total is None else Decimal(total),
        "day": None if day is None else datetime.date.fromisoformat(day),
        "__op": recorded.operation,
        "__ts_ms": recorded.time_ms,
        "__source_position": recorded.position,
    }


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("recorded", RECORDS, ids=lambda recorded: recorded.name)
def test_a_record_is_unpacked_with_and_without_its_schema(way: str, recorded: Recorded) -> None:
    for record in (recorded.record, with_schema(recorded.record)):
        decoded = _decode(_decoder(way, recorded.log), record)
        assert texts_of(decoded.reasons) == []
        assert decoded.rows.to_pylist() == [_expected(recorded)]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("log", "record", "code"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_is_no_change_is_refused_with_a_reason(way: str, log: ChangeLog, record: Any, code: str) -> None:
    for one in (record, with_schema(record)):
        (reason,) = texts_of(_decode(_decoder(way, log), one).reasons)
        assert reason.startswith(f"{code}: "), reason


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("log", ENVELOPES)
def test_whatever_comes_together_stays_in_order_and_is_the_same_as_alone(way: str, log: ChangeLog) -> None:
    draw = random.Random(12)
    others = [r for _, of, r, _ in (*REFUSED, *MARKS) if of is log]
    of_log = [r.record for r in RECORDS if r.log is log] + others
    alone = {json.dumps(r): _outcome(_decode(_decoder(way, log), r)) for r in of_log}
    decoder = _decoder(way, log)
    for _ in range(30):
        share = draw.random()
        records = [draw.choice(of_log) for _ in range(draw.randrange(40))]
        shown = [with_schema(r) if draw.random() < share else r for r in records]
        decoded = _decode(decoder, *shown)
        rows = dict(zip(decoded.accepted.to_pylist(), decoded.rows.to_pylist(), strict=True))
        reasons = dict(zip(decoded.rejected.to_pylist(), texts_of(decoded.reasons), strict=True))
        together = [rows.get(place, reasons.get(place)) for place in range(len(records))]
        assert [_code(o) for o in together] == [_code(alone[json.dumps(r)]) for r in records]
        assert decoded.accepted.to_pylist() == sorted(rows) and decoded.rejected.to_pylist() == sorted(
            reasons
        )


def _outcome(decoded: Decoded) -> Any:
    return (decoded.rows.to_pylist() or texts_of(decoded.reasons) or [None])[0]


def _code(outcome: Any) -> Any:
    """A row, or a reason's code: its path depends on where the envelope stands."""
    return outcome.partition(":")[0] if isinstance(outcome, str) else outcome


@pytest.mark.parametrize("way", EACH_WAY)
def test_the_position_of_ticdc_is_its_commit_timestamp(way: str) -> None:
    of_mysql = {"connector": "TiCDC", "file": "", "pos": 0, "row": 0}
    tids = [449_000_000_000_000_001, 449_000_000_000_000_000, 9]
    records = [debezium("c", None, {"id": 1}, of_mysql | {"commit_ts": tid}) for tid in tids]
    decoded = _decode(_decoder(way, ChangeLog.DEBEZIUM), *records, debezium("c", None, {"id": 1}, of_mysql))
    *positions, without = decoded.rows.column("__source_position").to_pylist()
    assert positions == [f"{tid:020}" for tid in tids]
    assert without == f":{0:020}:{0:010}"


@pytest.mark.parametrize("way", EACH_WAY)
def test_nested_values_of_both_images_are_taken_whole(way: str) -> None:
    nested = {
        "id": "bigint",
        "tags": "array<string>",
        "more": "map<string,int>",
        "deep": "struct<a:struct<b:int>>",
    }
    before = {"__before": "struct<id:bigint,name:string>"}
    types = {**nested, "__op": "string", **before}
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in types.items()])
    new = {"id": 1, "tags": ["x"], "more": {"k": 1}, "deep": {"a": {"b": 7}}}
    old = {"id": 2, "tags": [], "more": {}, "deep": None, "name": "old"}
    records = [debezium("d", old, None, {}), debezium("u", old, new, {}), debezium("t", None, None, {})]
    decoded = _decode(_decoder(way, ChangeLog.DEBEZIUM, schema), *records)
    was = {"id": 2, "name": "old"}
    assert decoded.rows.to_pylist() == [
        {"id": 2, "tags": [], "more": [], "deep": None, "__op": "d", "__before": was},
        {"id": 1, "tags": ["x"], "more": [("k", 1)], "deep": {"a": {"b": 7}}, "__op": "u", "__before": was},
        {"id": None, "tags": None, "more": None, "deep": None, "__op": "t", "__before": None},
    ]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_table_without_columns_of_the_row_takes_the_changes_that_have_one(way: str) -> None:
    decoder = _decoder(way, ChangeLog.DEBEZIUM, pa.schema([("__op", pa.string())]))
    records = [debezium("c", None, image, {}) for image in (ROW, None, {}, 5)] + [
        debezium("d", None, None, {})
    ]
    decoded = _decode(decoder, *records, *map(with_schema, records))
    assert decoded.accepted.to_pylist() == [0, 2, 4, 5, 7, 9]
    assert [r.partition(":")[0] for r in texts_of(decoded.reasons)] == ["change_log.row", "json.type"] * 2


def test_positions_sort_as_the_source_wrote_them() -> None:
    decoder = partial(_decoder, "exact", ChangeLog.DEBEZIUM)
    lsns = [9, 10, 2**40, 2**63 - 1]
    files = [("bin.000009", 900, 0), ("bin.000010", 5, 9), ("bin.000010", 5, 10), ("bin.000010", 40, 0)]
    by_lsn = [debezium("c", None, ROW, {"lsn": lsn}) for lsn in lsns]
    by_file = [debezium("c", None, ROW, {"file": f, "pos": p, "row": r}) for f, p, r in files]
    for records in (by_lsn, by_file):
        positions = _decode(decoder(), *records).rows.column("__source_position").to_pylist()
        assert positions == sorted(positions) and len(set(positions)) == len(positions)


def test_a_table_without_the_operation_is_refused() -> None:
    with pytest.raises(
        ValueError, match="__op of a table of debezium changes must be a column of type string"
    ):
        make_decoder(DecoderSpec("json", pa.schema([("id", pa.int64())]), change_log=ChangeLog.DEBEZIUM))
    assert BEFORE["id"] == ROW["id"]


_IMAGES = ("before", "after")
_ROW_SCHEMA = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "day", "type": {"type": "int", "connect.name": "io.debezium.time.Date"}},
    ],
}
_SOURCE_SCHEMA = {
    "type": "record",
    "name": "Source",
    "fields": [
        {"name": "lsn", "type": ["null", "long"]},
        {"name": "event_serial_no", "type": ["null", "long"]},
    ],
}
_ENVELOPE_SCHEMA = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", _ROW_SCHEMA]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "source", "type": _SOURCE_SCHEMA},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]},
    ],
}


def test_the_same_changes_in_avro_give_the_same_rows() -> None:
    parsed = fastavro.parse_schema(json.loads(json.dumps(_ENVELOPE_SCHEMA)))

    def encoded(record: dict[str, Any]) -> bytes:
        source = {"lsn": record["source"].get("lsn"), "event_serial_no": None}
        images = {
            name: record[name] and {**record[name], "total": Decimal(record[name]["total"])}
            for name in _IMAGES
        }
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, {**record, "source": source, **images})
        return out.getvalue()

    recorded = [r for r in RECORDS if r.name.startswith("postgres")]
    values = pa.array([encoded(r.record) for r in recorded], pa.binary())
    sources = [Source((name,), "d" if name == "day" else None) for name in SCHEMA.names]
    written = WriterSchema(AVRO, json.dumps(_ENVELOPE_SCHEMA))
    decoder = make_decoder(
        DecoderSpec("avro", SCHEMA, sources=sources, writers=written, change_log=ChangeLog.DEBEZIUM)
    )
    decoded = decoder.decode(values)
    assert texts_of(decoded.reasons) == []
    assert decoded.rows.to_pylist() == [_expected(r) for r in recorded]
