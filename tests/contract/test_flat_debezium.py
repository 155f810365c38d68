"""Debezium's rows as ExtractNewRecordState writes them: operation, deletion and position are among the row's own fields."""

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.source import FlatRows
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes, UnavailableValues
from kafka2hive.plugins import Decoder, Reason
from tests.contract.avro_ways import Registry, framed
from tests.contract.avro_ways import record as record_schema
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import outcomes_of

ROW = pa.schema([("id", pa.int64()), ("name", pa.string()), ("fee", pa.decimal128(9, 2))])
CHANGE = [("__op", pa.string()), ("__ts_ms", pa.int64()), ("__source_position", pa.string())]
SCHEMA = pa.schema([*ROW, *CHANGE])
WAYS = ["exact", pytest.param("compiled", marks=needs_compiled)]
LSN = "00000000000000000077"


def decoder(position: bool = True, **more: Any) -> Decoder:
    spec = {
        "format": "json",
        "schema": SCHEMA,
        "change_log": ChangeLog.DEBEZIUM,
        "flat": FlatRows(position),
        "decimals": "text",
    }
    return make_decoder(DecoderSpec(**(spec | more)))


def record(**more: Any) -> bytes:
    return json.dumps({"id": 1, "name": "a", "fee": "1.50", **more}).encode()


def found(made: Decoder, *messages: bytes) -> list[Any]:
    """The columns of the change, or the code of the reason, for each message."""
    outcomes = outcomes_of(made, messages)
    return [one.code if isinstance(one, Reason) else one[0][-3:] if one else "mark" for one in outcomes]


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "exact":
        monkeypatch.setattr("kafka2hive.decode.json.LIBRARY", None)
        monkeypatch.setattr("kafka2hive.decode.json.of_records.__defaults__", (None,))
    return str(request.param)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"__op": "c", "__deleted": "false"}, "c"),
        ({"__op": "u", "__deleted": "false"}, "u"),
        ({"__op": "r", "__deleted": None}, "r"),
        ({"__op": "d", "__deleted": "true"}, "d"),
        ({"__op": "c"}, "c"),
        ({"__op": "d"}, "d"),
        ({"__deleted": "false"}, "u"),
        ({"__deleted": "true"}, "d"),
        ({}, "change_log.op"),
        ({"__op": None, "__deleted": None}, "change_log.op"),
        ({"__op": "d", "__deleted": "false"}, "change_log.op"),
        ({"__op": "u", "__deleted": "true"}, "change_log.op"),
        ({"__op": "x"}, "change_log.op"),
        ({"__op": "t"}, "change_log.op"),
        ({"__op": ""}, "change_log.op"),
        ({"__deleted": "TRUE"}, "change_log.op"),
        ({"__op": "c", "__deleted": "no"}, "change_log.op"),
        ({"__deleted": True}, "json.type"),
        ({"__op": 1}, "json.type"),
    ],
)
def test_an_operation_is_that_of_both_fields_or_a_dead_letter(fields: dict[str, Any], outcome: str) -> None:
    (one,) = found(decoder(), record(__lsn=77, **fields))
    assert (one[0] if isinstance(one, list) else one) == outcome


@pytest.mark.parametrize(
    ("fields", "position"),
    [
        ({"__lsn": 77}, LSN),
        ({"__source_lsn": 77}, LSN),
        ({"__file": "bin.7", "__pos": 12, "__row": 1}, "bin.7:00000000000000000012:0000000001"),
        ({"__source_file": "bin.7", "__source_pos": 12}, "bin.7:00000000000000000012:0000000000"),
        ({"__commit_lsn": "0a", "__change_lsn": "0b", "__event_serial_no": 1}, "0a:0b:0000000001"),
        ({"__scn": "5"}, "5".zfill(20)),
        ({}, "change_log.position"),
        ({"__file": "bin.7"}, "change_log.position"),
        ({"__lsn": "x"}, "json.type"),
    ],
)
def test_a_position_is_that_of_the_source_or_a_dead_letter(fields: dict[str, Any], position: str) -> None:
    message = record(__op="c", __ts_ms=5, **fields)
    (one,) = found(decoder(), message)
    assert one == (["c", 5, position] if "." not in position or ":" in position else position)
    # without the key there is none, whatever the record has: offsets alone decide
    assert found(decoder(position=False), message) == [["c", 5, None]]


def test_the_rows_own_columns_are_those_of_the_record() -> None:
    (rows,) = outcomes_of(decoder(position=False), [record(__deleted="true", other=[1])])
    assert [str(value) for value in rows[0]] == ["1", "a", "1.50", "d", "None", "None"]


def test_records_with_their_schema_and_without_are_read_record_by_record() -> None:
    name = "org.apache.kafka.connect.data.Decimal"
    fee = {"field": "fee", "type": "bytes", "name": name, "parameters": {"scale": "2"}}
    schema = {"type": "struct", "fields": [fee]}
    with_schema = {"schema": schema, "payload": {"id": 2, "fee": "AJY=", "__op": "u", "__lsn": 77}}
    messages = [json.dumps(with_schema).encode(), record(__op="c", __lsn=77)] * 3
    outcomes = outcomes_of(decoder(decimals=None), messages)
    assert [(one[0][0], str(one[0][2]), one[0][3]) for one in outcomes] == [
        (2, "1.50", "u"),
        (1, "1.50", "c"),
    ] * 3


def test_a_decimal_that_may_be_bytes_is_not_guessed() -> None:
    message = record(fee="1990", __op="c", __lsn=1)
    assert found(decoder(decimals=None), message) == ["change_log.decimal"]
    assert isinstance(found(decoder(decimals="text"), message)[0], list)
    assert isinstance(found(decoder(decimals="base64"), record(fee="AJY=", __op="c", __lsn=1))[0], list)


def test_marks_pass_the_transformation_and_are_skipped_and_counted() -> None:
    changes = Changes()
    made = decoder(changes=changes)
    marks = [
        {"ts_ms": 5},
        {"status": "BEGIN", "id": "1"},
        {"source": {}, "databaseName": "shop", "ddl": "ALTER TABLE t", "tableChanges": []},
        {"source": {}, "databaseName": "shop", "ddl": "DROP TABLE t"},
    ]
    messages = [json.dumps(mark).encode() for mark in marks]
    others = [record(__op="c", __lsn=77), b'{"id":1}']
    assert found(made, *messages, *others) == ["mark"] * 4 + [["c", None, LSN], "change_log.op"]
    assert dict(changes.take()) == {"heartbeat": 1, "transaction": 1, "schema_change": 1, "removal": 1}


def test_an_envelope_is_no_flat_row() -> None:
    envelope = {"op": "c", "after": {"id": 1}, "source": {"lsn": 1}, "ts_ms": 1}
    assert found(decoder(), json.dumps(envelope).encode()) == ["change_log.op"]


def test_placeholders_are_found_as_in_envelopes() -> None:
    message = record(name="__debezium_unavailable_value", __op="u", __lsn=1)
    assert found(decoder(), message) == ["change_log.unavailable"]
    schema = pa.schema([*SCHEMA, ("__unavailable", pa.list_(pa.string()))])
    (rows,) = outcomes_of(decoder(schema=schema, unavailable=UnavailableValues(is_marked=True)), [message])
    assert (rows[0][1], rows[0][-1]) == (None, ["name"])


def test_reasons_say_what_is_wrong() -> None:
    messages = [
        record(),
        record(__op="x"),
        record(__op="d", __deleted="false"),
        record(__deleted="no"),
        record(__op="c"),
    ]
    texts = [str(one) for one in outcomes_of(decoder(), messages)]
    assert [text.partition(":")[2][:36].strip() for text in texts] == [
        "neither $.__op nor $.__deleted, nor",
        "unknown operation 'x'",
        "__op is 'd', but __deleted is false",
        "__deleted is 'no', not true or fals",
        "no position, such as $.__lsn: add.f",
    ]


def test_avro_has_the_same_fields() -> None:
    text, number = ["null", "string"], ["null", "long"]
    written = record_schema(id="long", __op=text, __deleted=text, __lsn=number)
    rows: list[dict[str, Any]] = [
        {"id": 1, "__op": "c", "__deleted": "false", "__lsn": 77},
        {"id": 1, "__op": None, "__deleted": "true", "__lsn": 78},
        {"id": 1, "__op": None, "__deleted": None, "__lsn": 79},
        {"id": 1, "__op": "u", "__deleted": None, "__lsn": None},
    ]
    messages = []
    for row in rows:
        data = io.BytesIO()
        fastavro.schemaless_writer(data, fastavro.parse_schema(written), row)
        messages.append(framed(7, data.getvalue()))
    schema = pa.schema([("id", pa.int64()), *CHANGE])
    made = decoder(format="avro", schema=schema, writers=Registry(id7=written), decimals=None)
    assert found(made, *messages) == [
        ["c", None, LSN],
        ["d", None, "78".zfill(20)],
        "change_log.op",
        "change_log.position",
    ]


def test_a_batch_may_mix_both_places_of_the_row_in_any_order() -> None:
    made = decoder(sources=[*(Source((name,)) for name in SCHEMA.names)])
    inner = json.loads(record(__op="c", __lsn=77))
    wrapped = json.dumps({"payload": inner}).encode()
    for some in ([wrapped] * 5, [record(__op="c", __lsn=77), wrapped, b"{}", wrapped]):
        wanted = ["change_log.op" if one == b"{}" else ["c", None, LSN] for one in some]
        assert found(made, *some) == wanted
