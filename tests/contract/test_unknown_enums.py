"""Columns with `unknown_enum`: a number that Protobuf's enum has no name for is digits or NULL, and counted."""

from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.leeway import Leeway, UnknownEnum
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.protobuf_cases import number, sized
from tests.contract.protobuf_ways import WAYS, Registry, head, written
from tests.harness.outcomes import first_values

ENUM = "enum Color { RED = 0; BLUE = 5; AZURE = 5; } "
SCHEMAS = {
    "proto3": f'syntax = "proto3"; {ENUM.replace("{", "{ option allow_alias = true;", 1)}'
    "message M { Color a = 1; repeated Color b = 2; In c = 3; } message In { Color d = 1; }",
    "proto2": f'syntax = "proto2"; {ENUM.replace("{", "{ option allow_alias = true;", 1)}'
    "message M { optional Color a = 1; repeated Color b = 2; optional In c = 3; } "
    "message In { optional Color d = 1; }",
}
PLACES: dict[str, Any] = {"a": lambda data: data, "c": lambda data: sized(data, 3)}
NAMES = {"a": ("a",), "c": ("c", "d")}


def outcomes(
    way: str, syntax: str, place: str, unknown: UnknownEnum, messages: list[bytes], kind: str = "string"
) -> tuple[list[Any], dict[str, int]]:
    """What the column holds of each message, or the code of its dead letter, and what was counted."""
    changes = Changes()
    schema = pa.schema([("x", parse_hive_type(kind))])
    source = Source(NAMES.get(place, (place,)), None, Leeway(unknown_enum=unknown))
    decoder = WAYS[way](
        schema, "UTC", [source], writers=Registry(id1=written(SCHEMAS[syntax])), changes=changes
    )
    framed = [head(1, 0) + message for message in messages]
    return first_values(decoder, framed), dict(changes.take())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("syntax", SCHEMAS)
@pytest.mark.parametrize("place", PLACES)
def test_a_number_without_a_name_is_what_the_column_says(way: str, syntax: str, place: str) -> None:
    numbers = [5, 7, 0, -1, 2**31 - 1, -(2**31)]
    messages = [PLACES[place](number(one)) for one in numbers]
    expected = {
        "refuse": ["BLUE", "protobuf.enum", "RED", *["protobuf.enum"] * 3],
        "name": ["BLUE", "7", "RED", "-1", "2147483647", "-2147483648"],
        "null": ["BLUE", None, "RED", None, None, None],
    }
    counts: dict[str, dict[str, int]] = {
        "refuse": {},
        "name": {"unknown_enum": 4},
        "null": {"unknown_enum": 4},
    }
    words: tuple[UnknownEnum, ...] = ("refuse", "name", "null")
    for word in words:
        assert outcomes(way, syntax, place, word, messages) == (expected[word], counts[word])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("unknown", ["name", "null"])
def test_what_is_no_number_of_an_enum_is_refused_as_ever(way: str, unknown: UnknownEnum) -> None:
    messages = [number(2**31), sized("RED"), b"\x08", b"\x08\x80"]
    found = outcomes(way, "proto3", "a", unknown, messages)
    assert found == (["protobuf.range", "protobuf.wire", "protobuf.truncated", "protobuf.truncated"], {})


@pytest.mark.parametrize("way", WAYS)
def test_of_a_field_that_stands_twice_only_the_last_number_counts(way: str) -> None:
    messages = [number(7) + number(5), number(5) + number(7), number(7) + number(8), b""]
    assert outcomes(way, "proto3", "a", "null", messages) == (
        ["BLUE", None, None, "RED"],
        {"unknown_enum": 2},
    )
    assert outcomes(way, "proto2", "a", "name", messages) == (["BLUE", "7", "8", None], {"unknown_enum": 2})


@pytest.mark.parametrize("way", WAYS)
def test_enums_within_arrays_stay_strict(way: str) -> None:
    messages = [number(5, 2), number(7, 2)]
    found = outcomes(way, "proto3", "b", "null", messages, "array<string>")
    assert found == ([["BLUE"], "protobuf.enum"], {})


def test_null_is_no_value_for_a_default_and_further_paths() -> None:
    changes = Changes()
    leeway = Leeway(others=(("c", "d"),), default="none", unknown_enum="null")
    decoder = make_decoder(
        DecoderSpec(
            "protobuf",
            pa.schema([("x", pa.string())]),
            "UTC",
            [Source(("a",), None, leeway)],
            writers=Registry(id1=written(SCHEMAS["proto2"])),
            changes=changes,
        )
    )
    messages = [number(7) + sized(number(5), 3), number(7), number(7) + sized(number(8), 3), number(5)]
    decoded = decoder.decode(pa.array([head(1, 0) + message for message in messages], pa.binary()))
    assert decoded.rows.column(0).to_pylist() == ["BLUE", "none", "none", "BLUE"]
    assert dict(changes.take()) == {"unknown_enum": 4, "default": 2}
