"""`quoted` and `empty`: numbers and booleans in quotes, and empty strings as NULL, in every way that reads JSON."""

import json
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.compiled import NativeJsonReader
from kafka2hive.decode.contract.sources import Source, exact_spelling
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.decode.json import of_records
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.decode_cases import EMPTY_CASES, LOOSE_CASES, Dead
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.compiled_library import needs_compiled
from tests.harness.outcomes import first_values, outcomes_of

LOOSE, EMPTY = Leeway(quoted="accept", empty="null"), Leeway(empty="null")
TABLES = [
    (dtype, leeway, [(text, expected) for kind, text, expected in cases if kind == dtype])
    for leeway, cases in ((LOOSE, LOOSE_CASES), (EMPTY, EMPTY_CASES))
    for dtype in dict.fromkeys(kind for kind, _, _ in cases)
]

IDS = [f"{dtype}, {'quoted and empty' if leeway is LOOSE else 'empty'}" for dtype, leeway, _ in TABLES]


def message(text: str) -> bytes:
    return f'{{"a":{text},"b":[1]}}'.encode()


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("dtype", "leeway", "cases"), TABLES, ids=IDS)
def test_a_value_comes_out_as_the_table_says_and_is_counted(
    dtype: str, leeway: Leeway, cases: list[tuple[str, Any]], way: str
) -> None:
    schema, changes = pa.schema([("a", parse_hive_type(dtype))]), Changes()
    made = WAYS[way](schema, "UTC", [Source(("a",), None, leeway)], changes=changes)
    expected = [value.code if isinstance(value, Dead) else value for _, value in cases]
    assert first_values(made, [message(text) for text, _ in cases]) == expected
    rows = [text for text, value in cases if not isinstance(value, Dead)]
    quoted = sum(text.startswith('"') and text != '""' for text in rows) if leeway is LOOSE else 0
    counts = {"empty": rows.count('""'), "quoted": quoted}
    assert changes.take() == tuple((kind, count) for kind, count in counts.items() if count)
    for text, value in cases:
        (alone,) = first_values(made, [message(text)])
        assert alone == (value.code if isinstance(value, Dead) else value), text


@needs_compiled
@pytest.mark.parametrize(("dtype", "leeway", "cases"), TABLES, ids=IDS)
def test_the_compiled_decoder_takes_them_itself(
    dtype: str, leeway: Leeway, cases: list[tuple[str, Any]]
) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    reader = NativeJsonReader(
        LIBRARY, schema, "UTC", [Source(("a",), None, leeway)], exact_spelling, any_case=False
    )
    plain = [text for text, value in cases if not isinstance(value, Dead) and "\\" not in text]
    _, certain = reader.read(pa.array([message(text) for text in plain], pa.binary()))
    assert certain.all()


@pytest.mark.parametrize("way", EACH_WAY)
def test_numbers_of_time_in_quotes(way: str) -> None:
    schema = pa.schema([("a", pa.timestamp("us")), ("b", pa.date32()), ("c", pa.timestamp("us"))])
    cut = Leeway("truncate", quoted="accept", empty="null")
    sources = [Source(("a",), "ms", LOOSE), Source(("b",), "d", LOOSE), Source(("c",), "ns", cut)]
    changes = Changes()
    spec = DecoderSpec("json", schema, "Europe/Berlin", sources, changes=changes)
    made = of_records(spec, None) if way == "exact" else of_records(spec)
    found = outcomes_of(
        made,
        [
            b'{"a":"1356998400123","b":"1","c":"1001"}',
            b'{"a":1356998400123,"b":1,"c":1000}',
            b'{"a":"","b":"","c":""}',
            b'{"a":"1.5"}',
        ],
    )
    row = [datetime(2013, 1, 1, 1, 0, 0, 123000), date(1970, 1, 2), datetime(1970, 1, 1, 1, 0, 0, 1)]
    assert found[:3] == [[row], [row], [[None] * 3]] and found[3].code == "json.type"
    assert changes.take() == (("empty", 3), ("fraction", 1), ("quoted", 3))


@pytest.mark.parametrize("way", EACH_WAY)
def test_what_the_record_s_schema_forbids_stays_forbidden(way: str) -> None:
    schema = pa.schema([("a", pa.date32()), ("n", pa.int64())])
    fields = [
        {"field": "a", "type": "int64", "name": "io.debezium.time.MicroTime"},
        {"field": "n", "type": "string"},
    ]
    sources = [Source(("payload", "a"), "s", LOOSE), Source(("payload", "n"), None, LOOSE)]
    spec = DecoderSpec("json", schema, "UTC", sources)
    made = of_records(spec, None) if way == "exact" else of_records(spec)
    records = [
        {"schema": {"type": "struct", "fields": fields}, "payload": payload}
        for payload in ({"a": "5", "n": "1"}, {"a": "", "n": "7"}, {"a": None, "n": ""})
    ]
    found = outcomes_of(made, [json.dumps(record).encode() for record in records])
    assert found[0].code == "json.semantic" and found[1:] == [[[None, 7]], [[None, None]]]


def test_an_empty_string_is_no_value_for_defaults_and_several_paths() -> None:
    leeway = Leeway(others=(("b",),), default="9", quoted="accept", empty="null")
    changes, schema = Changes(), pa.schema([("a", pa.int64())])
    made = make_decoder(DecoderSpec("json", schema, "UTC", [Source(("a",), None, leeway)], changes=changes))
    messages = [b'{"a":"","b":"7"}', b'{"a":"","b":""}', b'{"a":"7","b":7}', b'{"a":"7","b":"8"}']
    assert first_values(made, messages) == [7, 9, 7, "json.ambiguous"]
    assert changes.take() == (("default", 1), ("empty", 3), ("quoted", 4))
