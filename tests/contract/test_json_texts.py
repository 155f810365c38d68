"""`json: text`: any JSON value in a column of strings, with the characters that the message has, in every way that reads JSON."""

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.columns import Leeway
from kafka2hive.config.keys.source import DEFAULT_PLACEHOLDER
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.compiled import NativeJsonReader
from kafka2hive.decode.contract.sources import Source, exact_spelling
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.json import of_records
from kafka2hive.decode.values.json_texts import TEXT_HINT
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoder
from tests.contract.decode_cases import TEXT_CASES, Dead
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import first_values, outcomes_of
from tests.harness.reasons import texts_of

ANY = Leeway(json="text")
CODES = [expected.code if isinstance(expected, Dead) else expected for _, expected in TEXT_CASES]
OTHERS = sum(
    not isinstance(expected, Dead) and text != "null" and not text.startswith('"')
    for text, expected in TEXT_CASES
)


def decoder(way: str, **more: Any) -> Decoder:
    made: Decoder = WAYS[way](pa.schema([("a", pa.string())]), "UTC", [Source(("a",), None, ANY)], **more)
    return made


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_every_value_becomes_its_characters(way: str, blank: str) -> None:
    messages = [
        f'{blank}{{"z":[1],{blank}"a"{blank}:{blank}{text}{blank},"b":{{}}}}{blank}' for text, _ in TEXT_CASES
    ]
    changes = Changes()
    found = first_values(decoder(way, changes=changes), [message.encode() for message in messages])
    assert found == CODES
    assert changes.take() == (("json", OTHERS),) and changes.take() == ()
    for message, expected in zip(messages, CODES, strict=True):
        assert first_values(decoder(way), [message.encode()]) == [expected], message


@needs_compiled
def test_the_compiled_decoder_takes_them_all_itself() -> None:
    schema = pa.schema([("a", pa.string())])
    reader = NativeJsonReader(LIBRARY, schema, "UTC", [Source(("a",), None, ANY)], exact_spelling, False)
    messages = [f'{{"a":{text}}}'.encode() for text, _ in TEXT_CASES]
    _, certain = reader.read(pa.array(messages, pa.binary()))
    assert certain.tolist() == [not isinstance(expected, Dead) for _, expected in TEXT_CASES]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_value_on_a_path_in_any_case_beside_columns_that_read_it_as_what_it_is(way: str) -> None:
    schema = pa.schema([("all", pa.string()), ("n", pa.int64()), ("m", pa.string()), ("s", pa.string())])
    sources = [
        Source(("p",), None, ANY),
        Source(("p", "n")),
        Source(("p", "n"), None, ANY),
        Source(("p", "q", "é"), None, ANY),
    ]
    messages = [
        '{"P":{"N":7,"q":{"x":{"é":1},"é":[ "é" ]}}}',
        '{"p":{"n":null,"Q":null}}',
        '{"p":{"n":1.0}}',
        '{"p":[1]}',
        '{"p":{"q":{"é":1,"é":1}}}',
        '{"p":{},"P":{}}',
        '{"\\u0070":{"\\u006e":7,"x":1e5}}',
    ]
    changes = Changes()
    made = WAYS[way](schema, "UTC", sources, any_case=True, changes=changes)
    found = [
        one if isinstance(one, list) else one.code
        for one in outcomes_of(made, [m.encode() for m in messages])
    ]
    assert found == [
        [['{"N":7,"q":{"x":{"é":1},"é":[ "é" ]}}', 7, "7", '[ "é" ]']],
        [['{"n":null,"Q":null}', None, None, None]],
        "json.type",
        "json.type",
        "json.duplicate",
        "json.ambiguous",
        [['{"\\u006e":7,"x":1e5}', 7, "7", None]],
    ]
    assert changes.take() == (("json", 6),)


@pytest.mark.parametrize("way", EACH_WAY)
def test_without_the_key_the_reason_names_it(way: str) -> None:
    strict = WAYS[way](pa.schema([("a", pa.string())]), "UTC", [Source(("a",))])
    for text, got in (('{"x":1}', "object"), ("[]", "array"), ("1", "number"), ("true", "boolean")):
        (reason,) = texts_of(strict.decode(pa.array([b'{"a":%s}' % text.encode()], pa.binary())).reasons)
        assert reason == f"json.type: column a expects string, got {got}{TEXT_HINT}"


@pytest.mark.parametrize("way", EACH_WAY)
def test_what_a_record_s_own_schema_says_of_the_value_does_not_matter(way: str) -> None:
    schema = pa.schema([("a", pa.string()), ("at", pa.timestamp("us"))])
    fields = [
        {"field": "a", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
    ]
    record = {"schema": {"type": "struct", "fields": fields}, "payload": {"a": 1500, "at": 0}}
    sources = [Source(("payload", "a"), None, ANY), Source(("payload", "at"), "s", Leeway("truncate"))]
    spec = DecoderSpec("json", schema, "UTC", sources)
    made = of_records(spec, None) if way == "exact" else of_records(spec)
    ((row,),) = outcomes_of(made, [json.dumps(record).encode()])
    assert row[0] == "1500" and str(row[1]) == "1970-01-01 00:00:00"


def test_defaults_and_several_paths_see_a_text() -> None:
    leeway = Leeway(others=(("b",),), default="none", json="text")
    changes = Changes()
    schema = pa.schema([("a", pa.string())])
    made = make_decoder(DecoderSpec("json", schema, "UTC", [Source(("a",), None, leeway)], changes=changes))
    messages = [
        b'{"a":{"x":1}}',
        b'{"b":1}',
        b"{}",
        b'{"a":12,"b":"12"}',
        b'{"a":[1],"b":[1 ]}',
        b'{"a":null}',
    ]
    assert first_values(made, messages) == ['{"x":1}', "1", "none", "12", "json.ambiguous", "none"]
    assert changes.take() == (("default", 2), ("json", 5))


@pytest.mark.parametrize(
    ("spec", "message", "expected"),
    [
        (
            {"rows": "array"},
            b' [ {"a":{"x": 1.10}} , {"a":[ 1,2 ]}, {"a":"x"} ] ',
            ['{"x": 1.10}', "[ 1,2 ]", "x"],
        ),
        ({"rows": "array"}, b'[{"a":{"x": 1.10}},{"a":[ 1,2 ]}]', ['{"x": 1.10}', "[ 1,2 ]"]),
        ({"rows": "lines"}, b'{"a":{"x": 1.10}}\n\n{"a":true}\n', ['{"x": 1.10}', "true"]),
        ({"format": "json_schema"}, b'\0\0\0\0\7{"a" : {"x": 1.10} }', ['{"x": 1.10}']),
    ],
)
def test_messages_of_several_rows_and_with_heads_keep_every_character(
    spec: dict[str, Any], message: bytes, expected: list[str]
) -> None:
    schema = pa.schema([("a", pa.string())])
    options: dict[str, Any] = {"format": "json", **spec}
    made = make_decoder(DecoderSpec(schema=schema, sources=[Source(("a",), None, ANY)], **options))
    (rows,) = outcomes_of(made, [message])
    assert [value for (value,) in rows] == expected


CHANGES = {
    "__op": "string",
    "__ts_ms": "bigint",
    "__source_position": "string",
}


@pytest.mark.parametrize(
    ("log", "record"),
    [
        (ChangeLog.DEBEZIUM, '{"op":"c","ts_ms":1,"source":{},"before":null,"after":{"id":1,"doc":%s}}'),
        (ChangeLog.DEBEZIUM, '{"op":"d","ts_ms":1,"source":{},"before":{"id":1,"doc":%s},"after":null}'),
        (ChangeLog.DEBEZIUM, '{"payload":{"op":"c","ts_ms":1,"source":{},"after":{"id":1,"doc":%s}}}'),
        (ChangeLog.MAXWELL, '{"type":"insert","ts":1,"data":{"id":1,"doc":%s}}'),
    ],
)
def test_a_row_of_a_change_log_has_the_characters_too(log: ChangeLog, record: str) -> None:
    kinds = {"id": "bigint", "doc": "string", **CHANGES}
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in kinds.items()])
    sources = [Source((name,), None, ANY if name == "doc" else Leeway()) for name in schema.names]
    made = make_decoder(DecoderSpec("json", schema, "UTC", sources, change_log=log))
    texts = ['{"a": 1.10}', "[1, 2]", "7", '"x"', "null"]
    found = outcomes_of(made, [(record % text).encode() for text in texts])
    assert [rows[0][1] for rows in found] == ['{"a": 1.10}', "[1, 2]", "7", "x", None]


def test_a_placeholder_is_no_text() -> None:
    schema = pa.schema([("doc", pa.string()), ("__op", pa.string())])
    sources = [Source(("doc",), None, ANY), Source(("__op",))]
    made = make_decoder(DecoderSpec("json", schema, "UTC", sources, change_log=ChangeLog.DEBEZIUM))
    record = '{"op":"u","after":{"doc":%s}}'
    hstore = json.dumps({DEFAULT_PLACEHOLDER: DEFAULT_PLACEHOLDER}, separators=(",", ":"))
    messages = [(record % json.dumps(text)).encode() for text in (DEFAULT_PLACEHOLDER, hstore)]
    assert first_values(made, messages) == ["change_log.unavailable"] * 2
