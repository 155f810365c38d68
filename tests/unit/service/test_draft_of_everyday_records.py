"""`sample` on records as people have them: the drafted map decodes all of them, to exactly these rows."""

import datetime
import json
import uuid
import zlib
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.load import load_text
from kafka2hive.decode import Changes, make_decoder
from kafka2hive.decode.transport.contents import Transport
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.service.draft.draft import TopicSample, draft_table
from kafka2hive.service.draft.framed_records import framed_records
from kafka2hive.service.draft.map_text import Draft
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.topics.routes import routed_tables
from kafka2hive.service.wiring import wire
from kafka2hive.task.rows import value_spec

NOON = 1_706_700_000_000
GUID = uuid.UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def values_of(records: list[Any]) -> list[bytes]:
    texts = [one if isinstance(one, bytes | str) else json.dumps(one) for one in records]
    return [text if isinstance(text, bytes) else text.encode() for text in texts]


def drafted(records: list[Any], repeats: int = 4) -> tuple[str, list[dict[str, Any]], list[str]]:
    """The map's text, the rows that it makes of the records, each of which comes several times, and the reasons of letters."""
    values = values_of(records)
    topic = TopicPartition("everyday", 0)
    many = values * repeats
    times: list[int | None] = [NOON + 1_000 * number for number in range(len(many))]
    sample = TopicSample((OffsetRange(topic, 0, len(many)),), 1, 0, many, [0] * len(many), times)
    empty = Draft(topic=topic.topic, kafka={"bootstrap.servers": "127.0.0.1:9092"})
    text = draft_table(empty, sample, None, {}, None).text()
    wiring = wire(load_text(text, "draft.yaml", {}))
    (table,) = routed_tables(wiring, [topic.topic])
    settings = Catalogue(wiring.map, None).resolve(table)
    contents = Transport(settings.compression, settings.encoding, settings.framing).all_contents(
        pa.array(values, pa.binary())
    )
    decoded = make_decoder(value_spec(settings, None, Changes())).decode(contents.values)
    reasons = [*map(str, contents.refusals.values()), *map(str, decoded.reasons)]
    return text, decoded.rows.to_pylist(), reasons


def connect(x: Any, until: int) -> dict[str, Any]:
    """A record of Kafka Connect's JSON converter, with its schema."""
    time = {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "field": "until"}
    fields = [{"type": "double", "field": "x"}, time]
    return {"schema": {"type": "struct", "fields": fields}, "payload": {"x": x, "until": until}}


PUT = {"eventName": "Put", "eventTime": "2024-01-31T10:00:01Z"}
EVERYDAY: dict[str, tuple[list[Any], list[str], list[dict[str, Any]]]] = {
    "a cloud's audit log, with messages without events": (
        [
            {"Records": [{"eventName": "Get", "eventTime": "2024-01-31T10:00:00Z"}, PUT]},
            {"Records": []},
        ],
        ['rows: {array: "$.Records"}', "eventTime: timestamp", "bucket: {field: eventTime,"],
        [
            {"eventName": "Get", "eventTime": at("2024-01-31T10:00:00")},
            {"eventName": "Put", "eventTime": at("2024-01-31T10:00:01")},
        ],
    ),
    "times that half of the records lack": (
        [{"id": 1, "first": "2024-01-31T10:00:00Z"}, {"id": 2}],
        ["buckets are by Kafka's own timestamps: first (", 'bucket: {path: "dt=%Y-%m-%d"}'],
        [{"id": 1, "first": at("2024-01-31T10:00:00")}, {"id": 2, "first": None}],
    ),
    "times of .NET, with seven digits": (
        [{"time": "2024-01-31T10:00:00.1234567Z"}, {"time": "2024-01-31T10:00:00Z"}],
        ["time: {type: timestamp, fraction: truncate}", "bucket: {field: time,"],
        [{"time": at("2024-01-31T10:00:00.123456")}, {"time": at("2024-01-31T10:00:00")}],
    ),
    "epochs in quotes": (
        [
            {"ts": "1706695200.25", "created": "1706695200", "updated_at": "1706695200123", "id": "7"},
            {"ts": "1706695201", "created": 1706695201, "updated_at": "1706695201000", "id": "8"},
        ],
        [
            "ts: {type: timestamp, unit: s, epoch: decimal, quoted: accept}",
            "created: {type: timestamp, unit: s, quoted: accept}",
            "updated_at: {type: timestamp, unit: ms, quoted: accept}",
            "all values of $.id are numbers in quotes, which stay texts",
        ],
        [
            {
                "ts": at("2024-01-31T10:00:00.25"),
                "created": at("2024-01-31T10:00:00"),
                "updated_at": at("2024-01-31T10:00:00.123"),
                "id": "7",
            },
            {
                "ts": at("2024-01-31T10:00:01"),
                "created": at("2024-01-31T10:00:01"),
                "updated_at": at("2024-01-31T10:00:01"),
                "id": "8",
            },
        ],
    ),
    "nanoseconds in quotes, as OpenTelemetry writes them": (
        [{"timeUnixNano": "1706695200123456789"}],
        ["timeUnixNano: {type: timestamp, unit: ns, quoted: accept, fraction: truncate}"],
        [{"timeUnixNano": at("2024-01-31T10:00:00.123456")}],
    ),
    "labels, whose keys no struct can have": (
        [{"pod": {"name": "a", "labels": {"app.io/name": "x", "tier": "1"}, "env": []}, "status": {}}],
        [
            'pod: "struct<name:string,labels:map<string,string>>"',
            "status: {type: string, json: text}",
            "$.pod.env is empty in every record: left out",
            "$.status is empty in every record: json: text keeps what it will hold",
        ],
        [{"pod": {"name": "a", "labels": [("app.io/name", "x"), ("tier", "1")]}, "status": "{}"}],
    ),
    "labels of several kinds within others": (
        [{"pod": {"labels": {"app.io/name": "x", "app.io/size": 1.50}}}],
        ["pod: {type: string, json: text}"],
        [{"pod": '{"labels": {"app.io/name": "x", "app.io/size": 1.5}}'}],
    ),
    "documents of MongoDB": (
        [
            '{"_id": {"$oid": "65ba"}, "n": {"$numberLong": "12"}, "d": {"$numberDecimal": "1.10"},'
            ' "at": {"$date": "2024-01-31T10:00:00.5Z"}, "x": {"$numberDouble": "NaN"}, "u": {"$numberInt": "3"},'
            ' "old": {"$date": {"$numberLong": "-1"}}, "b": {"$binary": {"base64": "YQ==", "subType": "00"}}}'
        ],
        [
            "are MongoDB's extended JSON",
            "_id: {type: string, from: \"$._id['$oid']\"}",
            "bucket: {field: at,",
        ],
        [
            {
                "_id": "65ba",
                "n": 12,
                "d": "1.10",
                "at": at("2024-01-31T10:00:00.5"),
                "x": None,
                "u": 3,
                "old": at("1969-12-31T23:59:59.999"),
                "b": b"a",
            }
        ],
    ),
    "a collection's change, with a document within": (
        [
            {"op": "insert", "doc": {"_id": {"$oid": "65ba"}, "at": {"$date": 1706695200000}, "n": 1}},
            {"op": "insert", "doc": {"_id": {"$oid": "65bb"}, "at": {"$date": 1706695201000}, "n": 2}},
        ],
        ["doc_at: {type: timestamp, from: \"$.doc.at['$date']\", unit: ms}"],
        [
            {"op": "insert", "doc_id": "65ba", "doc_at": at("2024-01-31T10:00:00"), "doc_n": 1},
            {"op": "insert", "doc_id": "65bb", "doc_at": at("2024-01-31T10:00:01"), "doc_n": 2},
        ],
    ),
    "members that only look like extended JSON": (
        [
            {
                "a": {"$oid": 1},
                "b": {"$numberLong": "x"},
                "c": {"$date": {"$x": 1}},
                "d": {"$binary": {"x": 1}},
            }
        ],
        ['a: "struct<$oid:bigint>"', "b: {type: string, from: \"$.b['$numberLong']\"}"],
        [
            {
                "a": {"$oid": 1},
                "b": "x",
                "c": {"$date": {"$x": 1}},
                "d": {"$binary": {"x": 1}},
            }
        ],
    ),
    "validity without an end": (
        [
            {"until": "infinity", "seen": "2024-01-31T10:00:00Z"},
            {"until": "2024-02-01T00:00:00Z", "seen": "2024-01-31T10:00:01Z"},
        ],
        ["until: {type: timestamp, beyond: clamp}", "bucket: {field: seen,"],
        [
            {"until": at("9999-12-31T23:59:59.999999"), "seen": at("2024-01-31T10:00:00")},
            {"until": at("2024-02-01T00:00:00"), "seen": at("2024-01-31T10:00:01")},
        ],
    ),
    "a database's rows alone, without the time of the change": (
        [{"id": 1, "__deleted": "false"}, {"id": 1, "__deleted": "true"}],
        ["source: {debezium: {form: flat}}", "bucket: {time: record,", "without __ts_ms"],
        [
            {"id": 1, "__op": "u", "__ts_ms": None, "__source_position": None},
            {"id": 1, "__op": "d", "__ts_ms": None, "__source_position": None},
        ],
    ),
    "a German export in ISO-8859-1": (
        [
            "4711;M\u00fcller;1.234,56;31.01.2024;X".encode("latin-1"),
            "4712;B\u00e4cker;-99,00;01.02.2024;".encode("latin-1"),
        ],
        [
            "encoding: windows-1252",
            "windows-1252 is a guess",
            'csv: {delimiter: ";"}',
            'field_3: {type: double, numbers: {thousands: ".", decimal: ","}}',
            'field_4: {type: date, time_pattern: "dd.MM.yyyy"}',
        ],
        [
            {
                "field_1": 4711,
                "field_2": "M\u00fcller",
                "field_3": 1234.56,
                "field_4": day("2024-01-31"),
                "field_5": "X",
            },
            {
                "field_1": 4712,
                "field_2": "B\u00e4cker",
                "field_3": -99.0,
                "field_4": day("2024-02-01"),
                "field_5": None,
            },
        ],
    ),
    "double bars and several words for NULL": (
        ["1||Ann||N/A||12.5", "2||Bob||NULL||-"],
        ['csv: {delimiter: "||", nulls: ["", "-", "NULL"]}', "field_4: double"],
        [
            {"field_1": 1, "field_2": "Ann", "field_3": "N/A", "field_4": 12.5},
            {"field_1": 2, "field_2": "Bob", "field_3": None, "field_4": None},
        ],
    ),
    "a text file of Hive": (
        ["1\x01Ann\x01\\N", "2\x01\\N\x01NaN", "3\x01Eve\x011.5"],
        ['csv: {delimiter: "\\u0001", nulls: ["", "\\\\N"]}', "field_3: {type: double, non_finite: null}"],
        [
            {"field_1": 1, "field_2": "Ann", "field_3": None},
            {"field_1": 2, "field_2": None, "field_3": None},
            {"field_1": 3, "field_2": "Eve", "field_3": 1.5},
        ],
    ),
    "quotes after a backslash": (
        ['1,"a\\"b",x', '2,"c",y'],
        ['csv: {escape: "\\\\"}'],
        [
            {"field_1": 1, "field_2": 'a"b', "field_3": "x"},
            {"field_1": 2, "field_2": "c", "field_3": "y"},
        ],
    ),
    "bars, one of which is empty": (
        ["1|2||3", "4|5||6"],
        ['csv: {delimiter: "|"}'],
        [
            {"field_1": 1, "field_2": 2, "field_3": None, "field_4": 3},
            {"field_1": 4, "field_2": 5, "field_3": None, "field_4": 6},
        ],
    ),
    "JSON of which some values are Western text": (
        ['{"n":"M\u00fcller"}'.encode("latin-1"), '{"n":"x"}'],
        ["encoding: windows-1252"],
        [{"n": "M\u00fcller"}, {"n": "x"}],
    ),
    "JSON in an encoding that bytes do not tell": (
        ['{"n":"\u65e5\u672c\u8a9e"}'.encode("cp932")],
        ["format: raw", "set encoding, their bytes fit windows-31j"],
        [{"value": '{"n":"\u65e5\u672c\u8a9e"}'.encode("cp932")}],
    ),
    "flags in every form": (
        [{"a": True, "b": "no"}, {"a": "yes", "b": 0}, {"a": 0, "b": 1}],
        ["a: {type: boolean, booleans: words}", "b: {type: boolean, booleans: words}"],
        [{"a": True, "b": False}, {"a": True, "b": False}, {"a": False, "b": True}],
    ),
    "numbers beside flags": (
        [{"a": True}, {"a": 2}],
        ["a: {type: string, json: text}"],
        [{"a": "true"}, {"a": "2"}],
    ),
    "Avro's own JSON": (
        [
            '{"id": {"long": 5}, "at": {"long": 1706695200123}, "name": null}',
            '{"id": null, "at": null, "name": {"string": "x"}}',
        ],
        [
            'id: {type: bigint, from: "$.id.long"}',
            'at: {type: timestamp, from: "$.at.long", unit: ms}',
            "Avro's own JSON",
        ],
        [
            {"id": 5, "at": at("2024-01-31T10:00:00.123"), "name": None},
            {"id": None, "at": None, "name": "x"},
        ],
    ),
    "times of logs and of people": (
        [
            {"log": "2024-01-31 10:00:00,123", "us": "1/31/2024", "oracle": "31-JAN-24", "eu": "31/01/2024"},
            {"log": "2024-01-31 10:00:01,000", "us": "12/1/2024", "oracle": "01-FEB-24", "eu": "30/01/2024"},
        ],
        [
            'log: {type: timestamp, time_pattern: "yyyy-MM-dd HH:mm:ss,SSS"}',
            'us: {type: date, time_pattern: "M/d/yyyy"}',
            'oracle: {type: date, time_pattern: "dd-MMM-yy", pivot: 1970}',
            'eu: {type: date, time_pattern: "dd/MM/yyyy"}',
        ],
        [
            {
                "log": at("2024-01-31T10:00:00.123"),
                "us": day("2024-01-31"),
                "oracle": day("2024-01-31"),
                "eu": day("2024-01-31"),
            },
            {
                "log": at("2024-01-31T10:00:01"),
                "us": day("2024-12-01"),
                "oracle": day("2024-02-01"),
                "eu": day("2024-01-30"),
            },
        ],
    ),
    "infinite values of Kafka Connect": (
        [connect("NaN", 9223372036825200000), connect(1.5, 1706695200000000)],
        [
            'x: {type: double, from: "$.payload.x", non_finite: null}',
            'until: {type: timestamp, from: "$.payload.until", unit: us, beyond: clamp}',
            "x: non_finite: null for values that are NaN or infinite",
        ],
        [
            {"x": None, "until": at("9999-12-31T23:59:59.999999")},
            {"x": 1.5, "until": at("2024-01-31T10:00:00")},
        ],
    ),
    "a field whose name is empty": (
        ['{"id": 1, "": {"a": 1.10}, "message": "x"}'],
        [
            'message_2: {type: string, from: "$", json: text}',
            "from: $ with json: text keeps the whole message",
        ],
        [{"id": 1, "message": "x", "message_2": '{"id": 1, "": {"a": 1.10}, "message": "x"}'}],
    ),
    "AWS Glue's JSON, also compressed": (
        [b"\3\0" + GUID.bytes + b'{"id": 1}', b"\3\5" + GUID.bytes + zlib.compress(b'{"id": 2}')],
        ["format: json_schema", "framing: glue", "id: bigint"],
        [{"id": 1}, {"id": 2}],
    ),
    "numbers alone": (["12.5", "-3"], ["format: csv", "value: double"], [{"value": 12.5}, {"value": -3.0}]),
    "whole numbers alone": (["12", "-3"], ["value: bigint"], [{"value": 12}, {"value": -3}]),
    "texts alone": (
        ["<a>1</a>", "x y\n"],
        ["format: raw", "value: string", "each value is text"],
        [{"value": "<a>1</a>"}, {"value": "x y\n"}],
    ),
    "JSON in JSON": (
        [json.dumps('{"a": 1}')],
        ["value: string", "4 JSON strings of JSON: the producer serialises each value twice"],
        [{"value": json.dumps('{"a": 1}')}],
    ),
}
"""Records, what stands in the drafted map, and the rows of each record once."""


@pytest.mark.parametrize("name", EVERYDAY)
def test_records_as_people_have_them_become_rows_by_their_draft(name: str) -> None:
    records, wanted, rows = EVERYDAY[name]
    text, found, reasons = drafted(records)
    for part in wanted:
        assert part in text, text
    assert (found, reasons) == (rows, [])


@pytest.mark.parametrize(
    ("value", "headers", "framing", "ids"),
    [
        (b"\xc3\x01abcdefgh\x02", {}, "single_object", "6162636465666768"),
        (b"\3\0" + GUID.bytes + b"\2", {}, "glue", str(GUID)),
        (b"\3\0" + b"\0" * 16 + b"\2", {}, None, ""),
        (b"\3\5" + GUID.bytes + b"\2", {}, None, ""),
        (b"\3\0" + GUID.bytes[:9], {}, None, ""),
        (b"\1" + (5).to_bytes(8, "big") + (2).to_bytes(4, "big") + b"\2", {}, "cloudera", "5:2"),
        (b"\1" + (5).to_bytes(8, "big") + (2**31).to_bytes(4, "big") + b"\2", {}, None, ""),
        (b"\2" + (7).to_bytes(8, "big") + b"\2", {}, "cloudera", "7"),
        (b"\3" + (7).to_bytes(4, "big") + b"\2\2\2\2\2", {}, "cloudera", "7"),
        (b"\3\1\1\1\1\2\2\2\2\2", {}, None, ""),
        (b"\2", {"content-type": f"avro/binary+{GUID.hex}".encode()}, "azure", str(GUID)),
        (b"\2", {"content-type": b"avro/binary+x"}, None, ""),
        (b"\2", {"apicurio.value.globalId": (9).to_bytes(8, "big")}, "apicurio_global", "9"),
        (b"\2", {"apicurio.value.contentId": (9).to_bytes(8, "big")}, "apicurio_content", "9"),
        (b"\2", {"apicurio.value.contentId": b"9"}, None, ""),
    ],
)
def test_the_framing_of_records_is_told_with_the_ids_of_their_schemas(
    value: bytes, headers: dict[str, bytes], framing: str | None, ids: str
) -> None:
    found = framed_records([value, value, b"\2"], [headers, headers, {}])
    if framing is None:
        assert found is None
        return
    assert found is not None and (found.framing, found.ids) == (framing, Counter({ids: 2}))
    (note,) = found.notes()
    assert (
        f"write format: avro, framing: {framing}, under schemas" in note and f'1 schema id ("{ids}")' in note
    )
