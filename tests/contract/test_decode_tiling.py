"""The way without a parser: every single byte of a message changed to every other, and still no wrong row."""

import pyarrow as pa
import pytest

from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.pipeline.decode.message_bytes import message_bytes
from kafka2hive.pipeline.decode.tiled.template import template_of
from kafka2hive.pipeline.decode.tiled.tiling import TilingReader
from tests.contract.decode_reference import reference
from tests.contract.decode_ways import WAYS

SHAPES = [
    ({"i": "bigint", "s": "string"}, b'{"i": 1234567890, "s": "a,b"}'),
    ({"s": "string", "i": "int"}, b'{"s":"x","i":-70}'),
    ({"d": "double", "b": "boolean"}, b'{"d":-1.5e2,"b":true}'),
    ({"m": "decimal(6,2)"}, b'{"z":12,"y":"q","m":10.25 }'),
    ({"t": "timestamp"}, b' {"t":"2013-01-01T05:00:00Z"}'),
    ({"f": "float", "d": "date"}, b'{"d":"2013-01-31","f":100}'),
    ({"n": "smallint", "a": "binary"}, b'{"n":null,"a":"AA=="}'),
]


def neighbours(message: bytes) -> list[bytes]:
    """All messages one byte away: replaced, inserted before, taken away; and all beginnings and doublings."""
    found = [message[:at] + bytes([b]) + message[at + 1 :] for at in range(len(message)) for b in range(256)]
    found += [message[:at] + bytes([b]) + message[at:] for at in range(len(message) + 1) for b in range(256)]
    found += [message[:at] + message[at + 1 :] for at in range(len(message))]
    found += [message[:at] for at in range(len(message))]
    return [*found, message + message, message + b"," + message, message[:-1] + b"," + message[1:]]


@pytest.mark.parametrize(("types", "message"), SHAPES, ids=[str(m) for _, m in SHAPES])
def test_every_neighbour_of_a_message_comes_out_as_the_reference_says(
    types: dict[str, str], message: bytes
) -> None:
    schema = pa.schema([(name, parse_hive_type(text)) for name, text in types.items()])
    changed = neighbours(message)
    messages = [message]
    for one in changed:
        messages += [one, message]
    expected = [reference(one, schema, "UTC") for one in messages]
    for make in WAYS.values():
        decoded = make(schema, "UTC").decode(pa.array(messages, pa.binary()))
        assert decoded.accepted.to_pylist() == [i for i, row in enumerate(expected) if row is not None]
        assert [repr(row) for row in decoded.rows.to_pylist()] == [
            repr(row) for row in expected if row is not None
        ]


def tiled(types: dict[str, str], messages: list[bytes]) -> list[bool] | None:
    """Which messages tile by the first one's template."""
    schema = pa.schema([(name, parse_hive_type(text)) for name, text in types.items()])
    sound = pa.array([True] * len(messages)).to_numpy(zero_copy_only=False)
    read = TilingReader(schema, "UTC").read(
        messages[0], message_bytes(pa.array(messages, pa.binary())), sound
    )
    return None if read is None else read[1].tolist()


def test_messages_of_one_serializer_tile_whatever_their_values() -> None:
    types = {"i": "bigint", "s": "string", "d": "double", "b": "boolean", "t": "timestamp"}
    messages = [
        b'{"i":1,"s":"x","d":1,"b":true,"t":"2013-01-01T05:00:00","extra":[1]}'.replace(b',"extra":[1]', b""),
        b'{"i":-123456789012345678,"s":"","d":-0.5e-3,"b":false,"t":"2013-01-01 05:00:00+02:00"}',
        b'{"i":null,"s":"{}:,[]","d":null,"b":null,"t":null}',
        '{"i":0,"s":"ü, \U0001f600","d":0,"b":true,"t":"2013-01-01T05:00Z"}'.encode(),
        b'{"i":0,"s":"escaped \\n","d":0,"b":true,"t":"2013-01-01T05:00Z"}',
        b'{"i":0, "s":"other blanks","d":0,"b":true,"t":"2013-01-01T05:00Z"}',
    ]
    assert tiled(types, messages) == [True, True, True, True, False, False]


def test_messages_of_many_shapes_are_left_to_the_parser() -> None:
    assert tiled({"a": "int"}, [b'{"a":1}', b'{"b":1}', b'{"c":1}']) is None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"{}",
        b"[]",
        b'{"a":[1]}',
        b'{"a":{}}',
        b'{"a":1,"a":2}',
        b'{"a\\u0062":1}',
        b'{,"a":1}',
        b'{"a":1',
        b'{"a":1}x',
    ],
)
def test_no_template_is_read_off_what_is_not_a_flat_object_without_escapes(message: bytes) -> None:
    assert template_of(message, 10) is None


def test_a_message_of_very_many_members_gives_no_template() -> None:
    message = b"{" + b",".join(b'"k%d":1' % i for i in range(1000)) + b"}"
    assert template_of(message, 999) is None
    assert template_of(message, 1000) is not None
