"""A semantic type in a record's schema: the value is converted exactly, or the record is a dead letter that names both types."""

import json
import random
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.change_logs.decoder import ChangeLogDecoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.json import of_records
from kafka2hive.decode.semantics.types import SEMANTIC_TYPES
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoder, Reason
from tests.contract import avro_ways, protobuf_ways
from tests.contract.avro_cases import number as zigzag
from tests.contract.avro_cases import text
from tests.contract.decode_ways import EACH_WAY
from tests.contract.semantic_cases import (
    AVRO_KINDS,
    BYTES,
    CASES,
    COLUMNS,
    LOGICAL_CASES,
    PROTOBUF_CASES,
    Case,
    avro_becomes,
    expected_in,
)
from tests.harness.outcomes import row_outcomes

DECIMAL = "org.apache.kafka.connect.data.Decimal"
BESIDE = {"type": "int64", "optional": False, "field": "id"}


def library(way: str) -> Any:
    return None if way == "exact" else LIBRARY


def events(way: str, schema: pa.Schema, sources: Sequence[Source], zone: str = "UTC") -> Decoder:
    return of_records(DecoderSpec("json", schema, zone, sources), library(way))


def envelopes(way: str, schema: pa.Schema, sources: Sequence[Source], zone: str = "UTC") -> Decoder:
    return ChangeLogDecoder(
        ChangeLog.DEBEZIUM,
        schema.append(pa.field("__op", pa.string())),
        [*sources, Source(("__op",))],
        lambda columns, of: of_records(DecoderSpec("json", columns, zone, of), library(way)),
        decimals="text",
    )


def event(of_value: dict[str, Any], value: Any) -> dict[str, Any]:
    """As the JSON converter writes it, for the field `v`."""
    fields = [BESIDE, {**of_value, "field": "v"}]
    return {
        "schema": {"type": "struct", "fields": fields, "optional": False},
        "payload": {"id": 1, "v": value},
    }


def envelope(of_value: dict[str, Any], value: Any) -> dict[str, Any]:
    row = {"type": "struct", "fields": [BESIDE, {**of_value, "field": "v"}], "optional": True}
    parts = [{**row, "field": "before"}, {**row, "field": "after"}, {"type": "string", "field": "op"}]
    return {
        "schema": {"type": "struct", "fields": parts, "name": "Envelope"},
        "payload": {"op": "c", "before": None, "after": {"id": 1, "v": value}},
    }


def written(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def column(kind: str) -> pa.Schema:
    return pa.schema([("v", parse_hive_type(kind))])


def outcome(decoder: Decoder, *documents: Any) -> list[Any]:
    messages = [one if isinstance(one, bytes) else written(one) for one in documents]
    return [one if isinstance(one, Reason) else one[0] for one in row_outcomes(decoder, messages)]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}{case.parameters.get('scale', '')}")
def test_each_type_in_each_column_is_exact_or_a_dead_letter_that_names_both(case: Case, way: str) -> None:
    for kind, unit in COLUMNS:
        of_events = events(way, column(kind), [Source(("payload", "v"), unit)])
        of_envelopes = envelopes(way, column(kind), [Source(("v",), unit)])
        found = outcome(of_events, event(case.schema(), case.value))
        found += outcome(of_envelopes, envelope(case.schema(), case.value))
        for one in found:
            expected = expected_in(case.becomes, kind, unit)
            if expected is None:
                assert isinstance(one, Reason), (kind, unit, one)
                assert case.name in one.text and kind in one.text and one.column == "v"
                assert "column v" in one.text
            else:
                assert (type(one), one) == (type(expected), expected), (kind, unit)
        nothing = outcome(of_events, event(case.schema(), None))
        nothing += outcome(of_envelopes, envelope(case.schema(), None))
        assert nothing == [None, None], (kind, unit)


def test_every_type_that_the_decoder_knows_has_a_case() -> None:
    assert {case.name for case in CASES} == set(SEMANTIC_TYPES)


def avro_value(kind: str, value: Any) -> bytes:
    if kind in ("int", "long"):
        return zigzag(value)
    return value if kind == "fixed" else text(value)


def in_avro(way: str, schema: Any, value: Any, kind: str, unit: str | None) -> Any:
    decoder = avro_ways.WAYS[way](
        column(kind),
        "UTC",
        [Source(("v",), unit)],
        writers=avro_ways.Registry(id1=avro_ways.record(v=schema)),
    )
    (found,) = outcome(decoder, avro_ways.framed(1, avro_value(schema["type"], value)))
    return found


def check(found: Any, expected: Any, name: str, kind: str) -> None:
    """Compare a value, or a dead letter for None; one that no value of the type could fill names both types."""
    if expected is not None:
        assert (type(found), found) == (type(expected), expected)
        return
    assert isinstance(found, Reason) and kind.partition("<")[0] in found.text
    if found.code.endswith(".resolve"):
        assert name in found.text
    else:
        assert found.code.endswith((".range", ".inexact", ".utf8"))


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}{case.parameters.get('scale', '')}")
def test_each_type_that_connect_names_in_avro_is_exact_or_a_dead_letter(case: Case, way: str) -> None:
    if case.kind == "struct":
        return  # a record of Avro, which fills structs by its fields
    becomes = avro_becomes(case)
    named: dict[str, Any] = {"type": AVRO_KINDS[case.kind], "connect.name": case.name, "connect.version": 1}
    if case.parameters:
        named["connect.parameters"] = case.parameters
    for kind, unit in COLUMNS:
        found = in_avro(way, named, BYTES if case.kind == "bytes" else case.value, kind, unit)
        check(found, expected_in(becomes, kind, unit), case.name, kind)


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("schema", "value", "becomes"), LOGICAL_CASES)
def test_each_logical_type_of_avro_is_exact_or_a_dead_letter(
    schema: dict[str, Any], value: Any, becomes: dict[str, Any], way: str
) -> None:
    for kind, unit in COLUMNS:
        found = in_avro(way, schema, value, kind, unit)
        check(found, expected_in(becomes, kind, unit), schema["logicalType"], kind)


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("name", "data", "becomes"), PROTOBUF_CASES)
def test_each_well_known_type_of_protobuf_is_exact_or_a_dead_letter(
    name: str, data: bytes, becomes: dict[str, Any], way: str
) -> None:
    package, _, of_package = name.rpartition(".")
    files = {
        "StringValue": "wrappers",
        "TimeOfDay": "timeofday",
        "DateTime": "datetime",
        "Decimal": "decimal",
    }
    file = "wrappers" if of_package.endswith("Value") else files.get(of_package, of_package.lower())
    folder = "confluent/type" if package == "confluent.type" else package.replace(".", "/")
    schema = f'syntax = "proto3"; import "{folder}/{file}.proto"; message M {{ {name} v = 1; }}'
    for kind, unit in COLUMNS:
        if kind.startswith("struct"):
            continue
        decoder_of = protobuf_ways.WAYS[way]
        sources = [Source(("v",), unit)]
        writers = protobuf_ways.Registry(id1=protobuf_ways.written(schema))
        decoder = decoder_of(column(kind), "UTC", sources, writers=writers)
        message = protobuf_ways.head(1, 0) + b"\x0a" + bytes([len(data)]) + data
        (found,) = outcome(decoder, message)
        check(found, expected_in(becomes, kind, unit), name, kind)


SCALES = {"type": "bytes", "name": DECIMAL, "version": 1}


def of_scale(scale: str) -> dict[str, Any]:
    return {**SCALES, "parameters": {"scale": scale}}


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("leeway", [Leeway(), Leeway(decimals="base64")])
def test_the_scale_of_the_record_counts_whatever_the_map_says(leeway: Leeway, way: str) -> None:
    decoder = events(way, column("decimal(12,2)"), [Source(("payload", "v"), None, leeway)])
    found = outcome(
        decoder,
        event(of_scale("2"), "MDk="),
        event(of_scale("3"), "MDk="),
        event(of_scale("0"), "PA=="),
        event(of_scale("2"), "0000"),
        event({"type": "string"}, "0000"),
        event({"type": "double"}, 60),
        event(of_scale("2"), 60),
        event(of_scale("2"), ""),
        event(of_scale("2"), "MDk"),
        event(of_scale("0"), "f" * 4000),
        event(of_scale("02"), "MDk="),
        event(of_scale("1000"), "MDk="),
        event({"type": "bytes"}, "0000"),
        event({**of_scale("2"), "type": "string"}, "1.50"),
    )
    assert [one if isinstance(one, Decimal) else one.code for one in found] == [
        Decimal("123.45"),
        "json.inexact",
        Decimal("60.00"),
        Decimal("-29293.56"),
        Decimal("0.00"),
        Decimal("60.00"),
        Decimal("60.00"),
        "json.decimal",
        "json.base64",
        "json.range",
        *["json.semantic"] * 4,
    ]
    assert found[1].text == (
        f"column v (from $.payload.v): 12.345 is not exact as decimal(12,2) ({DECIMAL} of scale 3 in the record's schema)"
    )
    (bare,) = outcome(decoder, b'{"payload":{"v":"MDk="}}')
    assert bare == Decimal("123.45") if leeway.decimals == "base64" else bare.code == "json.type"


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_time_within_an_array_a_map_or_a_struct_is_read_by_its_own_schema(way: str) -> None:
    stamp = {"type": "int64", "name": "io.debezium.time.Timestamp", "version": 1}
    day = {"type": "int32", "name": "io.debezium.time.Date", "version": 1}
    year = {"type": "int32", "name": "io.debezium.time.Year", "version": 1}
    inner = [{**stamp, "field": "at"}, {**day, "field": "day"}, {**of_scale("1"), "field": "fee"}]
    row = {"type": "struct", "fields": [*inner, {"type": "string", "field": "name"}], "optional": True}
    kind = "struct<at:timestamp,day:date,fee:decimal(9,2),name:string,none:int>"
    values = {"at": 1_732_000_000_000, "day": 19_000, "fee": "MDk=", "name": "x"}
    expected = {
        "at": datetime(2024, 11, 19, 2, 6, 40),
        "day": date(2022, 1, 8),
        "fee": Decimal("1234.50"),
        "name": "x",
        "none": None,
    }
    zone = "America/New_York"
    source = [Source(("payload", "v"))]
    assert outcome(events(way, column(kind), source, zone), event(row, values)) == [expected]
    assert outcome(envelopes(way, column(kind), [Source(("v",))], zone), envelope(row, values)) == [expected]
    array = {"type": "array", "items": row}
    decoder = events(way, column(f"array<{kind}>"), source, zone)
    assert outcome(decoder, event(array, [values, None])) == [[expected, None]]
    pairs = {"type": "map", "keys": {"type": "string"}, "values": day}
    decoder = events(way, column("map<string,date>"), source, zone)
    assert outcome(decoder, event(pairs, {"a": 19_000})) == [[("a", date(2022, 1, 8))]]
    (bad,) = outcome(decoder, event({**pairs, "values": year}, {"a": 2024}))
    assert bad.code == "json.semantic" and bad.path == ".a"
    assert bad.text == (
        "column v (from $.payload.v).a is a date, but the record's schema says io.debezium.time.Year"
    )
    within = events(way, column("date"), [Source(("payload", "v", "a"))], zone)
    assert outcome(within, event(pairs, {"a": 19_000})) == [date(2022, 1, 8)]
    whole = events(way, column("date"), [Source(("payload",))], zone)
    assert outcome(whole, {"schema": day, "payload": 19_000}) == [date(2022, 1, 8)]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_schema_is_found_wherever_and_however_it_is_written(way: str) -> None:
    stamp = {"type": "int64", "name": "io.debezium.time.Timestamp"}
    document = event(stamp, 1_732_000_000_000)
    turned = dict(reversed(document.items()))
    more = {"x": {"schema": {}}, **document}
    spellings = [
        written(document),
        written(turned),
        written(more),
        written({**turned, "x": "}"}),
        json.dumps(document).encode(),
        json.dumps(turned, indent=2).encode(),
        b" \n" + json.dumps(document, indent=1).encode() + b"\n",
        written(document).replace(b'"schema"', b'"sch\\u0065m\\u0061"'),
        written(document).replace(b'"payload"', b'"p\\u0061yload"'),
        written(document).replace(b'"optional":false', b'"optional":false,"payload":{"a":[1]}'),
        written(turned).replace(b'"id":1', b'"id":1,"s":"\\",\\"schema\\":{}","schema":{"type":"struct"}'),
    ]
    decoder = events(way, column("timestamp"), [Source(("payload", "v"), "us")])
    expected = datetime(2024, 11, 19, 7, 6, 40)
    for spelled in spellings:
        assert outcome(decoder, spelled) == [expected], spelled
    assert outcome(decoder, *spellings, *reversed(spellings)) == [expected] * (2 * len(spellings))


@pytest.mark.parametrize("way", EACH_WAY)
def test_what_is_no_schema_of_kafka_connect_changes_nothing(way: str) -> None:
    decoder = events(way, column("timestamp"), [Source(("payload", "v"), "us")])
    no_schemas: list[Any] = [None, 1, "v1", [], {}, {"type": "struct"}, {"type": "struct", "fields": 1}]
    documents: list[Any] = [{"schema": schema, "payload": {"v": 1_000_000}} for schema in no_schemas]
    documents += [
        {"schema": {"type": "struct", "fields": fields}, "payload": {"v": 1_000_000}}
        for fields in ([], [1], [{"field": 1}], [{"field": "v"}], [{"field": "v", "name": 5, "type": []}])
    ]
    documents += [{"payload": {"v": 1_000_000, "schema": {"type": "struct"}}}]
    documents += [event({"type": "int64", "name": "com.example.Unknown"}, 1_000_000)]
    assert outcome(decoder, *documents) == [datetime(1970, 1, 1, 0, 0, 1)] * len(documents)
    of_decimals = events(
        way, column("decimal(9,2)"), [Source(("payload", "v"), None, Leeway(decimals="base64"))]
    )
    odd: list[dict[str, Any]] = [
        {"type": ["x"]},
        {"type": {}, "parameters": []},
        {"name": [], "parameters": {"scale": 2}},
    ]
    assert outcome(of_decimals, *(event(schema, "MDk=") for schema in odd)) == [Decimal("123.45")] * 3
    damaged = written(event({"type": "int64", "name": "io.debezium.time.Timestamp"}, 1))[:-1]
    assert [one.code for one in outcome(decoder, damaged, b"", b'{"schema":', b"\xff")] == [
        "json.syntax",
        "json.empty",
        "json.syntax",
        "json.utf8",
    ]


@pytest.mark.parametrize("way", EACH_WAY)
def test_records_of_many_schemas_keep_their_order(way: str) -> None:
    """More schemas than are compared with a whole batch, records without one, and bad ones among them."""
    draw = random.Random(43)
    units = {"Timestamp": 1_000, "MicroTimestamp": 1, "Year": 0}
    messages, expected = [], []
    for number in range(600):
        name = draw.choice([*units, None])
        table = draw.randrange(30)
        at = draw.randrange(1_000_000_000) * 1_000
        if name is None:
            messages.append(written({"payload": {"v": at, "n": number}}))
        else:
            document = event({"type": "int64", "name": f"io.debezium.time.{name}", "doc": str(table)}, at)
            document["payload"]["n"] = number
            messages.append(written(document if draw.random() < 0.7 else dict(reversed(document.items()))))
        factor = 1 if name is None else units[name]
        expected.append(
            (datetime.fromtimestamp(at * factor / 1e6) if False else at * factor) if factor else None
        )
    schema = pa.schema([("v", pa.timestamp("us")), ("n", pa.int64())])
    sources = [Source(("payload", "v"), "us"), Source(("payload", "n"))]
    decoded = events(way, schema, sources).decode(pa.array(messages, pa.binary()))
    decoded.rows.validate(full=True)
    good = [number for number, one in enumerate(expected) if one is not None]
    assert decoded.accepted.to_pylist() == decoded.rows.column(1).to_pylist() == good
    assert decoded.rows.column(0).cast(pa.int64()).to_pylist() == [expected[number] for number in good]
    assert decoded.rejected.to_pylist() == [n for n in range(600) if n not in set(good)]
    assert {reason.code for reason in decoded.reasons} == {"json.semantic"}


@pytest.mark.parametrize("way", EACH_WAY)
def test_other_keys_of_a_column_still_hold(way: str) -> None:
    nanos = {"type": "int64", "name": "io.debezium.time.NanoTimestamp"}
    cut = events(way, column("timestamp"), [Source(("payload", "v"), None, Leeway(fraction="truncate"))])
    (found,) = outcome(cut, event(nanos, 1_732_000_000_000_000_999))
    assert found == datetime(2024, 11, 19, 7, 6, 40)
    (found,) = outcome(
        cut,
        event(nanos, 2**63 - 1),
    )
    assert found == datetime(2262, 4, 11, 23, 47, 16, 854775)
    exact = events(way, column("timestamp"), [Source(("payload", "v"))])
    (found,) = outcome(exact, event(nanos, 1_732_000_000_000_000_999))
    assert found.code == "json.inexact" and "io.debezium.time.NanoTimestamp" in found.text
    zoned = {"type": "string", "name": "io.debezium.time.ZonedTimestamp"}
    (found,) = outcome(cut, event(zoned, "2024-11-19T07:06:40.0000001Z"))
    assert found == datetime(2024, 11, 19, 7, 6, 40)
    (found,) = outcome(cut, event({"type": "int32", "name": "io.debezium.time.Year"}, 2024))
    assert found.code == "json.semantic"


def test_several_paths_and_defaults_and_rows_are_read_by_the_schema_too() -> None:
    stamp = {"type": "int64", "name": "io.debezium.time.Timestamp"}
    several = Source(("payload", "w"), "us", Leeway(others=(("payload", "v"),)))
    decoder = make_decoder(DecoderSpec("json", column("timestamp"), "UTC", [several]))
    expected = datetime(2024, 11, 19, 7, 6, 40)
    assert outcome(decoder, event(stamp, 1_732_000_000_000)) == [expected]
    spec = DecoderSpec("json", column("timestamp"), "UTC", [Source(("payload", "v"), "us")], rows="array")
    decoded = make_decoder(spec).decode(
        pa.array([written([event(stamp, 1_732_000_000_000), {"payload": {"v": 1}}])], pa.binary())
    )
    assert decoded.rows.column(0).to_pylist() == [expected, datetime(1970, 1, 1, 0, 0, 0, 1)]
    spec = DecoderSpec("json", column("date"), "UTC", [Source(("payload", "V"))], any_case=True)
    assert outcome(make_decoder(spec), event({"type": "int32", "name": "io.debezium.time.Date"}, 19_000)) == [
        date(2022, 1, 8)
    ]
