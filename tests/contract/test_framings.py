"""Where messages name their schema besides Confluent's wire format, and what is said of every other framing."""

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

import pyarrow as pa
import pytest

from kafka2hive.config.keys import Framing, WireFormat
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, SchemaId, WriterSchema
from kafka2hive.plugins import Reason
from tests.contract.protobuf_cases import number
from tests.harness.outcomes import row_outcomes

Format = Literal["avro", "protobuf", "json_schema"]
COLUMNS = pa.schema([("a", pa.int64()), ("b", pa.int64())])
GUID = "89791762-2336-186f-9674-299b90a8e2ee"
OTHER_GUID = "89791762-2336-186f-9674-299b90a8e2ef"
RECORD = '{"type":"record","name":"R","fields":[%s]}'
A, B = '{"name":"a","type":"long"}', '{"name":"b","type":"long"}'
PROTO = 'syntax = "proto3"; message O { int64 x = 9; } message R { int64 a = 1; int64 b = 2; }'

SCHEMAS: Mapping[tuple[Format, SchemaId], WriterSchema] = {
    ("avro", 7): WriterSchema(AVRO, RECORD % f"{A},{B}"),
    ("avro", 2**40): WriterSchema(AVRO, RECORD % f"{B},{A}"),
    ("avro", GUID): WriterSchema(AVRO, RECORD % f"{B},{A}"),
    ("avro", OTHER_GUID): WriterSchema(AVRO, RECORD % f"{A},{B}"),
    ("protobuf", OTHER_GUID): WriterSchema(PROTOBUF, PROTO),
    ("protobuf", 7): WriterSchema(PROTOBUF, PROTO),
    ("protobuf", GUID): WriterSchema(PROTOBUF, PROTO.replace("a = 1", "a = 2").replace("b = 2", "b = 1")),
}
"""With two fields of one type in one order or the other: a schema taken for another one shows."""
BODIES: dict[Format, bytes] = {
    "avro": b"\x02\x04",
    "protobuf": b"\x02\x02" + number(1, 1) + number(2, 2),
    "json_schema": b'{"a":1,"b":2}',
}
HEADS: dict[Framing, list[tuple[bytes, SchemaId]]] = {
    "id4": [(b"\0\0\0\0\7", 7)],
    "id8": [(b"\0" + bytes(7) + b"\7", 7), (b"\0\0\0\1\0\0\0\0\0", 2**40)],
    "header": [
        (b"\0\0\0\0\7", 7),
        (b"\1" + UUID(GUID).bytes, GUID),
        (b"\1" + UUID(OTHER_GUID).bytes, OTHER_GUID),
    ],
}


class Writers:
    """The schemas of one format, and which were asked for."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self.asked: list[SchemaId] = []

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        self.asked.append(schema_id)
        return SCHEMAS.get((self._format, schema_id))


def outcomes(format: Format, wire: WireFormat, messages: list[bytes]) -> list[Any]:
    """Return for each message its row's values, or the text of its reason."""
    decoder = make_decoder(DecoderSpec(format, COLUMNS, writers=Writers(format), wire=wire))
    return [str(one) if isinstance(one, Reason) else one for one in row_outcomes(decoder, messages)]


@pytest.mark.parametrize("format", BODIES)
@pytest.mark.parametrize("framing", HEADS)
def test_messages_of_all_heads_of_a_framing_are_read_by_the_schema_they_name(
    format: Format, framing: Framing
) -> None:
    messages, expected = [], list[Any]()
    for head, schema_id in HEADS[framing]:
        if format == "protobuf" and schema_id == 2**40:
            continue
        messages.append(head + BODIES[format])
        swapped = schema_id in (2**40, GUID) and format != "json_schema"
        expected.append([2, 1] if swapped else [1, 2])
    mixed = [messages[at % len(messages)] for at in range(7)] + [b"", b"\xff" * 40]
    found = outcomes(format, WireFormat(framing), mixed)
    assert found[:7] == [expected[at % len(messages)] for at in range(7)]
    code = "json" if format == "json_schema" else format
    assert [reason.partition(":")[0] for reason in found[7:]] == [f"{code}.frame"] * 2


@pytest.mark.parametrize("format", BODIES)
def test_no_message_is_there_and_nothing_is_asked(format: Format) -> None:
    for framing in HEADS:
        assert outcomes(format, WireFormat(framing), []) == []


@pytest.mark.parametrize(
    ("framing", "message", "said"),
    [
        ("id4", b"", "the message is empty"),
        ("id4", b"\0\0\0", "too short (3 bytes)"),
        ("id8", b"\0\0\0\0\7\2\4", "too short (7 bytes)"),
        ("id4", b"\xc3\x01" + bytes(8) + b"\2\4", "Avro's single-object encoding"),
        ("id4", b"\3\0" + bytes(16) + b"\2\4", "AWS Glue's serializer"),
        ("id8", b"\3\5" + bytes(16) + b"x\x9c", "AWS Glue's serializer"),
        ("id4", b"Obj\1\4\x14", "an Avro file"),
        ("id4", b' {"a": 1}', "JSON text without any head"),
        ("id4", b"\1" + bytes(range(16)) + b"\2\4", "framing: header reads GUIDs"),
        ("header", b"\1\2\3", "its framing is unknown"),
        ("id4", b"\2\4", "its framing is unknown"),
    ],
)
def test_a_message_with_another_framing_is_refused_with_what_it_looks_like(
    framing: Framing, message: bytes, said: str
) -> None:
    for format in BODIES:
        (reason,) = outcomes(format, WireFormat(framing), [message])
        assert reason.startswith(("avro.frame: ", "protobuf.frame: ", "json.frame: "))
        assert said in reason


@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_an_id_of_8_bytes_where_4_are_expected_is_told_apart_from_one_that_is_unknown(format: Format) -> None:
    hint = "is it the first half of an id in 8 bytes? framing: id8 reads those"
    long_id, unknown = b"\0" + bytes(7) + b"\7", b"\0\0\0\0\x09"
    found = outcomes(format, WireFormat(), [long_id + BODIES[format], unknown + BODIES[format]])
    assert hint in found[0] and hint not in found[1]


def test_an_id_beyond_what_a_long_holds_is_no_id() -> None:
    (reason,) = outcomes("avro", WireFormat("id8"), [b"\0" + b"\xff" * 8 + b"\2\4"])
    assert reason.startswith("avro.frame: ")


def test_indexes_without_zigzag_are_read_where_the_map_says_so() -> None:
    head, row = b"\0\0\0\0\7", number(1, 1) + number(2, 2)
    unsigned = WireFormat("id4", "unsigned")
    messages = [head + b"\1\1" + row, head + b"\0" + number(9, 9), head + b"\1\2" + row, head]
    found = outcomes("protobuf", unsigned, messages)
    assert found[0] == [1, 2]
    assert found[2].startswith("protobuf.frame: ") and found[3].startswith("protobuf.frame: ")
    refused, first = outcomes("protobuf", WireFormat(), messages[:2])
    assert first == found[1], "0 alone is the first message type, however the indexes are written"
    assert refused.endswith("if the writer encodes them without zigzag, set protobuf_indexes: unsigned")


def test_json_behind_an_id_of_the_other_length_is_told() -> None:
    hint = ": does the JSON begin after an id in {0} bytes? framing: id{0} reads those"
    json, is_array = BODIES["json_schema"], b"\0\0\0\0\7[1]"
    for framing, head, other in (("id4", 9, 8), ("id8", 5, 4)):
        wire = WireFormat("id4" if framing == "id4" else "id8")
        (reason,) = outcomes("json_schema", wire, [bytes(head - 1) + b"\7" + json])
        assert reason.startswith("json.") and reason.endswith(hint.format(other))
    (reason,) = outcomes("json_schema", WireFormat(), [is_array])
    assert reason == "json.object: the value is JSON, but not an object"
