"""`json: text`: any JSON value in a column of strings, with the characters that the message has, in every way that reads JSON."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.leeway import Leeway
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
from tests.harness.outcomes import first_values, outcomes_of, row_outcomes
from tests.harness.reasons import texts_of

ANY = Leeway(json="text")
CANONICAL = Leeway(json="canonical")
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


WHOLE = Source((), None, ANY)


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("blank", ["", " ", "\r\n\t"])
def test_a_whole_message_is_a_text_beside_its_values(way: str, blank: str) -> None:
    schema = pa.schema(
        [("doc", pa.string()), ("n", pa.int64()), ("again", pa.string()), ("sorted", pa.string())]
    )
    sources = [WHOLE, Source(("n",)), WHOLE, Source((), None, CANONICAL)]
    messages = [
        f'{blank}{{{blank}"n":7, "x":{{"é": 1.10 ,"\\u0061":[1, 2]}}}}{blank}',
        f"{blank}{{}}{blank}",
        f'{blank}{{"n":1.5}}',
        f'{blank}{{"n":1}}]',
        f'{blank}{{"x":{{"y":1,"y":2}}}}',
        f"{blank}[]",
    ]
    changes = Changes()
    made = WAYS[way](schema, "UTC", sources, changes=changes)
    found = row_outcomes(made, [message.encode() for message in messages])
    first = messages[0].strip()
    assert found[0] == [first, 7, first, '{"n":7,"x":{"a":[1,2],"é":1.10}}']
    assert found[1] == ["{}", None, "{}", "{}"]
    assert [one.code for one in found[2:]] == ["json.type", "json.syntax", "json.duplicate", "json.object"]
    assert changes.take() == (("json", 6),)


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_message_may_have_no_other_column_than_itself(way: str) -> None:
    made = WAYS[way](pa.schema([("doc", pa.string())]), "UTC", [WHOLE])
    texts = ['{"a":{"a":1}}', '{"a":1,"a":[2 ]}', "1", ""]
    assert first_values(made, [text.encode() for text in texts]) == [*texts[:2], "json.object", "json.empty"]


@pytest.mark.parametrize(
    ("rows", "message"), [("lines", "%s\n %s \n\n"), ("array", "[ %s , %s]"), ("array", "[%s,%s]")]
)
def test_the_text_of_a_row_is_its_line_or_element(rows: str, message: str) -> None:
    texts = ('{"n": 1, "x": [ 1,2 ]}', '{"n":2 }')
    schema = pa.schema([("doc", pa.string()), ("n", pa.int64())])
    made = make_decoder(DecoderSpec("json", schema, "UTC", [WHOLE, Source(("n",))], rows=rows))
    assert outcomes_of(made, [(message % texts).encode()]) == [[[texts[0], 1], [texts[1], 2]]]


def test_the_text_of_a_message_begins_after_its_head_and_includes_its_schema() -> None:
    schema = pa.schema([("doc", pa.string()), ("n", pa.int64())])
    text = '{"schema":{"type":"struct","fields":[{"field":"n","type":"int64"}]},"payload":{"n":3}}'
    made = make_decoder(DecoderSpec("json_schema", schema, "UTC", [WHOLE, Source(("payload", "n"))]))
    assert outcomes_of(made, [b"\0\0\0\0\7" + text.encode()]) == [[[text, 3]]]


CANONICAL_CASES = [
    ('{"b":1,"a":2}', '{"a":2,"b":1}'),
    ('{"a":[ 1 , 2 ],"B":{ }}', '{"B":{},"a":[1,2]}'),
    ('{"é":1,"z":2,"\\ud83d\\ude00":3,"\\uff00":4}', '{"z":2,"é":1,"\uff00":4,"\U0001f600":3}'),
    ('{"":1,"\\u0000":2,"aa":3,"a":4}', '{"":1,"\\u0000":2,"a":4,"aa":3}'),
    ('["\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\\\u001F\\u007f"]', '["A/\\b\\f\\n\\r\\t\\"\\\\\\u001f\x7f"]'),
    ("[1.10,1E+2,-0,0.0,1e999,123456789012345678901234567890]",) * 2,
    ("[true,false,null]",) * 2,
    ("1.10", "1.10"),
    ('" b a "', " b a "),
    ("null", None),
    ('{"a":{"b":1,"c":2,"b":3}}', "json.duplicate"),
    ('[{"a":1,"\\u0061":1}]', "json.duplicate"),
    ('{"a":1,"A":2}', '{"A":2,"a":1}'),
    ("[" * 63 + "]" * 63, "[" * 63 + "]" * 63),
    ("[" * 64 + "]" * 64, "json.depth"),
    ("[01]", "json.syntax"),
]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_canonical_text_has_sorted_keys_and_the_numbers_that_were_sent(way: str) -> None:
    made = WAYS[way](pa.schema([("a", pa.string())]), "UTC", [Source(("a",), None, CANONICAL)])
    messages = [f'{{"z":1, "a" : {text} }}'.encode() for text, _ in CANONICAL_CASES]
    assert first_values(made, messages) == [expected for _, expected in CANONICAL_CASES]
    alone = [first_values(made, [message])[0] for message in messages]
    assert alone == [expected for _, expected in CANONICAL_CASES]


@needs_compiled
def test_the_compiled_decoder_takes_canonical_texts_and_whole_messages_itself() -> None:
    schema = pa.schema([("a", pa.string()), ("doc", pa.string())])
    sources = [Source(("a",), None, CANONICAL), WHOLE]
    reader = NativeJsonReader(LIBRARY, schema, "UTC", sources, exact_spelling, False)
    messages = [f'{{"a":{text}}}'.encode() for text, _ in CANONICAL_CASES]
    _, certain = reader.read(pa.array(messages, pa.binary()))
    assert certain.tolist() == [not str(expected).startswith("json.") for _, expected in CANONICAL_CASES]


@needs_compiled
def test_both_decoders_agree_on_random_texts() -> None:
    dice = random.Random(20)
    schema = pa.schema([(name, pa.string()) for name in ("doc", "text", "sorted", "all")])
    sources = [WHOLE, Source(("a",), None, ANY), Source(("a",), None, CANONICAL), Source((), None, CANONICAL)]
    messages = [_random_message(dice) for _ in range(3000)]
    exact, compiled = (WAYS[way](schema, "UTC", sources) for way in ("exact", "compiled"))
    outcomes = outcomes_of(exact, messages)
    assert outcomes == outcomes_of(compiled, messages)
    rows = [one[0] for one in outcomes if isinstance(one, list)]
    assert 1000 < len(rows) < 2900
    for doc, _, _, whole in rows:
        pairs: list[list[tuple[str, Any]]] = []
        assert _as_read(whole, pairs.append) == _as_read(doc, lambda _: None)
        assert all(names == sorted(set(names)) for names in ([key for key, _ in one] for one in pairs))
        assert not re.search(r"\s", re.sub(r'"(?:[^"\\]|\\.)*"', "", whole))


def _as_read(text: str, note: Callable[[list[tuple[str, Any]]], None]) -> Any:
    """Return a text's value with numbers as their characters; `note` gets the members of each object in their order."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        note(pairs)
        return dict(pairs)

    return json.loads(text, parse_float=str, parse_int=str, object_pairs_hook=members)


def _random_message(dice: random.Random) -> bytes:
    def blank() -> str:
        return dice.choice(["", "", " ", "\n", "\t "])

    def text() -> str:
        letters = dice.choices(
            ["a", "b", "é", "\\n", "\\u0061", "\\\\", '\\"', "\U0001f600", "\\u00e9", "}"],
            k=dice.randrange(3),
        )
        return f'"{"".join(letters)}"'

    def value(depth: int) -> str:
        kind = dice.randrange(8 if depth < 4 else 5)
        if kind < 5:
            return (
                text(),
                dice.choice(["1", "-0", "12", "99999999999999999999"]),
                dice.choice(["1.50", "-0.0e-1"]),
                "true",
                "null",
            )[kind]
        if kind == 5:
            return f"[{blank()}{','.join(blank() + value(depth + 1) + blank() for _ in range(dice.randrange(4)))}]"
        members = (
            f"{blank()}{text()}{blank()}:{blank()}{value(depth + 1)}{blank()}"
            for _ in range(dice.randrange(4))
        )
        return f"{{{blank()}{','.join(members)}}}"

    message = f'{blank()}{{"n":{value(2)},"a":{value(0)}{blank()}}}{blank()}'.encode()
    if dice.random() < 0.15:
        at = dice.randrange(len(message))
        message = (
            message[:at] + dice.choice([b"", b",", b"]", b'"', b"\\", b"0", b"\xff"]) + message[at + 1 :]
        )
    return message
