"""`whole`, `booleans`, `numbers`, `non_finite` and `beyond`: values as people and databases write them."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import PLAIN_WORDS, Leeway, NumberMarks
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.compiled import NativeJsonReader
from kafka2hive.decode.contract.sources import Source, exact_spelling
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.json import of_records
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.decode_cases import Dead
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.contract.loose_cases import COLUMNS, FIRST, LAST, LooseColumn
from tests.contract.test_decode_compiled import neighbours
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import first_values, outcomes_of

EACH_COLUMN = pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)


def message(text: str) -> bytes:
    return f'{{"a":{text},"b":[1]}}'.encode()


def shown(values: list[object]) -> list[str]:
    """As texts, because NaN equals nothing."""
    return [repr(value) for value in values]


@pytest.mark.parametrize("way", EACH_WAY)
@EACH_COLUMN
def test_a_value_comes_out_as_the_table_says_and_is_counted(column: LooseColumn, way: str) -> None:
    schema, changes = pa.schema([("a", parse_hive_type(column.type))]), Changes()
    made = WAYS[way](schema, column.zone, [Source(("a",), column.unit, column.leeway)], changes=changes)
    texts = list(column.values)
    expected = [value.code if isinstance(value, Dead) else value for value in column.values.values()]
    assert shown(first_values(made, [message(text) for text in texts])) == shown(expected)
    assert dict(changes.take()) == column.changed
    for text, value in zip(texts, expected, strict=True):
        assert shown(first_values(made, [message(text)])) == shown([value]), text


@pytest.mark.parametrize("way", EACH_WAY)
@EACH_COLUMN
def test_without_the_key_they_are_dead_letters_as_before(column: LooseColumn, way: str) -> None:
    schema = pa.schema([("a", parse_hive_type(column.type))])
    loose = WAYS[way](schema, column.zone, [Source(("a",), column.unit, column.leeway)])
    strict = WAYS[way](schema, column.zone, [Source(("a",), column.unit)])
    messages = [message(text) for text in column.values]
    before, now = first_values(strict, messages), first_values(loose, messages)
    dead = [text for text, value in zip(column.values, before, strict=True) if isinstance(value, str)]
    assert len(dead) >= sum(column.changed.values()) - column.changed.get("whole", 0) - 6
    kept = {
        text: (a, b) for text, a, b in zip(column.values, before, now, strict=True) if not isinstance(a, str)
    }
    if column.leeway.numbers is None:
        assert all(repr(a) == repr(b) for a, b in kept.values()), kept


@needs_compiled
@EACH_COLUMN
def test_the_compiled_decoder_takes_the_common_ones_itself(column: LooseColumn) -> None:
    schema = pa.schema([("a", parse_hive_type(column.type))])
    source = Source(("a",), column.unit, column.leeway)
    reader = NativeJsonReader(LIBRARY, schema, column.zone, [source], exact_spelling, any_case=False)
    texts = [text for text, value in column.values.items() if not isinstance(value, Dead)]
    _, certain = reader.read(pa.array([message(text) for text in texts], pa.binary()))
    assert {text for text, one in zip(texts, certain, strict=True) if not one} == column.by_exact & set(texts)


@needs_compiled
@EACH_COLUMN
def test_near_such_values_both_decoders_agree_wherever_the_value_stands(column: LooseColumn) -> None:
    types = ["int", "bigint"] if column.type in ("int", "bigint") else [column.type]
    texts = [text.encode() for text in column.values]
    near = sorted({neighbour for text in texts for neighbour in (text, *neighbours(text))})
    tail = b',"b":["so that sixteen bytes follow the value"]}'
    messages = [b'{"a":' + text + rest for text in near for rest in (b"}", tail)]
    for dtype in types:
        found = []
        for way in ("exact", "compiled"):
            changes, schema = Changes(), pa.schema([("a", parse_hive_type(dtype))])
            made = WAYS[way](
                schema, column.zone, [Source(("a",), column.unit, column.leeway)], changes=changes
            )
            found.append((shown(first_values(made, messages)), dict(changes.take())))
        (exact, counted), (compiled, also_counted) = found
        for one, other, text in zip(exact, compiled, messages, strict=True):
            assert one == other, text
        assert set(counted) == set(also_counted)


@pytest.mark.parametrize("way", EACH_WAY)
def test_nan_is_a_fault_of_syntax_wherever_no_column_takes_it(way: str) -> None:
    schema = pa.schema(
        [("x", pa.float64()), ("y", pa.float64()), ("o", pa.list_(pa.float64())), ("t", pa.string())]
    )
    keep = Leeway(non_finite="keep")
    sources = [
        Source(("x",), None, keep),
        Source(("y",)),
        Source(("o",)),
        Source(("t",), None, Leeway(json="text")),
    ]
    made = WAYS[way](schema, "UTC", sources)
    bad = [
        '{"y":NaN}',
        '{"o":[NaN]}',
        '{"t":NaN}',
        '{"t":[-Infinity]}',
        '{"z":NaN}',
        '{"x":NaN,"z":NaN}',
        '{"x":[NaN]}',
    ]
    good = '{"x":-Infinity,"y":1.5,"t":"NaN","z":"NaN"}'
    found = outcomes_of(made, [text.encode() for text in (*bad, good)])
    assert [one.code for one in found[:-1]] == ["json.syntax"] * len(bad)
    assert found[-1] == [[float("-inf"), 1.5, None, "NaN"]]


@pytest.mark.parametrize("way", EACH_WAY)
def test_an_object_that_a_column_takes_whole_has_no_nan_in_it(way: str) -> None:
    keep, text = Leeway(non_finite="keep"), Leeway(json="text")
    x, kind = Source(("o", "x"), None, keep), pa.struct([("y", pa.int64())])
    for dtype, source in (
        (pa.string(), Source((), None, text)),
        (kind, Source(("o",))),
        (pa.string(), Source(("o",), None, text)),
    ):
        made = WAYS[way](pa.schema([("x", pa.float64()), ("whole", dtype)]), "UTC", [x, source])
        found = outcomes_of(made, [b'{"o":{"x":NaN,"y":1}}', b'{"o":{"x":"NaN","y":1}}'])
        assert found[0].code == "json.syntax" and not hasattr(found[1], "code"), dtype


@pytest.mark.parametrize("way", EACH_WAY)
def test_one_value_for_two_columns_is_taken_by_both_or_none(way: str) -> None:
    schema = pa.schema([("x", pa.float64()), ("y", pa.float32()), ("n", pa.int64()), ("d", pa.float64())])
    keep, null = Leeway(non_finite="keep"), Leeway(non_finite="null")
    sources = [
        Source(("v",), None, keep),
        Source(("v",), None, null),
        Source(("w",), None, Leeway(whole="accept")),
    ]
    made = WAYS[way](schema, "UTC", [*sources, Source(("w",))])
    found = outcomes_of(made, [b'{"v":Infinity,"w":1e3}', b'{"v":"-inf"}', b'{"w":1.5}'])
    assert found[:2] == [[[float("inf"), None, 1000, 1000.0]], [[float("-inf"), None, None, None]]]
    assert found[2].code == "json.type"


@pytest.mark.parametrize("way", EACH_WAY)
def test_times_of_debezium_s_schemas_beyond_all_years(way: str) -> None:
    clamp = Leeway(beyond="clamp")
    types = {"us": "io.debezium.time.MicroTimestamp", "zoned": "io.debezium.time.ZonedTimestamp"}
    fields = [
        {"field": "us", "type": "int64", "name": types["us"]},
        {"field": "zoned", "type": "string", "name": types["zoned"]},
    ]
    schema = pa.schema([(name, pa.timestamp("us")) for name in types])
    sources = [Source(("payload", name), "ms" if name == "us" else None, clamp) for name in types]
    spec = DecoderSpec("json", schema, "UTC", sources)
    made = of_records(spec, None) if way == "exact" else of_records(spec)
    head = str({"type": "struct", "fields": fields}).replace("'", '"')
    bodies = [
        '{"us":9223372036825200000,"zoned":"infinity"}',
        '{"us":-9223372036832400000,"zoned":"-infinity"}',
    ]
    found = outcomes_of(made, [f'{{"schema":{head},"payload":{body}}}'.encode() for body in bodies])
    assert found == [[[LAST, LAST]], [[FIRST, FIRST]]]


@pytest.mark.parametrize("way", EACH_WAY)
def test_what_the_record_s_schema_forbids_stays_forbidden(way: str) -> None:
    name = '"type":"string","name":"io.debezium.data.Json"'
    fields = f'[{{"field":"x",{name}}},{{"field":"d",{name}}}]'
    schema = pa.schema([("x", pa.float64()), ("d", pa.date32())])
    sources = [
        Source(("payload", "x"), None, Leeway(non_finite="null")),
        Source(("payload", "d"), None, Leeway(beyond="null")),
    ]
    spec = DecoderSpec("json", schema, "UTC", sources)
    made = of_records(spec, None) if way == "exact" else of_records(spec)
    bodies = ['{"x":"NaN"}', '{"d":"infinity"}', "{}"]
    record = '{"schema":{"type":"struct","fields":%s},"payload":%s}'
    found = outcomes_of(made, [(record % (fields, body)).encode() for body in bodies])
    assert [one.code for one in found[:2]] == ["json.semantic"] * 2 and found[2] == [[None, None]]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(
    ("dtype", "text", "leeway", "said"),
    [
        (
            "double",
            '"1.5"',
            Leeway(numbers=NumberMarks(".", ",")),
            "not a number with the marks of the column's numbers",
        ),
        ("bigint", "1.0", Leeway(), "whole: accept takes"),
        ("double", "NaN", Leeway(), "non_finite"),
        ("double", '"NaN"', Leeway(), "non_finite"),
        ("boolean", '"yes"', Leeway(), "booleans"),
        ("boolean", "1", Leeway(booleans=None), "booleans"),
        ("timestamp", '"infinity"', Leeway(), "beyond"),
        ("date", '"infinity"', Leeway(), "beyond"),
    ],
)
def test_a_reason_names_the_key(dtype: str, text: str, leeway: Leeway, said: str, way: str) -> None:
    made = WAYS[way](pa.schema([("a", parse_hive_type(dtype))]), "UTC", [Source(("a",), None, leeway)])
    (reason,) = made.decode(pa.array([message(text)], pa.binary())).reasons
    assert said in reason.text


@EACH_COLUMN
def test_fields_of_csv_are_taken_like_strings_and_numbers_of_json(column: LooseColumn) -> None:
    """A field is what a string of JSON is, or a number outside quotes; empty fields are NULL."""
    schema, changes = pa.schema([("a", parse_hive_type(column.type))]), Changes()
    leeway = replace(column.leeway, quoted="refuse", empty="refuse")
    made = make_decoder(
        DecoderSpec("csv", schema, column.zone, [Source(("a",), column.unit, leeway)], changes=changes)
    )
    no_fields = {"null", '""'} | ({"1.5"} if column.leeway.numbers else set())
    cases = {
        text: value
        for text, value in column.values.items()
        if not isinstance(value, Dead) and text not in no_fields
    }
    fields = [csv_field(json.loads(text) if text[0] == '"' else text) for text in cases]
    assert shown(first_values(made, fields)) == shown(list(cases.values()))
    counts = dict(changes.take())
    assert counts.keys() == column.changed.keys() - {"quoted", "empty"}
    assert all(count <= column.changed[kind] for kind, count in counts.items())


def csv_field(text: str) -> bytes:
    return f'"{text}"'.encode()


@pytest.mark.parametrize(
    ("dtype", "leeway", "field"),
    [
        ("bigint", Leeway(whole="accept"), "1.5"),
        ("boolean", Leeway(booleans=PLAIN_WORDS), "tRUE"),
        ("double", Leeway(numbers=NumberMarks(".", ",")), "1.5"),
        ("double", Leeway(numbers=NumberMarks(" ", ",")), "1 23"),
        ("double", Leeway(non_finite="keep"), "infinite"),
        ("date", Leeway(beyond="null"), "0000-00-00"),
    ],
)
def test_other_fields_of_csv_stay_dead_letters(dtype: str, leeway: Leeway, field: str) -> None:
    schema, changes = pa.schema([("a", parse_hive_type(dtype))]), Changes()
    made = make_decoder(DecoderSpec("csv", schema, "UTC", [Source(("a",), None, leeway)], changes=changes))
    (found,) = first_values(made, [csv_field(field)])
    assert found in ("csv.type", "csv.date") and changes.take() == ()


def test_the_plain_words_are_in_three_spellings() -> None:
    assert PLAIN_WORDS.true == ("true", "TRUE", "True", "yes", "YES", "Yes", "y", "Y", "on", "ON", "On", "1")
    assert PLAIN_WORDS.false == (
        "false",
        "FALSE",
        "False",
        "no",
        "NO",
        "No",
        "n",
        "N",
        "off",
        "OFF",
        "Off",
        "0",
    )
