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
TYPES = sorted({dtype for _, _, dtype, _, _ in CASES})
OTHER = written('syntax = "proto3"; message Other { int32 b = 1; }')


def same(found: Any, expected: Any) -> bool:
    return found == expected if isinstance(expected, Dead) else repr(found) == repr([expected])


def cases_of(of_type: str) -> list[tuple[str, str, bytes, Any]]:
    return [
        (syntax, text, data, expected) for syntax, text, dtype, data, expected in CASES if dtype == of_type
    ]


@pytest.mark.parametrize("dtype", TYPES)
def test_a_value_comes_out_as_the_table_says(dtype: str) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    for syntax, text, data, expected in cases_of(dtype):
        registry = Registry(id7=table_schema(syntax), id1=OTHER)
        for way, make in WAYS.items():
            case = head(7, *indexes_of(syntax, text)) + data
            found = outcomes(make(schema, ZONE, writers=registry), [case, head(1) + number(3), case])
            cell = (way, text, data, found)
            assert same(found[0], expected), cell
            assert found[0] == found[2] or repr(found[0]) == repr(found[2]), cell
            assert found[1] == [None], cell


@pytest.mark.parametrize("dtype", TYPES)
def test_a_value_of_the_maps_own_schema_comes_out_alike(dtype: str) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    for syntax, text, data, expected in cases_of(dtype):
        writer = replace(table_schema(syntax), message=message_of(syntax, text))
        for way, make in WAYS.items():
            if expected == RESOLVE:
                with pytest.raises(ValueError, match="column a"):
                    make(schema, ZONE, writers=writer)
            else:
                found = outcomes(make(schema, ZONE, writers=writer), [data])[0]
                assert same(found, expected), (way, text, data, found)
