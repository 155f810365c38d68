"""`rows: {array: ..}`: the elements of an array within an object are rows, with columns of the object around them."""

import json
import random
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.compiled import NativeJsonReader
from kafka2hive.decode.contract.forms import ElementTexts
from kafka2hive.decode.contract.sources import Source, exact_spelling
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.rows.enclosed import EnclosedRowsDecoder
from kafka2hive.plugins import Decoder, Reason
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import outcomes_of

SCHEMA = pa.schema([("n", pa.int64()), ("account", pa.string()), ("t", pa.string())])
SOURCES = [Source(("n",)), Source(("of", "account"), is_around=True), Source(("t",))]
ROW = '{"n":1,"t":"a"}'
AROUND = '"of":{"account":"x"}'
GOOD = [[1, "x", "a"]]

CASES: list[tuple[str, str, Any]] = [
    ("one element", f'{{"Records":[{ROW}],{AROUND}}}', GOOD),
    ("two, the array last", f'{{{AROUND},"Records":[{ROW},{ROW}]}}', GOOD * 2),
    ("white space everywhere", f' {{ {AROUND} ,\n"Records" : [ {ROW} ,\t{ROW} ] }}\r\n', GOOD * 2),
    ("other members", f'{{"a":[[{{}}],"]"],"Records":[{ROW}],{AROUND},"z":null}}', GOOD),
    ("nothing around", f'{{"Records":[{ROW}]}}', [[1, None, "a"]]),
    ("null around", f'{{"Records":[{ROW}],"of":null}}', [[1, None, "a"]]),
    ("a name of both", f'{{"n":7,"t":"no","Records":[{ROW}],{AROUND}}}', GOOD),
    ("texts with brackets", '{"Records":[{"t":"],[\\"}{,\\\\"}]}', [[None, None, '],["}{,\\']]),
    ("texts with quotes", '{"Records":[{"t":"\\\\\\""},{"t":"\\""}]}', [[None, None, '\\"'], [None, None, '"']]),
    ("nested values", '{"Records":[{"n":1,"x":[[1,{"Records":[]}],"],"]},{}]}', [[1, None, None], [None, None, None]]),
    ("an escaped key", f'{{"\\u0052ecords":[{ROW}],{AROUND}}}', GOOD),
    ("letters", '{"Records":[{"t":"é€😀"}]}', [[None, None, "é€😀"]]),
    ("no element", f'{{"Records":[],{AROUND}}}', []),
    ("no element, with blanks", '{"Records": [ \n ] }', []),
    ("no array", f"{{{AROUND}}}", "json.array"),
    ("null", '{"Records":null}', "json.array"),
    ("an object", f'{{"Records":{ROW}}}', "json.array"),
    ("a string", f'{{"Records":{json.dumps(f"[{ROW}]")}}}', "json.array"),
    ("a number", '{"Records":1}', "json.array"),
    ("the array alone", f"[{ROW}]", "json.object"),
    ("empty", "", "json.empty"),
    ("numbers", '{"Records":[1,2]}', "json.object"),
    ("null among them", f'{{"Records":[{ROW},null]}}', "json.object"),
    ("an array within", f'{{"Records":[[{ROW}]]}}', "json.object"),
    ("a string of an object", f'{{"Records":[{json.dumps(ROW)}]}}', "json.object"),
    ("an array twice", f'{{"Records":[{ROW}],"Records":[]}}', "json.duplicate"),
    ("a key of an element twice", '{"Records":[{"n":1,"n":1}]}', "json.duplicate"),
    ("the second is bad", f'{{"Records":[{ROW},{{"n":"x"}},{ROW}]}}', "json.type"),
    ("a bad value around", f'{{"Records":[{ROW}],"of":{{"account":1}}}}', "json.type"),
    ("a bad value around no element", '{"Records":[],"of":{"account":1}}', "json.type"),
    ("no object around", f'{{"Records":[{ROW}],"of":1}}', "json.type"),
    ("a comma too many", f'{{"Records":[{ROW},]}}', "json.syntax"),
    ("cut off", f'{{"Records":[{ROW}', "json.syntax"),
    ("two objects", f'{{"Records":[{ROW}]}}{{}}', "json.syntax"),
    ("half a pair", '{"Records":[{"t":"\\ud800"}]}', "json.surrogate"),
    ("too deep", '{"Records":[{"x":' + "[" * 62 + "]" * 62 + "}]}", "json.depth"),
    ("as deep as a message may be", '{"Records":[{"x":' + "[" * 61 + "]" * 61 + "}]}", [[None] * 3]),
]  # fmt: skip


def decoder(way: str, array: tuple[str, ...] = ("Records",), sources: Any = SOURCES) -> Decoder:
    return EnclosedRowsDecoder(
        SCHEMA, sources, array, lambda schema, of: WAYS[way](schema, "UTC", of), exact_spelling
    )


def codes(decoder: Decoder, messages: list[bytes]) -> list[Any]:
    return [one.code if isinstance(one, Reason) else one for one in outcomes_of(decoder, messages)]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("message", "outcome"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_message_is_its_rows_or_one_dead_letter(way: str, message: str, outcome: Any) -> None:
    assert codes(decoder(way), [message.encode()]) == [outcome]


@pytest.mark.parametrize("way", EACH_WAY)
def test_messages_together_are_what_each_is_alone(way: str) -> None:
    draw, made = random.Random(12), decoder(way)
    for _ in range(60):
        some = [draw.choice(CASES) for _ in range(draw.randrange(30))]
        assert codes(made, [message.encode() for _, message, _ in some]) == [outcome for *_, outcome in some]


@needs_compiled
def test_damaged_messages_are_the_same_to_both_decoders() -> None:
    draw = random.Random(5)
    exact, compiled = decoder("exact"), decoder("compiled")
    messages = []
    for _ in range(3_000):
        message = bytearray(draw.choice(CASES)[1].encode())
        for _ in range(draw.randrange(3)):
            if message:
                message[draw.randrange(len(message))] = draw.choice(b'{}[],:"\\ 1aR\xc3n')
        messages.append(bytes(message))
    wanted = [str(one) for one in outcomes_of(exact, messages)]
    assert [str(one) for one in outcomes_of(compiled, messages)] == wanted


@needs_compiled
def test_the_compiled_decoder_takes_plain_messages_itself() -> None:
    assert LIBRARY is not None
    schema = pa.schema([("account", pa.string()), ("$.Records", pa.list_(pa.string()))])
    reader = NativeJsonReader(
        library=LIBRARY,
        schema=schema,
        zone="UTC",
        sources=[SOURCES[1], Source(("Records",), form=ElementTexts())],
        spelling=exact_spelling,
        any_case=False,
    )
    plain = [message for _, message, outcome in CASES if isinstance(outcome, list)]
    rows, accepted = reader.read(pa.array([message.encode() for message in plain]))
    assert accepted.all()
    texts = rows.column("$.Records").to_pylist()
    assert [list(map(json.loads, each)) for each in texts] == [json.loads(m)["Records"] for m in plain]
    assert not sum(count for _, count in reader.changed())
    doubtful = ['{"Records":[1]}', '{"Records":["{}"]}', '{"Records":"[{}]"}', '{"Records":[{},]}']
    assert not reader.read(pa.array([message.encode() for message in doubtful]))[1].any()


@pytest.mark.parametrize("way", EACH_WAY)
def test_the_reason_names_the_row_or_the_array(way: str) -> None:
    messages = [
        '{"Records":[{"n":1},{"n":"x"}]}',
        "{}",
        '{"Records":"x"}',
        '{"Records":[],"of":{"account":1}}',
    ]
    texts = [str(one) for one in outcomes_of(decoder(way), [message.encode() for message in messages])]
    assert [text.partition(";")[0] for text in texts] == [
        "json.type: column n expects bigint, got string (ordinal 1 of its message)",
        "json.array: the message has no array at $.Records",
        "json.array: $.Records expects an array, got string",
        "json.type: column account (from $.of.account) expects string, got number",
    ]


@pytest.mark.parametrize("way", EACH_WAY)
def test_the_array_may_be_within_objects(way: str) -> None:
    made = decoder(way, ("a", "b"))
    messages = [
        b'{"a":{"b":[{"n":1}]}}',
        b'{"a":{}}',
        b'{"a":null}',
        b'{"a":[]}',
        b'{"a":{"b":[{"n":2}],"b":[]}}',
    ]
    assert codes(made, messages) == [
        [[1, None, None]],
        "json.array",
        "json.array",
        "json.type",
        "json.duplicate",
    ]


@pytest.mark.parametrize("way", EACH_WAY)
def test_the_elements_of_a_message_with_a_schema_are_not_guessed(way: str) -> None:
    made = decoder(way, ("payload",))
    schema = '{"type":"array","items":{"type":"struct","fields":[]}}'
    texts = ["", f'"schema":{schema},', '"schema":1,']
    messages = [f'{{{text}"payload":[{ROW}]}}' for text in texts]
    row = [[1, None, "a"]]
    assert codes(made, [message.encode() for message in messages]) == [row, "json.semantic", row]


def test_leeway_of_columns_within_and_around_is_counted() -> None:
    changes = Changes()
    spec = DecoderSpec(
        format="json",
        schema=pa.schema([("n", pa.int64()), ("m", pa.int64()), ("d", pa.string())]),
        sources=[
            Source(("n",), leeway=Leeway(quoted="accept")),
            Source(("m",), leeway=Leeway(quoted="accept"), is_around=True),
            Source(("d",), leeway=Leeway(default="-"), is_around=True),
        ],
        rows="array",
        array=("Records",),
        changes=changes,
    )
    made = make_decoder(spec)
    messages = [b'{"Records":[{"n":"1"},{"n":2}],"m":"3"}', b'{"Records":[{}],"d":"e"}']
    assert outcomes_of(made, messages) == [[[1, 3, "-"], [2, 3, "-"]], [[None, None, "e"]]]
    assert changes.take() == (("default", 1), ("quoted", 2))


def test_keys_of_any_case_find_the_array() -> None:
    spec = DecoderSpec(
        format="json", schema=SCHEMA, sources=SOURCES, any_case=True, rows="array", array=("Records",)
    )
    made = make_decoder(spec)
    messages = [b'{"RECORDS":[{"N":1}],"Of":{"ACCOUNT":"x"}}', b'{"RECORDS":[],"records":[]}']
    assert codes(made, messages) == [[[1, "x", None]], "json.ambiguous"]


def test_a_framed_message_is_the_same_behind_its_head() -> None:
    spec = DecoderSpec(format="json_schema", schema=SCHEMA, sources=SOURCES, rows="array", array=("Records",))
    head = b"\x00\x00\x00\x00\x07"
    messages = [
        head + f'{{"Records":[{ROW}],{AROUND}}}'.encode(),
        b'{"Records":[]}',
        head + b'{"Records":[]}',
    ]
    assert codes(make_decoder(spec), messages) == [GOOD, "json.frame", []]


@pytest.mark.parametrize("way", EACH_WAY)
def test_too_many_elements_are_one_dead_letter(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka2hive.decode.rows.decoder.MOST_ROWS", 2)
    messages = [f'{{"Records":[{",".join([ROW] * count)}]}}'.encode() for count in (2, 3, 1)]
    found = outcomes_of(decoder(way), messages)
    assert [str(one) if isinstance(one, Reason) else len(one) for one in found] == [
        2,
        "rows.many: 3 rows in one message, 2 are allowed",
        1,
    ]


KEEP, TEXT = Leeway(non_finite="keep"), Leeway(json="text")
NUMBERS = pa.schema([("x", pa.float64()), ("y", pa.float64()), ("z", pa.float64()), ("whole", pa.string())])


def of_numbers(way: str, whole: bool, changes: Changes | None = None) -> Decoder:
    """Return the decoder of elements with `x`, which takes NaN, and `y`, which does not; `z` around them takes it, too."""
    taken = [Source(("x",), None, KEEP), Source(("y",)), Source(("z",), None, KEEP, is_around=True)]
    taken.append(Source((), None, TEXT, is_around=True) if whole else Source(("t",), None, TEXT))
    return EnclosedRowsDecoder(
        NUMBERS,
        taken,
        ("Records",),
        lambda schema, of: WAYS[way](schema, "UTC", of, changes=changes or Changes()),
        exact_spelling,
    )


NON_FINITE: list[tuple[str, Any]] = [
    ('{"Records":[{"x":NaN},{"x":-Infinity,"y":1.5}]}', [["nan", None, None], ["-inf", "1.5", None]]),
    ('{"Records":[{"x":1.5}],"z":Infinity}', [["1.5", None, "inf"]]),
    ('{"z":NaN,"Records":[ {"x" : Infinity} ]}', [["inf", None, "nan"]]),
    ('{"Records":[{"y":NaN}]}', "json.syntax"),
    ('{"Records":[{"x":NaN,"q":[NaN]}]}', "json.syntax"),
    ('{"Records":[{"x":[NaN]}]}', "json.syntax"),
    ('{"Records":[{"t":NaN}]}', "json.syntax"),
    ('{"Records":[NaN]}', "json.object"),
    ('{"Records":NaN}', "json.syntax"),
    ('{"Records":[{"x":NaN}],"q":NaN}', "json.syntax"),
    ('{"Records":[{"x":+Infinity}]}', "json.syntax"),
    ('{"Records":[{"x":NaN}],"z":"a"}', "json.type"),
]


def as_texts(outcome: Any) -> Any:
    """NaN equals nothing, so numbers are compared as texts."""
    if isinstance(outcome, Reason):
        return outcome.code
    return [[None if value is None else str(value) for value in row[:3]] for row in outcome]


@pytest.mark.parametrize("way", EACH_WAY)
def test_columns_of_elements_and_around_them_take_nan_if_they_may(way: str) -> None:
    changes = Changes()
    made = of_numbers(way, False, changes)
    found = outcomes_of(made, [message.encode() for message, _ in NON_FINITE])
    assert [as_texts(one) for one in found[:3]] == [outcome for _, outcome in NON_FINITE[:3]]
    for message, outcome in NON_FINITE:
        (alone,) = outcomes_of(made, [message.encode()])
        assert as_texts(alone) == outcome, message
    assert dict(changes.take())["non_finite"] >= 5


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_column_with_the_whole_message_has_no_nan_in_it(way: str) -> None:
    messages = [b'{"Records":[{"x":NaN}]}', b'{"Records":[{"x":1}],"z":NaN}', b'{"Records":[{"x":"NaN"}]}']
    found = outcomes_of(of_numbers(way, True), messages)
    assert [as_texts(one) for one in found] == ["json.syntax", "json.syntax", [["nan", None, None]]]
    assert found[2][0][3] == messages[2].decode()


@needs_compiled
@pytest.mark.parametrize("whole", [False, True])
def test_damaged_messages_with_nan_are_the_same_to_both_decoders(whole: bool) -> None:
    draw = random.Random(3)
    messages = []
    for _ in range(3_000):
        message = bytearray(draw.choice(NON_FINITE)[0].encode())
        for _ in range(draw.randrange(3)):
            message[draw.randrange(len(message))] = draw.choice(b'{}[],:"\\ 1NaIyxz-')
        messages.append(bytes(message))
    exact, compiled = (
        [str(one) for one in outcomes_of(of_numbers(way, whole), messages)] for way in ("exact", "compiled")
    )
    for damage, one, other in zip(messages, exact, compiled, strict=True):
        assert one == other, damage
