"""Every cell of Avro's acceptance table, alone, among good messages, and as a value that no column takes."""

from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.avro_cases import IGNORED_CASES, KIND_CASES, RESOLVE, VALUE_CASES, number
from tests.contract.avro_ways import WAYS, Registry, framed, outcomes, record
from tests.contract.avro_ways import written as text_of
from tests.contract.decode_cases import Dead
from tests.harness.reasons import texts_of

ZONE = "Europe/Berlin"
CASES = KIND_CASES + VALUE_CASES
TYPES = sorted({dtype for _, dtype, _, _ in CASES})


def same(found: Any, expected: Any) -> bool:
    return found == expected if isinstance(expected, Dead) else repr(found) == repr([expected])


def cases_of(of_type: str) -> list[tuple[Any, bytes, Any]]:
    return [(written, data, expected) for written, dtype, data, expected in CASES if dtype == of_type]


@pytest.mark.parametrize("dtype", TYPES)
def test_a_value_comes_out_as_the_table_says(dtype: str) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    for written, data, expected in cases_of(dtype):
        for way, make in WAYS.items():
            decoder = make(schema, ZONE, writers=Registry(id7=record(a=written)))
            found = outcomes(decoder, [framed(7, data)])[0]
            assert same(found, expected), (way, written, data, found)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_value_among_others_changes_none_of_them(dtype: str) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype)), ("b", pa.int32())])
    good = [framed(1, number(n)) for n in range(3)]
    for written, data, expected in cases_of(dtype):
        registry = Registry(id1=record(b="int"), id2=record(a=written, b="long"))
        case = framed(2, data + (b"" if expected == Dead("avro.truncated") else number(5)))
        for way, make in WAYS.items():
            decoder = make(schema, ZONE, writers=registry)
            found = outcomes(decoder, [good[0], case, b"\0", good[1], case, framed(3, b""), good[2]])
            cell = (way, written, data, found)
            assert [found[at] for at in (0, 3, 6)] == [[None, n] for n in range(3)], cell
            assert (found[2], found[5]) == (Dead("avro.frame"), Dead("avro.schema")), cell
            assert found[1] == found[4] or repr(found[1]) == repr(found[4]), cell
            assert same(found[1][:1] if isinstance(found[1], list) else found[1], expected), cell


@pytest.mark.parametrize(("written", "data", "expected"), IGNORED_CASES, ids=str)
def test_a_value_that_no_column_takes_must_be_right_all_the_same(
    written: Any, data: bytes, expected: Any
) -> None:
    registry = Registry(id7=record(ignored=written, a="long"))
    for make in WAYS.values():
        decoder = make(pa.schema([("a", pa.int64())]), ZONE, writers=registry)
        found = outcomes(decoder, [framed(7, data + number(7))])[0]
        assert same(found, expected), found


@pytest.mark.parametrize("dtype", TYPES)
def test_what_no_message_can_fill_is_refused_when_the_decoder_is_made(dtype: str) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    for written, data, expected in cases_of(dtype):
        for way, make in WAYS.items():
            writers = text_of(record(a=written))
            if expected == RESOLVE:
                with pytest.raises(ValueError, match="column a"):
                    make(schema, ZONE, writers=writers)
            else:
                found = outcomes(make(schema, ZONE, writers=writers), [data])[0]
                assert same(found, expected), (way, written, data, found)


def test_a_reason_names_column_byte_and_what_was_found() -> None:
    point = {"type": "record", "name": "P", "fields": [{"name": "x", "type": ["long", "string"]}]}
    registry = Registry(id7=record(z="string", a={"type": "array", "items": point}), id8=record(a="bytes"))
    schema = pa.schema([("a", parse_hive_type("array<struct<x:tinyint>>"))])
    messages = [
        framed(7, b"\0" + b"\4" + b"\0\2" + b"\0" + number(300) + b"\0"),
        framed(7, b"\0" + b"\2" + b"\2" + b"\2s" + b"\0"),
        framed(7, b"\2"),
        framed(7, b"\0\0\0"),
        framed(8, b"\0"),
        framed(9, b""),
        b"{}",
    ]
    for make in WAYS.values():
        reasons = make(schema, ZONE, writers=registry).decode(pa.array(messages, pa.binary())).reasons
        assert texts_of(reasons) == [
            "avro.range: column a[1].x, byte 12: 300 is beyond tinyint",
            "avro.type: column a[0].x, byte 8: string does not fill tinyint",
            "avro.truncated: field $.z, byte 6: 1 bytes wanted, the message has 6",
            "avro.syntax: byte 7: 1 bytes are left after the message's record",
            "avro.resolve: the schema of id 8: column a: bytes does not fill array<struct<x:tinyint>>",
            "avro.schema: the schema registry has no schema of id 9",
            "avro.frame: not in the schema registry's format (byte 0, the schema's id in 4 bytes, the data): it looks like "
            "JSON text without any head",
        ]
