"""Every cell of Protobuf's acceptance table, alone, among good messages, and as a value that no column takes."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.avro_ways import outcomes
from tests.contract.decode_cases import Dead
from tests.contract.protobuf_cases import (
    ABSENT_CASES,
    IGNORED_CASES,
    KIND_CASES,
    RESOLVE,
    VALUE_CASES,
    number,
)
from tests.contract.protobuf_ways import WAYS, Registry, head, indexes_of, message_of, table_schema, written

ZONE = "Europe/Berlin"
CASES = KIND_CASES + ABSENT_CASES + VALUE_CASES + IGNORED_CASES
IDS = [f"{text} {dtype} {data[:20].hex()}" for _, text, dtype, data, _ in CASES]
OTHER = written('syntax = "proto3"; message Other { int32 b = 1; }')


def same(found: Any, expected: Any) -> bool:
    return found == expected if isinstance(expected, Dead) else repr(found) == repr([expected])


@pytest.mark.parametrize(("syntax", "text", "dtype", "data", "expected"), CASES, ids=IDS)
def test_a_value_comes_out_as_the_table_says(
    syntax: str, text: str, dtype: str, data: bytes, expected: Any
) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    registry = Registry(id7=table_schema(syntax), id1=OTHER)
    for make in WAYS.values():
        case = head(7, *indexes_of(syntax, text)) + data
        found = outcomes(make(schema, ZONE, writers=registry), [case, head(1) + number(3), case])
        assert same(found[0], expected), found
        assert found[0] == found[2] or repr(found[0]) == repr(found[2])
        assert found[1] == [None]


@pytest.mark.parametrize(("syntax", "text", "dtype", "data", "expected"), CASES, ids=IDS)
def test_a_value_of_the_maps_own_schema_comes_out_alike(
    syntax: str, text: str, dtype: str, data: bytes, expected: Any
) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    for make in WAYS.values():
        writer = replace(table_schema(syntax), message=message_of(syntax, text))
        if expected == RESOLVE:
            with pytest.raises(ValueError, match="column a"):
                make(schema, ZONE, writers=writer)
        else:
            assert same(outcomes(make(schema, ZONE, writers=writer), [data])[0], expected)
