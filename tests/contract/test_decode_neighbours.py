"""Every single byte of a message changed to every other, and still no wrong row."""

import pyarrow as pa
import pytest

from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.decode_reference import reference
from tests.contract.decode_ways import WAYS

SHAPES = [
    ({"i": "bigint", "s": "string"}, b'{"i": 1234567890, "s": "a,b"}'),
    ({"s": "string", "i": "int"}, b'{"s":"x","i":-70}'),
    # the compiled decoder reads members that are not at the end by words of 8 to 24 bytes
    ({"i": "bigint", "s": "string"}, b'{"i":-123456,"s":"12345678","z":"24 bytes are behind it"}'),
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
    messages, expected = [message], [reference(message, schema, "UTC")]
    for one in changed:
        messages += [one, message]
        expected += [reference(one, schema, "UTC"), expected[0]]
    for make in WAYS.values():
        decoded = make(schema, "UTC").decode(pa.array(messages, pa.binary()))
        assert decoded.accepted.to_pylist() == [i for i, row in enumerate(expected) if row is not None]
        assert [repr(row) for row in decoded.rows.to_pylist()] == [
            repr(row) for row in expected if row is not None
        ]
