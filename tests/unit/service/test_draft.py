"""`sample`: whatever the records hold, the drafted map is valid and its notes are true."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka2hive.config.keys import ChangeLog, Column, ServiceMap
from kafka2hive.config.keys.column_rules import ColumnRules
from kafka2hive.config.keys.source import ArrayRows, ChangeLogKeys, DebeziumKeys
from kafka2hive.config.load import load_text
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.hive.description import TableDescription, TableKind
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.writer_schema import JSON, WriterSchema
from kafka2hive.service.draft.draft import TopicSample, alike_topics, draft_table
from kafka2hive.service.draft.map_text import Draft, map_of
from tests.contract.avro_ways import Registry, framed
from tests.contract.change_log_records import RECORDS, debezium, with_schema
from tests.contract.protobuf_cases import varint as _varint
from tests.contract.protobuf_ways import Registry as ProtobufRegistry
from tests.contract.protobuf_ways import head
from tests.contract.protobuf_ways import written as protobuf_schema

KAFKA = {"bootstrap.servers": "127.0.0.1:9092"}
NOON = 1_795_000_000_000  # milliseconds, in 2026


def _sampled(values: Sequence[bytes], step_ms: int = 1_000) -> TopicSample:
    ranges = (OffsetRange(TopicPartition("clicks", 0), 0, len(values)),)
    times: list[int | None] = [NOON + step_ms * number for number in range(len(values))]
    return TopicSample(ranges, 1, 0, list(values), [0] * len(values), times)


def _map(
    sampled: TopicSample,
    kafka: Mapping[str, str] = KAFKA,
    environ: Mapping[str, str] | None = None,
    writers: WriterSchemas | None = None,
) -> str:
    registry = "http://127.0.0.1:8081" if writers else None
    draft = Draft(topic="clicks", kafka=kafka, registry=registry)
    return draft_table(draft, sampled, writers, environ or {}, None).text()


def _drafted(*documents: Any, step_ms: int = 1_000) -> tuple[str, ServiceMap]:
    values = [d if isinstance(d, bytes) else json.dumps(d, ensure_ascii=False).encode() for d in documents]
    text = _map(_sampled(values, step_ms))
    return text, load_text(text, "draft.yaml", {})


def _columns(service: ServiceMap) -> dict[str, tuple[str, tuple[str, ...], str | None]]:
    return {c.name: (c.type, c.path, c.unit) for c in service.tables[0].columns}


def test_types_names_paths_and_the_event_time_come_from_the_records() -> None:
    documents = [
        {
            "id": number,
            "price": [1, 1.5][number % 2],
            "big": 2**70,
            "at": "2026-11-18T12:26:40Z",
            "created_ms": NOON + 1_000 * number + 5,
            "day": "2026-11-18",
            "ok": True,
            "tags": ["a"][: number % 2],
            "attributes": {f"k{number}": number, f"m{number}": number},
            "props": {"US Gross": 1, "on": {"x": 1.5}},
            "nest": {"a": [{"b": "c"}]},
            "Title": "x",
            "title": "y",
        }
        for number in range(40)
    ]
    text, service = _drafted(*documents)
    assert _columns(service) == {
        "id": ("bigint", (), None),
        "price": ("double", (), None),
        "big": ("decimal(22,0)", (), None),
        "at": ("timestamp", (), None),
        "created_ms": ("timestamp", (), "ms"),
        "day": ("date", (), None),
        "ok": ("boolean", (), None),
        "tags": ("array<string>", (), None),
        "attributes": ("map<string,bigint>", (), None),
        "props_us_gross": ("bigint", ("props", "US Gross"), None),
        "props_on": ("struct<x:double>", ("props", "on"), None),
        "nest": ("struct<a:array<struct<b:string>>>", (), None),
        "Title": ("string", (), None),
        "title_2": ("string", ("title",), None),
    }
    assert service.tables[0].bucketing.field == "created_ms", "the one nearest to Kafka's timestamp"
    assert "40 decode" in text and "dead letter" not in text
    assert "$.title and $.Title are one name to Hive" in text


def test_what_does_not_fit_is_said() -> None:
    documents: list[Any] = [
        {"id": n, "none": None, "maybe": None if n % 4 else 1, "email": "x"} for n in range(97)
    ]
    documents += [{"id": "one"}, {"id": "two"}, b"{"]
    text, service = _drafted(*documents)
    assert _columns(service).keys() == {"id", "maybe", "email"}
    assert "# drafted from 100 records of topic clicks (1 partition; clicks-0@[0, 100)): 97 decode" in text
    assert "# 2 dead letters: json.type: column id expects bigint, got string" in text
    assert "$.none is null in every record: left out" in text
    assert (
        "$.id has values of several kinds (97 numbers, 2 texts): all but the numbers become dead letters"
        in text
    )
    assert "maybe: bigint   # 74% null" in text
    assert (
        "these names suggest personal data or secrets (leave out the columns that nobody needs, or mask them): email"
        in text
    )
    assert "no column can be the event time" in text and service.tables[0].bucketing.field is None


def test_a_slow_topic_gets_a_longer_flush_interval() -> None:
    assert _drafted(*[{"a": 1}] * 50, step_ms=1_000)[1].tables[0].flush.interval_seconds == 3_600
    wide = {"a": "x" * 100_000}
    assert _drafted(*[wide] * 50, step_ms=100)[1].tables[0].flush.interval_seconds == 300
    assert _drafted(*[wide] * 50, step_ms=1)[1].tables[0].flush.interval_seconds == 60


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "holds no record"),
        ([b"\0\0\0\0\7abc"] * 3, "schema ids 7"),
        ([b"a text"] * 3, "0 of 3 records are JSON objects"),
    ],
)
def test_what_is_no_json_becomes_a_raw_table(values: list[bytes], said: str) -> None:
    text = _map(_sampled(values))
    assert said in text
    assert load_text(text, "draft.yaml", {}).tables[0].format == "raw"


def _lines(delimiter: str) -> list[bytes]:
    rows = [
        (
            str(n),
            f"AA{n}" if n % 2 else str(n or ""),
            f"{n / 4}",
            "true" if n % 2 else "false",
            f"2026-01-{1 + n % 28:02}",
            "",
            f"0{n}",
        )
        for n in range(40)
    ]
    return [delimiter.join(row).encode() for row in rows]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_fields_of_csv_become_columns_by_their_places(delimiter: str) -> None:
    text = _map(_sampled([*_lines(delimiter), b"broken", b"\xff"]))
    table = load_text(text, "m", {}).tables[0]
    assert (table.format, table.csv.delimiter) == ("csv", delimiter)
    assert [(column.name, column.type) for column in table.columns] == [
        ("field_1", "bigint"),
        ("field_2", "string"),
        ("field_3", "double"),
        ("field_4", "boolean"),
        ("field_5", "date"),
        ("field_6", "string"),
        ("field_7", "string"),
    ]
    assert (
        "40 decode" in text and "# 1 dead letter: csv.utf8" in text and "# 1 dead letter: csv.fields" in text
    )
    assert "have no names, only an order: give each column a name" in text


@pytest.mark.parametrize(
    "values",
    [
        [b"no fields at all"] * 20,
        [b"a,b", b"a,b,c"] * 10,
        [b'["a", 1]'] * 20,
        [b"a,b"] * 17 + [b"\xff,"] * 3,
        [b"x" * 70_000 + b",b"] * 20,
        [b'a"b,c'] * 20,
    ],
)
def test_what_has_not_the_same_fields_in_nearly_all_records_is_raw(values: list[bytes]) -> None:
    assert load_text(_map(_sampled(values)), "m", {}).tables[0].format == "raw"


def _connect(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), "optional": True, **more}


_DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "version": 1}
_VARIABLE = _connect({"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"})
_TYPED: list[dict[str, Any]] = [
    {"type": "int16", "field": "id"},
    {**_DECIMAL, "field": "total", "parameters": {"scale": "2", "connect.decimal.precision": "10"}},
    {**_DECIMAL, "field": "long", "parameters": {"scale": "0", "connect.decimal.precision": "65"}},
    {"type": "int32", "name": "io.debezium.time.Date", "field": "day"},
    {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "field": "at"},
    {"type": "int64", "name": "io.debezium.time.NanoTimestamp", "field": "fine"},
    {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "field": "zoned"},
    {"type": "bytes", "name": "io.debezium.data.Bits", "field": "bits"},
    {**_VARIABLE, "name": "io.debezium.data.VariableScaleDecimal", "field": "any"},
    {"type": "array", "items": {"type": "string"}, "field": "tags"},
    {"type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}, "field": "counts"},
    {"type": "map", "keys": {"type": "int32"}, "values": {"type": "int64"}, "field": "pairs"},
]
_TYPED_ROW = {
    "id": 1,
    "total": "BNI=",
    "long": "AQ==",
    "day": 18_000,
    "at": 1_559_033_904_863_123,
    "fine": 1,
    "zoned": "2019-05-28T08:18:24.5Z",
    "bits": "AQ==",
    "any": {"scale": 2, "value": "BNI="},
    "tags": ["a"],
    "counts": {"a": 1},
    "pairs": [[1, 2]],
}
_TYPES_OF = {
    "id": ("smallint", None),
    "total": ("decimal(10,2)", None),
    "long": ("string", None),
    "day": ("date", "d"),
    "at": ("timestamp", "us"),
    "fine": ("bigint", None),
    "zoned": ("timestamp", None),
    "bits": ("binary", None),
    "any": ("struct<scale:int,value:binary>", None),
    "tags": ("array<string>", None),
    "counts": ("map<string,bigint>", None),
}


def test_columns_have_the_types_of_the_schema_that_stands_beside_debeziums_envelopes() -> None:
    schema = _connect(_connect(*_TYPED, field="before"), _connect(*_TYPED, field="after"))
    envelopes = [debezium("c", None, _TYPED_ROW, {}), debezium("d", _TYPED_ROW, None, {})]
    text, service = _drafted(*({"schema": schema, "payload": one} for one in envelopes))
    assert "source: {debezium: {decimals: base64}}" in text and "2 decode" in text, text
    found = {name: (kind, unit) for name, (kind, _, unit) in _columns(service).items()}
    assert {name: kind for name, kind in found.items() if not name.startswith("__")} == _TYPES_OF
    assert "long is a decimal in bytes" in text and "pairs has a type" in text
    numbers = debezium("c", None, _TYPED_ROW | {"total": 12.5, "long": None}, {})
    text, service = _drafted(*[{"schema": schema, "payload": numbers}] * 3)
    assert "source: debezium\n" in text and "3 decode" in text
    assert _columns(service)["total"][0] == "decimal(10,2)"


def test_a_row_with_the_name_of_a_change_column_keeps_its_value_under_another() -> None:
    row = {"id": 1, "__op": "own", "__OP_2": 5, "__before": True, "__deleted": "false"}
    text, service = _drafted(*[debezium("c", None, row, {})] * 3)
    assert "3 decode" in text and "__op is a column of every change: __op_3 takes the row's own" in text
    found = {name: path for name, (_, path, _) in _columns(service).items() if path}
    assert (found["__op_3"], found["__before_2"]) == (("__op",), ("__before",)), text


def test_rows_beside_their_schema_are_taken_out_of_their_payload() -> None:
    text, service = _drafted(*[{"schema": _connect(*_TYPED), "payload": _TYPED_ROW}] * 3)
    assert service.tables[0].source == "events" and "3 decode" in text
    found = _columns(service)
    assert {name: (kind, unit) for name, (kind, _, unit) in found.items()} == _TYPES_OF
    assert found["day"][1] == ("payload", "day") and "long is a decimal in bytes" in text
    assert 'total: {type: "decimal(10,2)", from: "$.payload.total", decimals: base64}' in text
    assert "fine counts nanoseconds" in text and "fraction: truncate" in text


def test_a_schema_beside_the_row_that_is_none_is_only_a_member() -> None:
    for schema in (
        {},
        {"fields": [5]},
        {"fields": [{"field": 5}]},
        _connect({"field": "x", "type": "no"}),
        5,
    ):
        text, service = _drafted(*[{"schema": schema, "payload": {"x": 1}}] * 3)
        assert "payload" in _columns(service) and "3 decode" in text


def test_what_nests_deeper_than_hives_types_is_kept_as_text_and_said() -> None:
    for deep in (16, 17, 40):
        text, service = _drafted(*[b'{"id":1,"a":' + b'{"b":' * deep + b"1" + b"}" * deep + b"}"] * 3)
        assert ("json: text keeps it as its text" in text) is (deep > 16) and "3 decode" in text
        assert [c.leeway.json for c in service.tables[0].columns] == [
            "refuse",
            "text" if deep > 16 else "refuse",
        ]


@pytest.mark.parametrize(
    ("values", "kind", "told"),
    [
        (
            [1, "on", {"x": 1}, True, [1]] * 4,
            "any",
            "$.v has values of several kinds (4 arrays, 4 booleans, 4 numbers, 4 objects, 4 texts)",
        ),
        (
            [{"x": 1}, {"x": "a"}] * 9,
            "any",
            "$.v.x has values of several kinds (9 numbers, 9 texts): json: text keeps",
        ),
        ([[1], ["a"]] * 9, "any", "$.v[] has values of several kinds"),
        (
            [{"x": [{"y": 1}, {"y": None}]}, {"x": [{"y": True}]}] * 9,
            "any",
            "$.v.x[].y has values of several kinds",
        ),
        ([1] * 97 + ["a"] * 3, "bigint", "all but the numbers become dead letters"),
        ([1, 1.5, None], "double", ""),
        (["a", "2026-11-18"], "string", ""),
    ],
)
def test_values_of_several_kinds_are_texts_unless_the_others_are_rare(
    values: list[Any], kind: str, told: str
) -> None:
    text, service = _drafted(*[{"id": n, "v": value} for n, value in enumerate(values)])
    (_, column) = service.tables[0].columns
    expected = ("string", "text") if kind == "any" else (kind, "refuse")
    assert (column.type, column.leeway.json) == expected
    assert told in text and ("v: {type: string, json: text}" in text) is (kind == "any")


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, "2", ""], "{type: bigint, quoted: accept, empty: null}"),
        ([1, "", None], "{type: bigint, empty: null}"),
        ([1.5, "2"], "{type: double, quoted: accept}"),
        ([True, ""], "{type: boolean, empty: null}"),
        (["2026-11-18", ""], "{type: date, empty: null}"),
        (["2026-11-18T12:00:00Z", ""], "{type: timestamp, empty: null}"),
        (["1", "2", ""], "string"),
        (["1", "x", ""], "string"),
        ([1, 2.0, 3e3], "{type: bigint, whole: accept}"),
        ([1.0, 2.0], "double"),
        ([1, 2.0, "3", ""], "{type: bigint, quoted: accept, empty: null, whole: accept}"),
        ([1, 2.0, 1.5], "double"),
        ([1, float("nan")], "{type: double, non_finite: null}"),
        ([1.5, float("inf"), "-Infinity"], "{type: double, non_finite: null}"),
        ([float("nan")], "{type: double, non_finite: null}"),
        (["NaN", "nan"], "string"),
        (["2026-11-18T12:00:00Z", "infinity"], "{type: timestamp, beyond: clamp}"),
        (["2026-11-18", "-infinity", ""], "{type: date, empty: null, beyond: clamp}"),
        ([2, "1.234,5"], '{type: double, numbers: {thousands: ".", decimal: ","}}'),
        ([2, "1,234.5"], '{type: double, numbers: {thousands: ",", decimal: "."}}'),
        (["1.234,5", "2,5", "7"], '{type: double, numbers: {thousands: ".", decimal: ","}}'),
        (["1,234.5", "2.5"], '{type: double, numbers: {thousands: ",", decimal: "."}}'),
        (["1,234"], "string"),
        (["2,5", "2.5"], "string"),
        ([2, "2.5"], "{type: double, quoted: accept}"),
        ([True, "Y", "no"], "{type: boolean, booleans: words}"),
        (["Y", "N"], "string"),
        ([1, "2", "x"], "{type: string, json: text}"),
        ([True, "2"], "{type: string, json: text}"),
    ],
)
def test_numbers_in_quotes_and_empty_strings_among_other_values_get_their_key(
    values: list[Any], column: str
) -> None:
    text, _ = _drafted(*[{"id": n, "v": value} for n, value in enumerate(values * 4)])
    assert re.search(rf"      v: {re.escape(column)}( {{3}}#.*)?\n", text), text
    assert f"{4 * len(values)} decode" in text, text
    assert ("$.v has" in text) is column.startswith("{")


@pytest.mark.parametrize(
    ("key", "values", "column", "told"),
    [
        (
            "v",
            ["31/01/2024 12:30", "01/02/2024 08:00"],
            '{type: timestamp, time_pattern: "dd/MM/yyyy HH:mm"}',
            "in the pattern dd/MM",
        ),
        ("v", ["01/02/2024 12:30"], "string", "fit several patterns (dd/MM/yyyy HH:mm or MM/dd/yyyy HH:mm)"),
        (
            "v",
            ["Wed, 31 Jan 2024 12:30:15 GMT", "31 Jan 2024 12:30 +0100"],
            None,
            "in the pattern [EEE, ]d MMM",
        ),
        (
            "v",
            ["31/Jan/2024:12:30:15 +0100", ""],
            '{type: timestamp, time_pattern: "dd/MMM/yyyy:HH:mm:ss Z", empty: null}',
            "dd/MMM",
        ),
        (
            "v",
            [20240131123015, "20240131123016"],
            '{type: timestamp, time_pattern: "yyyyMMddHHmmss"}',
            "yyyyMMddHHmmss",
        ),
        ("v", [20240131], "bigint", ""),
        ("day_date", [20240131, "20240229"], '{type: date, time_pattern: "yyyyMMdd"}', "yyyyMMdd"),
        ("day_date", [20240131, 20240230], "bigint", ""),
        (
            "v",
            [[2024, 1, 31, 12, 30, 15], [2024, 2, 1]],
            "{type: timestamp, time_pattern: array, time_of_day: midnight}",
            "arrays",
        ),
        ("v", [[2024, 1, 31]], "{type: date, time_pattern: array}", "arrays of the parts of a date"),
        ("v", [[2024, 1, 31], [2024, 13, 1]], '"array<bigint>"', ""),
        (
            "made_at",
            [1700000000.5, 1700000001],
            "{type: timestamp, unit: s, epoch: decimal}",
            "with a fraction",
        ),
        ("v", [1700000000.5, 1700000001], "double", ""),
        (
            "made_at",
            [1700000000.1234567, ""],
            "{type: timestamp, unit: s, epoch: decimal, fraction: truncate, empty: null}",
            "",
        ),
        (
            "v",
            ["2024-01-31", "2024-01-31T12:30"],
            "{type: timestamp, time_of_day: midnight}",
            "has days (4) among times",
        ),
    ],
)
def test_times_in_other_forms_get_their_pattern(
    key: str, values: list[Any], column: str | None, told: str
) -> None:
    text, service = _drafted(*[{"id": n, key: value} for n, value in enumerate(values * 4)])
    assert told in text and f"{4 * len(values)} decode" in text, text
    assert column is None or f"      {key}: {column}" in text, text
    assert column != "string" or service.tables[0].columns[1].leeway.time_pattern == ()


def test_a_column_of_strings_in_hive_takes_other_values_as_texts() -> None:
    record = b'{"id":1,"props":{"x":1},"name":"a","day":"2026-11-18","made":1732000000000}'
    table = _in_hive("id bigint; props string; name string; day string; made string")
    text, service = _with_table([record] * 3, table)
    taken = {column.name: column.leeway.json for column in service.tables[0].columns}
    assert taken == {"id": "refuse", "props": "text", "name": "refuse", "day": "refuse", "made": "text"}
    assert "props, made: records have other values than strings" in text and "3 decode" in text


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"\xff\xfe{", "most begin like text in UTF-16, which `encoding: utf-16` reads"),
        (b"\x1f\x8b\x08\0", "most begin like gzip, which `compression: gzip` reads"),
        (b"Obj\x01\x04", "whole Avro files"),
        (b"\xc3\x01" + b"x" * 8, "single objects"),
        (b"\x03\0" + b"x" * 16, "AWS Glue"),
        (b'{"a":nan}', "3 records that begin like a JSON object are not valid, the first: json.syntax"),
        (b'{"a":"\\ud800"}', "json.surrogate"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "json.depth"),
    ],
)
def test_why_records_are_no_objects_is_said(value: bytes, told: str) -> None:
    text, service = _drafted(*[value] * 3)
    assert service.tables[0].format == "raw" and told in text, text


def test_compressed_values_and_other_encodings_get_their_keys() -> None:
    texts = ['{"a":"Zoë"}', '{"a":"x"}', '{"a":"y"}']
    utf_16 = [text.encode("utf-16") for text in texts]
    for values, keys, bad in (
        ([gzip.compress(text.encode()) for text in texts], {"compression": "gzip"}, "compression.damaged"),
        ([zlib.compress(text.encode()) for text in texts], {"compression": "zlib"}, "compression.damaged"),
        (utf_16, {"encoding": "utf-16"}, "encoding.undecodable"),
        (
            [gzip.compress(value) for value in utf_16],
            {"compression": "gzip", "encoding": "utf-16"},
            "compression.damaged",
        ),
        ([b"\xef\xbb\xbf" + text.encode() for text in texts], {"encoding": "utf-8-bom"}, "json.syntax"),
        ([text.encode("utf-16-le") for text in texts], {"encoding": "utf-16le"}, "encoding.undecodable"),
    ):
        text, service = _drafted(*values, b"\x1f")
        table = service.tables[0]
        found = {"compression": table.compression, "encoding": table.encoding}
        assert found == {"compression": "none", "encoding": "utf-8"} | keys, text
        assert _columns(service) == {"a": ("string", (), None)}
        assert f"suggest {' and '.join(f'{k}: {v}' for k, v in list(keys.items())[:1])}" in text
        assert ": 3 decode" in text and f"1 dead letter: {bad}" in text, text


def test_compressed_values_that_are_no_text_become_a_binary_column_of_their_contents() -> None:
    text, service = _drafted(*[gzip.compress(bytes([n, 1, 2, 200])) for n in range(1, 5)])
    table = service.tables[0]
    assert (table.format, table.compression, table.encoding) == ("raw", "gzip", "utf-8"), text
    text, service = _drafted(*[b"\xff\xfe" + bytes([n, 0, 200]) for n in range(1, 5)])
    assert (service.tables[0].format, service.tables[0].encoding) == ("raw", "utf-8"), text


def test_no_secret_is_printed() -> None:
    kafka = {**KAFKA, "sasl.password": "s3cr3t", "sasl.username": "me", "ssl.key.password": "${KEY}"}
    text = _map(_sampled([b'{"a":1}'] * 3), kafka, {"KEY": "hidden"})
    assert "s3cr3t" not in text and "hidden" not in text
    assert 'sasl.password: "${KAFKA_SASL_PASSWORD}"' in text and 'ssl.key.password: "${KEY}"' in text


def test_change_logs_and_registry_heads_are_recognised() -> None:
    row = {"id": 1, "name": "x"}
    changes = [
        debezium("c" if n % 2 else "d", None if n % 2 else row, row if n % 2 else None, {}) for n in range(20)
    ]
    for one in (changes, [with_schema(change) for change in changes]):
        text, service = _drafted(*one)
        assert service.tables[0].source == "debezium" and "20 decode" in text
        assert (
            list(_columns(service))[:2] == ["id", "name"] and service.tables[0].bucketing.field == "__ts_ms"
        )
    absent = debezium("u", None, row | {"name": "__debezium_unavailable_value"}, {})
    text, service = _drafted(*changes, absent)
    assert "20 decode" in text and "1 dead letter: change_log.unavailable: column name" in text
    assert "set source: {debezium: {unavailable: mark}}" in text
    heartbeats = [{"ts_ms": n} for n in range(60)]
    for wrapped in (dict, with_schema):
        text, service = _drafted(*map(wrapped, [*heartbeats, *changes]))
        assert service.tables[0].source == "debezium" and "20 decode" in text
        assert "60 records without a row, skipped" in text and "dead letter" not in text
    logged = [r.record for r in RECORDS if r.log is ChangeLog.MAXWELL]
    assert _drafted(*logged)[1].tables[0].source == "maxwell"
    text, service = _drafted(*[b"\0\0\0\0\7" + json.dumps(row).encode()] * 3)
    assert service.tables[0].format == "json_schema" and "3 decode" in text


def test_records_with_a_json_schema_have_the_columns_of_that_schema() -> None:
    node = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}}}
    properties = {
        "id": {"type": "integer"},
        "at": {"type": ["null", "string"], "format": "date-time"},
        "price": {"type": "number"},
        "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {},
        "node": {"$ref": "#/$defs/Node"},
        "never": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "$defs": {"Node": node}}
    row = {"id": 1, "at": "2026-11-18T12:26:40Z", "price": 1, "sizes": {"a": 1}, "any": [1], "node": {"n": 1}}
    values = [framed(4, json.dumps(row).encode())] * 5
    text = _map(_sampled(values), writers=Registry(id4=WriterSchema("JSON", json.dumps(schema))))
    service = load_text(text, "draft.yaml", {})
    assert {name: kind for name, (kind, _, _) in _columns(service).items()} == {
        "id": "bigint",
        "at": "timestamp",
        "price": "double",
        "sizes": "map<string,bigint>",
        "any": "string",
        "node": "struct<n:bigint>",
        "never": "string",
    }
    assert "any: {type: string, json: text}" in text and "node.next is within itself: left out" in text
    assert "columns of schema 4, that of most records" in text and "5 decode" in text
    assert service.tables[0].format == "json_schema" and service.registry is None
    odd = _map(_sampled(values), writers=Registry(id4=WriterSchema("JSON", "{")))
    assert "the schema of id 4 cannot be read" in odd and "price: bigint" in odd


def test_avro_records_have_the_columns_of_their_newest_schema() -> None:
    optional = ["null", "string"]
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
    fields: dict[str, Any] = {
        "id": "long",
        "name": optional,
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "day": {"type": "int", "logicalType": "date"},
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        "state": {"type": "enum", "name": "State", "symbols": ["ON"]},
        "tags": {"type": "array", "items": "string"},
        "more": {"type": "map", "values": "double"},
        "inner": ["null", inner],
        "again": "Inner",
        "either": ["int", "string"],
    }
    schema = {"type": "record", "name": "M", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    older = {"type": "record", "name": "M", "fields": [{"name": "id", "type": "long"}]}
    record = {
        "id": 7,
        "name": None,
        "at": NOON,
        "day": 20_000,
        "price": Decimal("1.50"),
        "state": "ON",
        "tags": ["a"],
        "more": {"k": 1.5},
        "inner": {"x": 1},
        "again": {"x": 2},
        "either": 5,
    }
    values = [
        framed(3, _encoded(older, {"id": 1})),
        *[framed(4, _encoded(schema, record))] * 9,
        framed(9, b""),
    ]
    registry = Registry(id3=older, id4=schema)
    text = _map(_sampled(values), writers=registry)
    service = load_text(text, "draft.yaml", {})
    assert {name: kind for name, (kind, _, _) in _columns(service).items()} == {
        "id": "bigint",
        "name": "string",
        "at": "timestamp",
        "day": "date",
        "price": "decimal(12,2)",
        "state": "string",
        "tags": "array<string>",
        "more": "map<string,double>",
        "inner": "struct<x:int>",
        "again": "struct<x:int>",
        "either": "string",
    }
    assert service.tables[0].bucketing.field is None and "10 decode" in text
    assert "rows without the event time would be dead letters" in text and ": at (" in text
    assert "either is a union of several types: json: text keeps all of it as its text" in text
    assert "either: {type: string, json: text}" in text
    assert service.registry is not None and service.registry.url == "http://127.0.0.1:8081"
    assert "give the registry with --registry" in _map(_sampled(values))


def test_a_schema_of_which_hive_can_have_nothing_makes_a_raw_table_and_says_why() -> None:
    tree = {"type": "record", "name": "T", "fields": [{"name": "next", "type": ["null", "T"]}]}
    text = _map(_sampled([framed(4, b"\0")] * 3), writers=Registry(id4=tree))
    assert "next: {type: string, json: text}" in text and "next is T within itself: json: text keeps" in text
    empty = {"type": "record", "name": "T", "fields": [{"name": "none", "type": "null"}]}
    text = _map(_sampled([framed(4, b"")] * 3), writers=Registry(id4=empty))
    service = load_text(text, "draft.yaml", {})
    assert service.tables[0].format == "raw" and _columns(service) == {"value": ("binary", (), None)}
    assert "no column for any field of schema 4" in text and "none is always null: left out" in text
    nothing = ProtobufRegistry(id4=protobuf_schema('syntax = "proto3"; message Nothing {}'))
    text = _map(_sampled([head(4, 0)] * 3), writers=nothing)
    assert load_text(text, "draft.yaml", {}).tables[0].format == "raw"
    assert "no column for any field of Nothing of schema 4" in text


def test_a_record_with_fields_that_are_one_name_to_hive_becomes_a_text() -> None:
    fields = [{"name": "x", "type": "int"}, {"name": "X", "type": "int"}]
    twice = {"type": "record", "name": "W", "fields": fields}
    members = [{"name": "id", "type": "int"}, {"name": "twice", "type": twice}]
    schema = {"type": "record", "name": "M", "fields": members}
    value = framed(4, _encoded(schema, {"id": 1, "twice": {"x": 1, "X": 2}}))
    text = _map(_sampled([value] * 3), writers=Registry(id4=schema))
    assert list(_columns(load_text(text, "draft.yaml", {}))) == ["id", "twice"]
    assert "twice: {type: string, json: text}" in text
    assert "twice is not a type of Hive (field 'X' is declared twice (Hive ignores case)): json: text" in text


def test_avro_records_of_several_types_have_the_fields_of_all_of_them() -> None:
    one = {"type": "record", "name": "One", "fields": [{"name": "x", "type": "int"}]}
    two = {"type": "record", "name": "Two", "fields": [{"name": "y", "type": "string"}]}
    values = [framed(4, b"\0\x02"), framed(4, b"\2\x02z")]
    text = _map(_sampled(values), writers=Registry(id4=[one, two]))
    service = load_text(text, "draft.yaml", {})
    assert (service.tables[0].format, list(_columns(service))) == ("avro", ["x", "y"]) and "2 decode" in text


def test_protobuf_records_have_the_columns_of_their_message() -> None:
    schema = protobuf_schema(
        """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
        message Other { int32 x = 1; }
        message Order { int64 id = 1; uint64 big = 2; State state = 3; repeated Line lines = 4; map<string, double> more = 5;
          google.protobuf.Timestamp at = 6; google.protobuf.StringValue note = 7; Order parent = 8; bytes raw = 9; }
        message Line { sint32 n = 1; bool last = 2; }
        enum State { NEW = 0; }"""
    )
    order = b"\x08\x07" + b"\x32\x06\x08" + _varint(NOON // 1000)
    values = [head(4, 1) + order] * 9 + [head(4, 0), b"\0\0\0\0\t\0"]
    registry = ProtobufRegistry(id4=schema)
    text = _map(_sampled(values), writers=registry)
    service = load_text(text, "draft.yaml", {})
    assert {name: kind for name, (kind, _, _) in _columns(service).items()} == {
        "id": "bigint",
        "big": "decimal(20,0)",
        "state": "string",
        "lines": "array<struct<n:int,last:boolean>>",
        "more": "map<string,double>",
        "at": "timestamp",
        "note": "string",
        "raw": "binary",
        "parent": "string",
    }
    assert service.tables[0].format == "protobuf" and service.tables[0].bucketing.field is None
    assert "10 decode" in text and "parent is shop.Order within itself: json: text keeps" in text
    assert "parent: {type: string, json: text}" in text
    assert service.registry is not None and service.registry.url == "http://127.0.0.1:8081"


def _encoded(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), record)
    return out.getvalue()


_KEYS = st.text(max_size=8) | st.sampled_from(
    ["a", "A", "at", "dt", "on", "a b", "$x", "é", "1", "\x85", "\U0001f600"]
)
_TEXTS = st.text(max_size=5) | st.sampled_from(["2013-01-01", "2013-01-01T05:00:00Z", "2013-02-30"])
_NUMBERS = st.integers() | st.integers(0, 2**64) | st.floats(allow_nan=False, allow_infinity=False)
_LEAVES = st.none() | st.booleans() | _NUMBERS | _TEXTS
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.dictionaries(_KEYS, _VALUES, max_size=6), min_size=1, max_size=6))
def test_the_map_is_right_whatever_the_records_hold(documents: list[dict[str, Any]]) -> None:
    text, service = _drafted(*documents)
    assert service.tables[0].format in ("json", "raw")
    assert f"drafted from {len(documents)} record" in text


def test_messages_of_several_rows_are_recognised_where_more_of_them_fit_so() -> None:
    lines = [b'{"a": 1}\n{"a": 2}\n', b'{"a": 3}', b'{"a": 4}\n\n{"a": 5}', b"no json"]
    for values, rows, told in (
        (lines, "lines", "3 decode to 5 rows"),
        ([b'[{"a": 1}, {"a": 2}]', b"[]", b'[{"a": 3}]'], "array", "2 decode to 3 rows"),
        ([b'{"a": 1}', b'{"a":\n2}', b'{"a": 3}\n{"a": 4}'], "one", "2 decode\n"),
        ([b"[1, 2]", b"[[]]"], "one", "0 decode"),
    ):
        text, service = _drafted(*values)
        assert service.tables[0].rows == rows, text
        assert told in text or service.tables[0].format == "raw"
    values = [b'1,"a\nb"\n2,c\n', b"3,d\n", b"4,e\n5,f\n"]
    text, service = _drafted(*values)
    assert (service.tables[0].format, service.tables[0].rows) == ("csv", "lines"), text
    assert "3 decode to 5 rows" in text and len(service.tables[0].columns) == 2


@pytest.mark.parametrize(
    ("more", "source"),
    [
        ({"__op": "c", "__lsn": 5}, DebeziumKeys(form="flat", position=True)),
        ({"__deleted": "false", "__source_ts_ms": 5}, DebeziumKeys(form="flat")),
    ],
)
def test_rows_that_debezium_has_unwrapped_are_recognised(more: dict[str, Any], source: DebeziumKeys) -> None:
    rows = [{"id": n, "name": "a", **more} for n in range(3)]
    text, service = _drafted(*rows, {"ts_ms": 5})
    table = service.tables[0]
    assert table.source == ChangeLogKeys(debezium=source)
    own = ["id", "name", *(["__source_ts_ms"] if source.position is False else [])]
    assert [c.name for c in table.columns] == [*own, "__op", "__ts_ms", "__source_position"]
    assert "unwrapped: form: flat" in text and ("goes by offsets" in text) is not source.position
    assert "3 decode\n" in text and "dead letter" not in text


def test_unwrapped_rows_beside_their_schema_have_its_types() -> None:
    fields = [{"field": "id", "type": "int32"}, {"field": "__deleted", "type": "string"}]
    record = {"schema": {"type": "struct", "fields": fields}, "payload": {"id": 1, "__deleted": "true"}}
    _, service = _drafted(record)
    assert [(c.name, c.type, c.path) for c in service.tables[0].columns][:2] == [
        ("id", "int", ()),
        ("__op", "string", ()),
    ]


def test_an_array_of_objects_within_an_object_is_drafted_as_rows() -> None:
    records = [{"id": n, "user": {"name": "a"}, "at": "2013-01-01T00:00:00Z"} for n in range(3)]
    messages = [("x", records), ("y", []), ("z", records[:1])]
    text, service = _drafted(*({"account": a, "id": 7, "Records": rows} for a, rows in messages))
    table = service.tables[0]
    assert table.rows == ArrayRows(array="$.Records")
    assert [(c.name, c.path, c.part.value) for c in table.columns] == [
        ("id", (), "value"),
        ("user", (), "value"),
        ("at", (), "value"),
        ("account", ("account",), "message"),
        ("message_id", ("id",), "message"),
    ]
    assert 'rows: {array: "$.Records"} each element is a row' in text
    assert "2 decode to 4 rows" in text and "1 record without a row" in text and "dead letter" not in text


@pytest.mark.parametrize("more", [{"customer": {"id": 1}}, {"tags": ["a"]}, {"a": 1, "b": 2, "c": 3}])
def test_an_object_with_more_than_its_array_keeps_its_row_and_a_note_names_the_array(
    more: dict[str, Any],
) -> None:
    text, service = _drafted(*[{**more, "items": [{"sku": 1, "price": 2}]}] * 2)
    assert service.tables[0].rows == "one"
    assert 'one array of objects: rows: {array: "$.items"} makes a row of each element' in text


def test_an_object_with_two_arrays_of_objects_has_no_such_note() -> None:
    text, service = _drafted(*[{"a": [{"x": 1}], "b": [{"y": 1}]}] * 2)
    assert service.tables[0].rows == "one" and "array of objects" not in text


def test_canals_columns_have_the_types_that_mysql_names() -> None:
    types = {
        "id": "bigint(20) unsigned",
        "n": "int(11)",
        "price": "decimal(12,4)",
        "whole": "decimal(40)",
        "at": "datetime(6)",
        "name": "varchar(20)",
        "Name": "text",
        "odd": "decimal(x,-1)",
        "": "int",
        "kind": "enum('a','b')",
    }
    row = dict.fromkeys(types) | {
        "id": "18446744073709551615",
        "price": "1.5000",
        "at": "2026-11-23 01:02:03.5",
    }
    change = {
        "database": "d",
        "table": "t",
        "type": "UPDATE",
        "ts": NOON,
        "data": [row, row],
        "mysqlType": types,
    }
    truncated = change | {"type": "TRUNCATE", "data": None, "mysqlType": None}
    text, service = _drafted(change, truncated, change)
    assert service.tables[0].source == "canal"
    found = {name: kind for name, (kind, _, _) in _columns(service).items() if not name.startswith("__")}
    assert found == {
        "id": "decimal(20,0)",
        "n": "bigint",
        "price": "decimal(12,4)",
        "whole": "string",
        "at": "timestamp",
        "name": "string",
        "Name_2": "string",
        "odd": "string",
        "kind": "string",
    }
    assert "3 decode to 5 rows" in text and "one name to Hive" in text


HEADED = [b"id,full name,ok,from", *(b"%d,a%d,true,2026-11-%02d" % (n, n, 1 + n % 28) for n in range(20))]


def test_a_header_line_names_the_columns_and_is_left_out() -> None:
    for values in (HEADED, [HEADED[5], *HEADED], [*HEADED[1:], HEADED[0], HEADED[0]]):
        text, service = _drafted(*values)
        (table,) = service.tables
        assert [(c.name, c.type) for c in table.columns] == [
            ("id", "bigint"),
            ("full_name", "string"),
            ("ok", "boolean"),
            ("from", "date"),
        ]
        assert table.csv.header == ("id", "full name", "ok", "from")
        assert f"{sum(value != HEADED[0] for value in values)} decode" in text and "dead letter" not in text


@pytest.mark.parametrize(
    ("lines", "header", "names"),
    [
        (["x,y", "1,2", "3,4"], ("x", "y"), ["x", "y"]),
        (["code,name,active", "AB,Bob,true", "CD,Ann,false"], ("code", "name", "active"), None),
        (["AB,Bob,true", "CD,Ann,false", "code,name,active"], ("code", "name", "active"), None),
        ([",first,second", "0,a,1.5", "1,b,"], ("", "first", "second"), ["column", "first", "second"]),
        (["id,day", "a,2013-01-01", "b,2013-01-02"], ("id", "day"), None),
    ],
)
def test_a_header_line_is_the_one_text_among_values_of_a_type(
    lines: list[str], header: tuple[str, ...], names: list[str] | None
) -> None:
    text, service = _drafted(*(line.encode() for line in lines))
    table = service.tables[0]
    assert table.csv.header == header
    assert [column.name for column in table.columns] == (names or list(header))
    assert f"{len(lines) - 1} decode" in text and "dead letter" not in text


@pytest.mark.parametrize(
    "values",
    [
        [b"name,city", b"ada,london", b"grace,new york"],  # a header line, or not: every place is a text
        [b"1,a", b"2,b", b"x,c"],  # one field is wrong in a record that has other texts, too
        [b"id,id", b"1,2", b"3,4"],
        [b"id,", b"1,2", b"3,4"],
    ],
    ids=["texts", "wrong", "twice", "nothing"],
)
def test_what_only_may_be_a_header_line_is_not_left_out(values: list[bytes]) -> None:
    text, service = _drafted(*values)
    assert service.tables[0].csv.header == ()
    assert "field_1" in text and "have no names" in text


def test_maps_of_several_topics_have_a_table_for_each() -> None:
    drafts = []
    for topic, value in (("a.b", b'{"id": 1}'), ("a-b", b'{"id": 2}'), ("c", b'{"at": "2026-11-18"}')):
        draft = Draft(topic=topic, kafka=KAFKA, storage="hdfs://nn:8020", table="raw.t_{topic}")
        drafts.append(draft_table(draft, _sampled([value] * 3), None, {}, None))
    text = map_of(drafts, ["a note"])
    service = load_text(text, "draft.yaml", {})
    assert [(t.table, t.topics) for t in service.tables] == [
        ("raw.t_a_b", ("a.b",)),
        ("raw.t_a_b_2", ("a-b",)),
        ("raw.t_c", ("c",)),
    ]
    assert service.storage.uri == "hdfs://nn:8020"
    assert "# a note\ntables:" in text and text.count("3 decode") == 3


def _in_hive(columns: str, partitions: str = "", **more: Any) -> TableDescription:
    def of(text: str) -> tuple[Column, ...]:
        parts = [one.partition(" ") for one in text.split("; ") if one]
        return tuple(Column(name, kind) for name, _, kind in parts)

    given: dict[str, Any] = {
        "location": "hdfs://nn:8020/wh/clicks",
        "kind": TableKind.EXTERNAL,
        "transactional": False,
        "input_format": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    }
    return TableDescription(of(columns), of(partitions), **(given | more))


def _with_table(values: list[bytes], table: TableDescription) -> tuple[str, ServiceMap]:
    draft = Draft(topic="clicks", kafka=KAFKA, hive="hive://127.0.0.1:10000")
    text = draft_table(draft, _sampled(values), None, {}, table).text()
    return text, load_text(text, "draft.yaml", {})


def test_a_table_that_hive_has_gives_columns_types_partitions_place_and_format() -> None:
    document = b'{"Id": 1, "seen_at": 1795000000000, "price": 2, "more": {"x": 1}, "odd": "x"}'
    found = _in_hive(
        "id int; seen_at timestamp; price decimal(9,2); more struct<x:int>; kafka_offset bigint; gone string",
        "day string; hr string",
    )
    text, service = _with_table([document] * 3, found)
    (table,) = service.tables
    assert [(c.name, c.type, c.path, c.unit) for c in table.columns] == [
        ("id", "int", ("Id",), None),
        ("seen_at", "timestamp", (), "ms"),
        ("price", "decimal(9,2)", (), None),
        ("more", "struct<x:int>", (), None),
        ("gone", "string", (), None),
    ]
    assert table.bucketing.path == "day=%Y-%m-%d/hr=%H"
    assert (table.writer.format, service.storage.uri) == ("orc", "hdfs://nn:8020")
    assert [name for _, name in table.metadata] == ["kafka_offset"]
    assert "no record has a value for gone" in text and "has no column for odd of the records" in text
    assert service.hive is not None


def test_fields_without_names_take_hives_columns_by_their_places() -> None:
    text, service = _with_table(HEADED, _in_hive("n bigint; who string; good boolean; day string"))
    (table,) = service.tables
    assert [(c.name, c.type) for c in table.columns][2:] == [("good", "boolean"), ("day", "string")]
    assert table.bucketing.path == "" and "20 decode" in text


def test_what_cannot_be_told_of_hives_table_is_said() -> None:
    text, _ = _with_table(
        [b'{"id": 1}'] * 2, _in_hive("id bigint", "a string; b string", input_format="x.RCFileInputFormat")
    )
    assert "what the partition columns a, b hold is not known" in text
    assert "by x.RCFileInputFormat, which kafka2hive cannot write" in text
    empty, _ = _with_table([], _in_hive("id bigint; num int"))
    assert "holds no record" in empty and "num: int" in empty


def test_ids_of_8_bytes_are_recognised_in_every_format() -> None:
    schema = {"type": "record", "name": "F", "fields": [{"name": "id", "type": "long"}]}
    head8 = b"\0" + bytes(7) + b"\7"
    proto = protobuf_schema('syntax = "proto3"; message M { int64 id = 1; }')
    cases: list[tuple[bytes, WriterSchemas | None, str]] = [
        (head8 + b"\x0e", Registry(id7=schema), "avro"),
        (head8 + b"\0\x08\7", ProtobufRegistry(id7=proto), "protobuf"),
        (head8 + b'{"id": 7}', None, "json_schema"),
    ]
    for value, writers, format in cases:
        text = _map(_sampled([value] * 3), writers=writers)
        (table,) = load_text(text, "draft.yaml", {}).tables
        assert (table.format, table.framing) == (format, "id8"), text
        assert "3 decode" in text and "dead letter" not in text


def test_nanoseconds_that_no_timestamp_holds_are_cut_and_that_is_told() -> None:
    whole, part = 1_795_000_000_123_456_000, 1_795_000_000_123_456_789
    text, service = _drafted(*({"at": whole, "seen_at": number} for number in (whole, part)))
    assert _columns(service) == {"at": ("timestamp", (), "ns"), "seen_at": ("timestamp", (), "ns")}
    assert (
        "$.seen_at counts nanoseconds" in text and "{type: timestamp, unit: ns, fraction: truncate}" in text
    )
    assert "2 decode" in text and "dead letter" not in text


def _with_times(*others: str, step: str = "") -> tuple[str, tuple[str, tuple[str, ...], str | None]]:
    times = [f"2026-11-29T10:{n // 60:02}:{n % 60:02}{step}Z" for n in range(1_000 - len(others))]
    text, service = _drafted(*({"id": n, "seen_at": time} for n, time in enumerate([*times, *others])))
    return text, _columns(service)["seen_at"]


def test_a_column_of_times_stays_one_for_one_bad_value_in_a_thousand() -> None:
    text, (kind, _, _) = _with_times("unknown")
    assert (
        kind == "timestamp" and "$.seen_at has 1 text that is no timestamp" in text and "999 decode" in text
    )
    text, (kind, _, _) = _with_times(*["unknown"] * 50)
    assert kind == "string" and "1,000 decode" in text


def test_texts_with_nanoseconds_are_cut_and_that_is_told_except_within_other_values() -> None:
    text, (kind, _, _) = _with_times("2026-11-29T10:00:00Z", step=".123456789")
    assert kind == "timestamp" and "1,000 decode" in text
    assert "$.seen_at has 999 times finer than a microsecond: fraction: truncate cuts them" in text
    text, service = _drafted(*[{"of": {"at": "2026-11-29T10:00:00.1234567Z"}}] * 3)
    assert (
        _columns(service)["of"][0] == "struct<at:string>" and "$.of.at has 3 times with nanoseconds" in text
    )


def test_why_the_registrys_schemas_make_no_columns_is_said_for_each() -> None:
    values = [framed(7, b"\0")] * 3 + [framed(8, b"\0")] * 3 + [framed(9, b"\0")] * 2
    broken = ProtobufRegistry(
        id7=protobuf_schema("package demo; message A { optional Missing x = 1; }"),
        id8=WriterSchema(JSON, "{}"),
    )
    text = _map(_sampled(values), writers=broken)
    assert "id 7: its schema cannot be read: not a Protobuf schema: " in text and "is not defined" in text
    assert "id 8: its schema's type is JSON" in text and "id 9: the registry has no such schema" in text


def test_topics_of_raw_values_are_not_said_to_be_alike() -> None:
    drafts = [
        draft_table(Draft(topic=topic, kafka=KAFKA), _sampled([value] * 3), None, {}, None)
        for topic, value in (("avro", b"\0\0\0\0\7\2"), ("protobuf", b"\0\0\0\0\x08\0\2"), ("text", b"hello"))
    ]
    assert {draft.format for draft in drafts} == {"raw"} and alike_topics(drafts) == []


def test_numbers_in_a_column_of_times_that_hive_has_count_by_their_size() -> None:
    document = b'{"moment": 1795000000000, "day": 20800, "second": 1795000000, "n": 5}'
    table = _in_hive("moment timestamp; day date; second date; n timestamp")
    text, service = _with_table([document] * 3, table)
    units = {column.name: column.unit for column in service.tables[0].columns}
    assert units == {"moment": "ms", "day": "d", "second": "s", "n": None}
    assert "column n expects timestamp, got number" in text


def test_digits_of_csv_in_a_boolean_that_hive_has_are_booleans() -> None:
    for hive, booleans in (("id int; ok boolean", "digits"), ("id int; ok int", "words")):
        text, service = _with_table([b"id,ok", b"1,1", b"2,0"], _in_hive(hive))
        assert service.tables[0].csv.booleans == booleans
        assert "2 decode" in text and "dead letter" not in text


@pytest.mark.parametrize(
    ("step_ms", "rate"),
    [(100, "10.0 records and 120 B a second"), (60_000, "60.0 records and 720 B an hour")],
)
def test_a_rate_of_less_than_a_record_a_second_is_told_for_an_hour(step_ms: int, rate: str) -> None:
    text, _ = _drafted(*[{"id": 1000}] * 1_000, step_ms=step_ms)
    assert f"about {rate}" in text, text


def test_rules_are_proposed_that_the_records_obey_and_only_count() -> None:
    documents = [
        {
            "id": n,
            "delta": n - 1,
            "state": ("new", "paid")[n % 2],
            "mail": f"m{n}",
            "part": n if n % 3 else None,
        }
        for n in range(120)
    ]
    values = [json.dumps(document).encode() for document in documents]
    draft = Draft(topic="orders", kafka=KAFKA, proposes_rules=True)
    text = draft_table(draft, _sampled(values), None, {}, None).text()
    (table,) = load_text(text, "draft.yaml", {}).tables
    assert table.on_break == "count"
    assert {c.name: c.rules for c in table.columns} == {
        "id": ColumnRules(required=True, least="0"),
        "delta": ColumnRules(required=True),
        "state": ColumnRules(required=True, values=("new", "paid")),
        "mail": ColumnRules(required=True),
        "part": ColumnRules(least="0"),
    }
    assert "the rules are proposals, which these 120 rows obey" in text
    few = draft_table(draft, _sampled(values[:99]), None, {}, None).text()
    assert (
        "no rules are proposed: 99 rows, 100 are needed" in few and "required" not in few.split("tables:")[1]
    )
    assert "required" not in _map(_sampled(values))
