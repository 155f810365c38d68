"""Columns that take their values by a path, from epoch numbers, and whatever the case of keys: cases, and the reference."""

import json
import random
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka2hive.config.keys.leeway import PLAIN_WORDS, Leeway, NumberMarks
from kafka2hive.decode.contract.sources import Source, lower_case_spelling
from kafka2hive.decode.json import JsonExactDecoder
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoder, Reason
from tests.contract.decode_cases import Dead
from tests.contract.decode_reference import Sources, reference
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.contract.test_decode_against_reference import INTERESTING, assert_is, mutated
from tests.harness.outcomes import row_outcomes
from tests.harness.reasons import texts_of

ZONE = "Europe/Berlin"
TYPE, DUPLICATE, AMBIGUOUS = Dead("json.type"), Dead("json.duplicate"), Dead("json.ambiguous")
RANGE, INEXACT = Dead("json.range"), Dead("json.inexact")

# (type, path, unit, message, what the column holds)
PATHS: list[tuple[str, tuple[str, ...], str | None, str, Any]] = [
    ("bigint", ("US Gross",), None, '{"US Gross":5,"us_gross":6}', 5),
    ("bigint", ("день",), None, '{"день":5}', 5),
    ("bigint", ("день",), None, '{"\\u0434ень":5}', 5),
    ("bigint", ("p", "x"), None, '{"p":{"x":1,"y":[]}}', 1),
    ("bigint", ("p", "x"), None, '{"p":{"y":1}}', None),
    ("bigint", ("p", "x"), None, '{"p":{}}', None),
    ("bigint", ("p", "x"), None, '{"p":null}', None),
    ("bigint", ("p", "x"), None, "{}", None),
    ("bigint", ("p", "x"), None, '{"x":1}', None),
    ("bigint", ("p", "x"), None, '{"p":5}', TYPE),
    ("bigint", ("p", "x"), None, '{"p":"{}"}', TYPE),
    ("bigint", ("p", "x"), None, '{"p":[{"x":1}]}', TYPE),
    ("bigint", ("p", "x"), None, '{"p":{"x":1},"p":{}}', DUPLICATE),
    ("bigint", ("p", "x"), None, '{"p":null,"p":{"x":1}}', DUPLICATE),
    ("bigint", ("p", "x"), None, '{"p":{"x":1,"x":1}}', DUPLICATE),
    ("bigint", ("p", "x"), None, '{"p":{"x":1,"y":1,"y":2}}', 1),
    ("bigint", ("p", "x", "y.z"), None, '{"p":{"x":{"y.z":7}}}', 7),
    ("bigint", ("p", "x", "y.z"), None, '{"p":{"x":true}}', TYPE),
    ("timestamp", ("t",), None, '{"t":1356998400000}', TYPE),
    ("timestamp", ("t",), "ms", '{"t":1356998400123}', datetime(2013, 1, 1, 1, 0, 0, 123000)),
    ("timestamp", ("t",), "s", '{"t":1372636800}', datetime(2013, 7, 1, 2)),
    ("timestamp", ("t",), "us", '{"t":-1}', datetime(1970, 1, 1, 0, 59, 59, 999999)),
    ("timestamp", ("t",), "ns", '{"t":1356998400123456000}', datetime(2013, 1, 1, 1, 0, 0, 123456)),
    ("timestamp", ("t",), "ns", '{"t":1356998400123456789}', INEXACT),
    ("timestamp", ("t",), "ms", '{"t":0}', datetime(1970, 1, 1, 1)),
    ("timestamp", ("t",), "ms", '{"t":-0}', datetime(1970, 1, 1, 1)),
    ("timestamp", ("t",), "ms", '{"t":null}', None),
    ("timestamp", ("t",), "ms", '{"t":"1356998400000"}', TYPE),
    ("timestamp", ("t",), "ms", '{"t":1.5}', TYPE),
    ("timestamp", ("t",), "ms", '{"t":1e3}', TYPE),
    ("timestamp", ("t",), "ms", '{"t":true}', TYPE),
    ("timestamp", ("t",), "s", '{"t":253402297199}', datetime(9999, 12, 31, 23, 59, 59)),
    ("timestamp", ("t",), "s", '{"t":253402297200}', RANGE),
    ("timestamp", ("t",), "ms", '{"t":9223372036854775807}', RANGE),
    ("timestamp", ("t",), "ms", '{"t":-9223372036854775808}', RANGE),
    ("timestamp", ("t",), "us", '{"t":99999999999999999999999}', RANGE),
    ("timestamp", ("t",), "s", '{"t":3000000000}', datetime(2065, 1, 24, 6, 20)),
    ("date", ("t",), "ms", '{"t":1356994800000}', date(2013, 1, 1)),  # 23:00 UTC of the day before
    ("date", ("t",), "s", '{"t":-1}', date(1970, 1, 1)),
    ("date", ("t",), "ns", '{"t":1356998400123456789}', date(2013, 1, 1)),
    ("date", ("t",), "s", '{"t":253402300800}', RANGE),
    ("date", ("t",), "s", '{"t":"2013-01-01"}', TYPE),
]

# (type, message, what the column `title` holds, keys matched whatever their case)
CASES: list[tuple[str, str, Any]] = [
    ("string", '{"Title":"x"}', "x"),
    ("string", '{"TITLE" : "x"}', "x"),
    ("string", '{"TITLE"\n \t :"x"}', "x"),
    ("string", '{"TITLE"                    :"x"}', "x"),
    ("string", '{"title":"X","other":"Title"}', "X"),
    ("string", '{"Other":"TITLE","Title":"\\"A\\":"}', '"A":'),
    ("string", '{"o\\"T":1,"Title":"A\\\\"}', "A\\"),
    ("string", '{"a":"x\\"y","Title":"Z\\"w"}', 'Z"w'),
    ("string", '{"\\u0054itle":"x"}', "x"),
    ("string", '{"T\\U0069tle":"x"}', Dead("json.syntax")),
    ("string", '{"Title":"a","title":"b"}', AMBIGUOUS),
    ("string", '{"Title":"a","TITLE":null}', AMBIGUOUS),
    ("string", '{"Title":"a","Title":"a"}', DUPLICATE),
    ("string", '{"T\u0130TLE":"a"}', None),
    ("string", '{"Other":{"Title":"a"},"TITLE":"b"}', "b"),
    ("string", '{"Title":True}', Dead("json.syntax")),
    ("struct<us:int,x:struct<y:int>>", '{"Title":{"US":1,"X":{"Y":2}}}', {"us": 1, "x": {"y": 2}}),
    ("struct<us:int,x:struct<y:int>>", '{"Title":{"US":1,"Us":2}}', AMBIGUOUS),
    ("struct<US:int>", '{"Title":{"us":1}}', {"US": 1}),
    ("array<struct<us:int>>", '{"Title":[{"US":1},{"us":2}]}', [{"us": 1}, {"us": 2}]),
    ("map<string,struct<us:int>>", '{"Title":{"K":{"US":1},"k":null}}', [("K", {"us": 1}), ("k", None)]),
]


def one(decoder: Decoder, message: str) -> Any:
    """The outcome of the message alone; among others, which come out as null, it is the same."""
    quiet = b'{"nothing":null}'
    alone = outcomes(decoder, [message.encode()])
    assert outcomes(decoder, [quiet, message.encode(), quiet]) == [None, *alone, None]
    return alone[0]


def outcomes(decoder: Decoder, messages: list[bytes]) -> list[Any]:
    found = row_outcomes(decoder, messages)
    return [Dead(one.code) if isinstance(one, Reason) else one[0] for one in found]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("kind", "keys", "unit", "message", "expected"), PATHS)
def test_a_path_and_a_unit_come_out_as_the_table_says(
    kind: str, keys: tuple[str, ...], unit: str | None, message: str, expected: Any, way: str
) -> None:
    schema = pa.schema([("c", parse_hive_type(kind))])
    found = one(WAYS[way](schema, ZONE, sources=[Source(keys, unit)]), message)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("kind", "message", "expected"), CASES)
def test_keys_are_found_whatever_their_case(kind: str, message: str, expected: Any, way: str) -> None:
    schema = pa.schema([("title", parse_hive_type(kind))])
    assert one(WAYS[way](schema, ZONE, any_case=True), message) == expected
    verdict = JsonExactDecoder(schema, ZONE, spelling=lower_case_spelling).decode(message.encode())
    assert isinstance(verdict, Reason) == isinstance(expected, Dead)


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_name_with_other_letters_than_asciis_is_found_whatever_its_case(way: str) -> None:
    decoder = WAYS[way](pa.schema([("день", pa.int64())]), "UTC", any_case=True)
    assert one(decoder, '{"День":1}') == 1
    kelvin = WAYS[way](pa.schema([("k", pa.int64())]), "UTC", any_case=True)
    assert one(kelvin, '{"\u212a":1}') is None
    assert one(kelvin, '{"K":1}') == 1


@pytest.mark.parametrize("way", EACH_WAY)
def test_without_being_told_the_case_matters(way: str) -> None:
    assert one(WAYS[way](pa.schema([("title", pa.string())]), "UTC"), '{"Title":"x"}') is None


@pytest.mark.parametrize("way", EACH_WAY)
def test_reasons_name_column_path_and_both_keys(way: str) -> None:
    schema = pa.schema([("us_gross", pa.int64()), ("t", pa.timestamp("us"))])
    decoder = WAYS[way](schema, "UTC", sources=[Source(("p", "US Gross")), Source(("p", "t"), "ms")])
    bad = ['{"p":{"US Gross":"1"}}', '{"p":3}', '{"p":{},"p":{}}', '{"p":{"t":"x"}}']
    assert texts_of(decoder.decode(pa.array([m.encode() for m in bad], pa.binary())).reasons) == [
        "json.type: column us_gross (from $.p['US Gross']) expects bigint, got string",
        "json.type: $.p expects an object, got number",
        "json.duplicate: the key $.p repeats in its object",
        "json.type: column t (from $.p.t) expects a whole number of ms since 1970, got string",
    ]
    any_case = WAYS[way](pa.schema([("title", pa.string())]), "UTC", any_case=True)
    reasons = texts_of(any_case.decode(pa.array([b'{"Title":"a","TITLE":"b"}'], pa.binary())).reasons)
    assert reasons == ["json.ambiguous: column title could take Title and TITLE of its object"]


def check(
    messages: list[bytes], schema: pa.Schema, zone: str, sources: Sources | None, any_case: bool
) -> None:
    expected = [reference(message, schema, zone, sources, any_case) for message in messages]
    given = [Source(*sources[name]) for name in schema.names] if sources else []
    for make in WAYS.values():
        decoder = make(schema, zone, sources=given, any_case=any_case)
        decoded = decoder.decode(pa.array(messages, pa.binary()))
        decoded.rows.validate(full=True)
        assert decoded.rows.schema.equals(schema)
        assert_is(decoded, expected, messages)


SHARED = pa.schema(
    {
        "id": pa.int64(),
        "at": pa.timestamp("us"),
        "day": pa.date32(),
        "us_gross": pa.int64(),
        "p": pa.struct([("x", pa.int32()), ("q", pa.struct([("y", pa.string())]))]),
        "x_again": pa.int32(),
        "z": pa.float64(),
        "q": pa.struct([("w", pa.bool_())]),
        "at_number": pa.int64(),
        "price": pa.decimal128(9, 2),
        "p_text": pa.string(),
        "deep_text": pa.string(),
        "id_text": pa.string(),
        "n": pa.int32(),
        "m": pa.float64(),
        "ok": pa.bool_(),
        "seen": pa.timestamp("us"),
        "full": pa.int64(),
        "yes": pa.bool_(),
        "marked": pa.decimal128(12, 2),
        "open": pa.float64(),
        "until": pa.timestamp("us"),
        "ends": pa.date32(),
    }
)
ANY, LOOSE = Leeway(json="text"), Leeway(quoted="accept", empty="null")
SHARED_SOURCES: Sources = {
    "id": (("id",), None),
    "at": (("meta", "at"), "ms"),
    "day": (("meta", "at"), "ms"),
    "us_gross": (("US Gross",), None),
    "p": (("p",), None),
    "x_again": (("p", "x"), None),
    "z": (("p", "z"), None),
    "q": (("p", "q"), None),
    "at_number": (("meta", "at"), None),
    "price": (("meta", "deep", "день"), None),
    "p_text": (("p",), None, ANY),
    "deep_text": (("meta", "deep"), None, ANY),
    "id_text": (("id",), None, ANY),
    "n": (("loose", "n"), None, LOOSE),
    "m": (("loose", "m"), None, LOOSE),
    "ok": (("loose", "ok"), None, LOOSE),
    "seen": (("loose", "seen"), "ms", LOOSE),
    "full": (("loose", "full"), None, Leeway(whole="accept", quoted="accept")),
    "yes": (("loose", "yes"), None, Leeway(booleans=PLAIN_WORDS)),
    "marked": (("loose", "marked"), None, Leeway(numbers=NumberMarks(".", ","), empty="null")),
    "open": (("loose", "open"), None, Leeway(non_finite="keep")),
    "until": (("loose", "until"), "us", Leeway(beyond="clamp", whole="accept")),
    "ends": (("loose", "ends"), "ms", Leeway(beyond="null")),
}


def shared(i: int) -> dict[str, Any]:
    return {
        "id": i,
        "US Gross": i * 1000 if i % 3 else None,
        "meta": {"at": 1372636800000 + i, "deep": {"день": i / 4}, "noise": [i, {"at": "x"}]},
        "loose": {
            "n": (str(i), i, "")[i % 3],
            "m": (str(i / 8), i / 8, "", str(i))[i % 4],
            "ok": ("true", False, "")[i % 3],
            "seen": (str(1372636800000 + i), 1372636800000 + i, "")[i % 3],
            "full": (i, float(i), f"{i}.0", 1e3)[i % 4],
            "yes": ("Y", 0, True, "off")[i % 4],
            "marked": (f"1.{i:03},5", f"-{i},25", i / 4, "")[i % 4],
            "open": (i / 8, float("nan"), "-Infinity", float("inf"))[i % 4],
            "until": (1372636800000000 + i, 9223372036825200000, "infinity", -9.2e18)[i % 4],
            "ends": (1372636800000 + i, -9223372036832400000, "-infinity")[i % 3],
        },
        "p": {"x": i, "q": {"y": f"text {i}", "w": i % 2 == 0}, "z": i / 8} if i % 4 else None,
    }


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_share_their_way_come_out_as_the_reference_says(seed: int) -> None:
    dice = random.Random(seed)
    good = [json.dumps(shared(i), ensure_ascii=i % 2 == 0).encode() for i in range(400)]
    check(good, SHARED, ZONE, SHARED_SOURCES, False)
    check([mutated(dice, message) for message in good], SHARED, ZONE, SHARED_SOURCES, False)


def test_columns_of_different_kinds_may_take_one_value() -> None:
    schema = pa.schema({"text": pa.string(), "number": pa.int64(), "price": pa.decimal128(9, 2)})
    sources: Sources = {"text": (("v",), None), "number": (("w",), None), "price": (("w",), None)}
    check([b'{"v":"a","w":5}', b'{"v":null}', b'{"w":1.5}'], schema, "UTC", sources, False)


def other_case(dice: random.Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {
            dice.choice((str.upper, str.lower, str.title, str))(key): other_case(dice, inner)
            for key, inner in value.items()
        }
    return [other_case(dice, inner) for inner in value] if isinstance(value, list) else value


SMALL = pa.schema(
    {
        "id": pa.int64(),
        "title": pa.string(),
        "at": pa.timestamp("us"),
        "o": pa.struct([("p", pa.int16()), ("deep", pa.struct([("q", pa.string())]))]),
        "l": pa.list_(pa.struct([("name", pa.string())])),
    }
)
SMALL_FLAT = pa.schema([field for field in SMALL if not pa.types.is_nested(field.type)])


def spelled(i: int) -> dict[str, Any]:
    return {
        "id": i,
        "title": f'A "Title": {i}\\' if i % 5 == 0 else f"Title {i}",
        "at": "2013-01-01T05:00:00Z",
        "o": {"p": i % 100, "deep": {"q": "É"}, "Other": {"P": 1, "p": 2}},
        "l": [{"name": "X"}, {"name": None}],
    }


@pytest.mark.parametrize("schema", [SMALL, SMALL_FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("seed", range(4))
def test_records_of_any_case_come_out_as_the_reference_says(seed: int, schema: pa.Schema) -> None:
    dice = random.Random(seed)
    messages = []
    for i in range(400):
        record = {name: value for name, value in spelled(i).items() if name in schema.names}
        messages.append(json.dumps(other_case(dice, record) if seed else record).encode())
    check(messages, schema, "UTC", None, True)
    check([mutated(dice, message) for message in messages], schema, "UTC", None, True)


_KEYS = ["a", "b", "US Gross", "день"]
_SIMPLE = {
    "bigint": ["1", "-7", "1.5", "null", '"x"'],
    "string": ['"x"', '"\\u0041"', "null", "1"],
    "timestamp": ["1356998400000", "null", '"2013-01-01T05:00:00Z"', "-1"],
    "struct<a:int>": ['{"a":1}', "{}", "null", '{"a":1,"a":2}', "[]"],
    "array<int>": ["[1,2]", "[]", "null"],
}


@st.composite
def _mapped(draw: st.DrawFn) -> tuple[pa.Schema, Sources, list[bytes], bool]:
    """Columns at random places of random objects, which are objects, values, or missing as it falls."""
    any_case = draw(st.booleans())
    kinds = draw(st.lists(st.sampled_from(sorted(_SIMPLE)), min_size=1, max_size=4))
    sources: Sources = {}
    for number, kind in enumerate(kinds):
        keys = tuple(draw(st.lists(st.sampled_from(_KEYS), min_size=1, max_size=3)))
        unit = draw(st.sampled_from(["s", "ms", "us", "ns", None])) if kind == "timestamp" else None
        sources[f"c{number}"] = (keys, unit)
    leaves = sorted({text for kind in kinds for text in _SIMPLE[kind]})

    def tree(depth: int) -> str:
        members = []
        for key in draw(st.lists(st.sampled_from(_KEYS), max_size=4, unique=draw(st.integers(0, 9)) > 0)):
            inner = depth < 3 and draw(st.booleans())
            value = tree(depth + 1) if inner else draw(st.sampled_from(leaves))
            if not draw(st.integers(0, 19)):
                value = draw(st.sampled_from(INTERESTING))
            spelled = draw(st.sampled_from([key, key, key.upper()]))
            members.append(json.dumps(spelled, ensure_ascii=draw(st.booleans())) + ":" + value)
        return "{" + ",".join(members) + "}"

    messages = [tree(1).encode("utf-8", "surrogatepass") for _ in range(draw(st.integers(1, 10)))]
    schema = pa.schema([(f"c{i}", parse_hive_type(kind)) for i, kind in enumerate(kinds)])
    return schema, sources, messages, any_case


@settings(
    max_examples=2 * settings().max_examples,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(_mapped(), st.sampled_from(["UTC", ZONE, "America/St_Johns"]))
def test_any_paths_over_any_objects_come_out_as_the_reference_says(
    batch: tuple[pa.Schema, Sources, list[bytes], bool], zone: str
) -> None:
    schema, sources, messages, any_case = batch
    check(messages, schema, zone, sources, any_case)
