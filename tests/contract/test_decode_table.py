"""Every cell of the acceptance table, alone, among good messages, and all together in one batch."""

from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.decode.json import JsonExactDecoder
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded, Reason
from tests.contract.decode_cases import KIND_CASES, MESSAGE_CASES, VALUE_CASES, Dead
from tests.contract.decode_ways import WAYS
from tests.harness.reasons import texts_of

ZONE = "Europe/Berlin"
CASES = [("bigint", message, expected) for message, expected in MESSAGE_CASES] + [
    (dtype, b'{"a":' + text.encode() + b"}", expected) for dtype, text, expected in KIND_CASES + VALUE_CASES
]
IDS = [f"{dtype} {message[:40]!r}" for dtype, message, _ in CASES]


def decode(dtype: str, messages: list[bytes], way: str) -> Decoded:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    decoded: Decoded = WAYS[way](schema, ZONE).decode(pa.array(messages, pa.binary()))
    decoded.rows.validate(full=True)
    assert decoded.rows.schema.equals(schema)
    return decoded


def outcome(decoded: Decoded, position: int) -> Any:
    accepted = decoded.accepted.to_pylist()
    if position in accepted:
        return decoded.rows.column(0)[accepted.index(position)].as_py()
    return Dead(decoded.reasons[decoded.rejected.to_pylist().index(position)].code)


def same(found: Any, expected: Any) -> bool:
    return found == expected and type(found) is type(expected)


@pytest.mark.parametrize(("dtype", "message", "expected"), CASES, ids=IDS)
def test_a_message_alone_comes_out_as_the_table_says(dtype: str, message: bytes, expected: Any) -> None:
    for way in WAYS:
        found = outcome(decode(dtype, [message], way), 0)
        assert same(found, expected), found


@pytest.mark.parametrize(("dtype", "message", "expected"), CASES, ids=IDS)
def test_a_message_among_others_changes_none_of_them(dtype: str, message: bytes, expected: Any) -> None:
    for way in WAYS:
        messages = [b'{"a":null}', b"{}", message, b'{"a":null, "z": 1}', b"[", b'{"a":null}', b'{"a":null}']
        decoded = decode(dtype, messages, way)
        assert [outcome(decoded, i) for i in (0, 1, 3, 5, 6)] == [None] * 5
        assert outcome(decoded, 4) == Dead("json.syntax")
        found = outcome(decoded, 2)
        assert same(found, expected), found


@pytest.mark.parametrize(("dtype", "message", "expected"), CASES, ids=IDS)
def test_the_exact_way_alone_says_the_same(dtype: str, message: bytes, expected: Any) -> None:
    schema = pa.schema([("a", parse_hive_type(dtype))])
    verdict = JsonExactDecoder(schema, ZONE).decode(message)
    if isinstance(verdict, Reason):
        assert Dead(verdict.code) == expected
    else:
        assert same(pa.array(verdict, schema.field(0).type)[0].as_py(), expected)


@pytest.mark.parametrize("dtype", sorted({dtype for dtype, _, _ in CASES}))
def test_all_cases_of_a_type_in_one_batch_come_out_as_each_alone(dtype: str) -> None:
    cases = [(message, expected) for of_type, message, expected in CASES if of_type == dtype]
    for way in WAYS:
        decoded = decode(dtype, [b'{"a":null}'] * len(cases) + [message for message, _ in cases], way)
        for position, (message, expected) in enumerate(cases, len(cases)):
            assert same(outcome(decoded, position), expected), message


def test_a_reason_names_column_and_path_and_what_was_found() -> None:
    for way in WAYS:
        decoded = decode("array<struct<x:int>>", [b'{"a":[{"x":1},{"x":"2"}]}', b'{"a":[{"x":1.5}]}'], way)
        assert texts_of(decoded.reasons) == [
            "json.type: column a[1].x expects int, got string",
            "json.type: column a[0].x expects int, got number 1.5",
        ]
