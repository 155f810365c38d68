"""Maps whose keys are no strings, in JSON, Avro and Protobuf and in both decoders: each text is a key exactly, or a letter."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.avro.decoder import AvroDecoder
from kafka2hive.decode.columns import with_map_keys
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.json import of_records
from kafka2hive.decode.protobuf.decoder import ProtobufDecoder
from kafka2hive.model.hive_type_parser import HiveTypeError
from kafka2hive.model.hive_types import hive_type_of, parse_hive_type
from kafka2hive.plugins import Decoder
from tests.contract.avro_ways import record, written
from tests.contract.decode_ways import EACH_WAY
from tests.contract.protobuf_cases import number, sized
from tests.contract.protobuf_ways import written as of_proto
from tests.contract.test_avro_against_fastavro import encoded
from tests.harness.outcomes import first_values, outcomes_of

MAKERS: dict[str, Callable[[DecoderSpec, Any], Decoder]] = {
    "json": of_records,
    "avro": AvroDecoder,
    "protobuf": ProtobufDecoder,
}


def made(way: str, format: str, dtype: str, writers: Any = None) -> Decoder:
    schema = pa.schema([("m", parse_hive_type(dtype)), ("n", pa.int64())])
    spec = DecoderSpec(format, schema, "Europe/Berlin", writers=writers)
    return with_map_keys(spec, lambda one: MAKERS[format](one, None if way == "exact" else LIBRARY))


KEYS: list[tuple[str, dict[str, Any]]] = [
    (
        "bigint",
        {"1": 1, "-7": -7, "9223372036854775807": 2**63 - 1, "9223372036854775808": ".range", "1.0": ".type"}
        | {"01": ".type", "+1": ".type", " 1": ".type", "": ".type", "x": ".type", "-0": 0},
    ),
    ("tinyint", {"127": 127, "128": ".range"}),
    ("boolean", {"true": True, "false": False, "TRUE": ".type", "1": ".type"}),
    ("date", {"2013-01-01": date(2013, 1, 1), "2013-02-30": ".date", "2013-1-1": ".date"}),
    ("decimal(5,2)", {"1.5": Decimal("1.50"), "007": Decimal("7.00"), "1.001": ".inexact", "1e9": ".range"}),
    ("string", {"": "", "a": "a"}),
]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("key", "texts"), KEYS, ids=[key for key, _ in KEYS])
def test_each_text_is_a_key_or_a_letter(key: str, texts: dict[str, Any], way: str) -> None:
    bad = {text: want for text, want in texts.items() if isinstance(want, str) and want.startswith(".")}
    good = {text: want for text, want in texts.items() if text not in bad}
    dtype = f"map<{key},int>"
    assert hive_type_of(parse_hive_type(dtype)) == dtype
    json_texts = [f'{{"m":{{"{text}":1}},"n":5}}'.encode() for text in texts]
    wanted = [f"json{bad[text]}" if text in bad else [(want, 1)] for text, want in texts.items()]
    assert first_values(made(way, "json", dtype), json_texts) == wanted
    schema = record(m={"type": "map", "values": "int"}, n="long")
    messages = encoded(schema, [{"m": {text: 1}, "n": 5} for text in texts])
    wanted = [f"avro{bad[text]}" if text in bad else [(want, 1)] for text, want in texts.items()]
    assert first_values(made(way, "avro", dtype, written(schema)), messages) == wanted
    (whole,) = first_values(
        made(way, "avro", dtype, written(schema)), encoded(schema, [{"m": dict.fromkeys(good, 1), "n": 5}])
    )
    assert whole == [(want, 1) for want in good.values()]


@pytest.mark.parametrize("way", EACH_WAY)
def test_equal_keys_are_a_letter_null_and_empty_maps_are_kept_and_order_stays(way: str) -> None:
    decoder = made(way, "json", "map<bigint,string>")
    messages = [
        b'{"m":{"2":"b","1":null}}',
        b'{"m":null}',
        b'{"m":{}}',
        b'{"m":{"0":"a","-0":"b"}}',
        b'{"n":1}',
        b'{"m":{"3":"c"}}',
        b'{"m":{"1":"a","1":"b"}}',
        b'{"m":{"4":"c","x":"d"}}',
    ]
    twice = "json.duplicate"
    assert first_values(decoder, messages) == [
        [(2, "b"), (1, None)],
        None,
        [],
        twice,
        None,
        [(3, "c")],
        twice,
        "json.type",
    ]
    (_, reason) = outcomes_of(decoder, [messages[0], messages[-1]])
    assert reason.column == "m" and "column m (a key of the map) expects bigint" in reason.text


@pytest.mark.parametrize("way", EACH_WAY)
def test_maps_within_other_types(way: str) -> None:
    decoder = made(way, "json", "array<struct<a:int,b:map<int,map<date,string>>>>")
    messages = [
        b'{"m":[{"a":1,"b":{"7":{"2013-01-01":"x"},"8":null}},null,{"b":{}},{"a":2}]}',
        b'{"m":[{"b":{"7":{"2013-01-01":"x"}}},{"b":{"7":{"2013-13-01":"x"}}}]}',
        b'{"m":[]}',
        b'{"m":null}',
        b'{"m":[{"b":{"1":{}}}]}',
    ]
    assert first_values(decoder, messages) == [
        [
            {"a": 1, "b": [(7, [(date(2013, 1, 1), "x")]), (8, None)]},
            None,
            {"a": None, "b": []},
            {"a": 2, "b": None},
        ],
        "json.date",
        [],
        None,
        [{"a": None, "b": [(1, [])]}],
    ]


@pytest.mark.parametrize("way", EACH_WAY)
def test_maps_of_protobuf(way: str) -> None:
    text = 'syntax = "proto3"; message M { map<int64, int32> m = 1; map<bool, int32> b = 2; }'

    def entry(key: bytes, value: int) -> bytes:
        return sized(key + number(value, 2), 1)

    decoder = made(way, "protobuf", "map<bigint,int>", of_proto(text))
    messages = [
        entry(number(-5), 1) + entry(number(7), 2),
        entry(number(7), 1) + entry(number(7), 2),
        entry(b"", 3),
        b"",
    ]
    assert first_values(decoder, messages) == [[(-5, 1), (7, 2)], [(7, 2)], [(0, 3)], []]
    assert first_values(
        made(way, "protobuf", "map<tinyint,int>", of_proto(text)), [entry(number(300), 1)]
    ) == ["protobuf.range"]


PAIR = {
    "type": "record",
    "name": "MapEntry",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
}


def pairs(key: Any, value: Any) -> Any:
    fields = [{"name": "key", "type": key}, {"name": "value", "type": value}]
    return {"type": "array", "items": {"type": "record", "name": "MapEntry", "fields": fields}}


@pytest.mark.parametrize("way", EACH_WAY)
def test_maps_of_kafka_connect_in_avro(way: str) -> None:
    schema = record(m=["null", pairs("int", ["null", "string"])])
    decoder = made(way, "avro", "map<bigint,string>", written(schema))
    values: list[Any] = [
        [{"key": 2, "value": "b"}, {"key": 1, "value": None}],
        None,
        [],
        [{"key": 1, "value": "a"}, {"key": 1, "value": "b"}],
    ]
    messages = encoded(schema, [{"m": value} for value in values])
    assert first_values(decoder, messages) == [[(2, "b"), (1, None)], None, [], "avro.duplicate"]
    of_days = record(m=pairs({"type": "int", "logicalType": "date"}, "long"))
    decoder = made(way, "avro", "map<date,bigint>", written(of_days))
    assert first_values(decoder, encoded(of_days, [{"m": [{"key": 0, "value": 7}]}])) == [
        [(date(1970, 1, 1), 7)]
    ]
    of_nulls = record(m=pairs(["null", "boolean"], "long"))
    decoder = made(way, "avro", "map<boolean,bigint>", written(of_nulls))
    messages = encoded(of_nulls, [{"m": [{"key": True, "value": 7}]}, {"m": [{"key": None, "value": 7}]}])
    assert first_values(decoder, messages) == [[(True, 7)], "avro.type"]


def test_rows_of_one_message_are_refused_together() -> None:
    schema = pa.schema([("m", parse_hive_type("map<int,string>"))])
    decoder = make_decoder(DecoderSpec("json", schema, rows="array", sources=[Source(("m",))]))
    found = outcomes_of(decoder, [b'[{"m":{"1":"a"}},{"m":{"x":"a"}}]', b'[{"m":{"1":"a"}},{"m":{"2":"a"}}]'])
    assert found[0].code == "json.type" and found[1] == [[[(1, "a")]], [[(2, "a")]]]


@pytest.mark.parametrize("key", ["double", "float", "binary", "timestamp", "array<int>", "map<string,int>"])
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(HiveTypeError, match="a map's key must be a string, an integer") as error:
        parse_hive_type(f"array<map<{key},int>>")
    assert f"found '{key}'" in str(error.value)
