"""Every cell of the acceptance table, alone, among good messages, and all together in one batch."""

from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded
from tests.contract.decode_cases import KIND_CASES, MESSAGE_CASES, VALUE_CASES, Dead
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.reasons import texts_of

ZONE = "Europe/Berlin"
CASES = [("bigint", message, expected) for message, expected in MESSAGE_CASES] + [
    (dtype, b'{"a":' + text.encode() + b"}", expected) for dtype, text, expected in KIND_CASES + VALUE_CASES
]
TYPES = sorted({dtype for dtype, _, _ in CASES})


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


def cases_of(of_type: str) -> list[tuple[bytes, Any]]:
    return [(message, expected) for dtype, message, expected in CASES if dtype == of_type]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_message_alone_comes_out_as_the_table_says(dtype: str, way: str) -> None:
    for message, expected in cases_of(dtype):
        found = outcome(decode(dtype, [message], way), 0)
        assert same(found, expected), f"{message!r}: {found}"


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_message_among_others_changes_none_of_them(dtype: str, way: str) -> None:
    for message, expected in cases_of(dtype):
        messages = [b'{"a":null}', b"{}", message, b'{"a":null, "z": 1}', b"[", b'{"a":null}', b'{"a":null}']
        decoded = decode(dtype, messages, way)
        found = [outcome(decoded, position) for position in range(len(messages))]
        assert found[:2] + found[3:] == [None, None, None, Dead("json.syntax"), None, None], message
        assert same(found[2], expected), f"{message!r}: {found[2]}"


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("dtype", TYPES)
def test_all_cases_of_a_type_in_one_batch_come_out_as_each_alone(dtype: str, way: str) -> None:
    cases = cases_of(dtype)
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


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(
    ("message", "hint"),
    [
        (b'\xef\xbb\xbf{"a":null}', "it begins like text with a byte order mark"),
        ('{"a":null}'.encode("utf-16"), "it begins like text in UTF-16"),
        (b"\x1f\x8b\x08\x00\x00", "it begins like gzip, which `compression: gzip` reads"),
        (b'\0\0\0\0\7{"a":null}', "format avro, protobuf or json_schema reads them"),
        (b'{"a":1732000000000}', "needs its unit (d, s, ms, us or ns)"),
        (b'{"a":"2024-01-01T00:00:00.123456789Z"}', "fraction: truncate cuts off"),
    ],
)
def test_a_reason_names_the_key_of_the_map_or_the_form_that_would_help(
    message: bytes, hint: str, way: str
) -> None:
    (text,) = texts_of(decode("timestamp", [message], way).reasons)
    assert hint in text
