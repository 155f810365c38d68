"""Framings of other serializers than Confluent's, with the schemas in the map, and messages that these serializers wrote."""

from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import Framing, WireFormat
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.schemas.avro import parse
from kafka2hive.decode.schemas.declared import declared_schemas
from kafka2hive.decode.schemas.fingerprints import canonical_form, fingerprint_of
from kafka2hive.decode.transport.contents import Transport
from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.plugins import Reason
from kafka2hive.service.verify.semantics.framing import FramedRecords, whole_message
from tests.harness.outcomes import row_outcomes

COLUMNS = pa.schema([("a", pa.int64()), ("b", pa.int64())])
RECORD = '{"type":"record","name":"R","fields":[%s]}'
A, B = '{"name":"a","type":"long"}', '{"name":"b","type":"long"}'
AB, BA = RECORD % f"{A},{B}", RECORD % f"{B},{A}"
"""With two fields of one type in one order or the other: a schema taken for another one shows."""
GUID, OTHER = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63", "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c64"
DATA = b"\2\4"

CANONICAL = [  # as Java's SchemaNormalization writes them, with its fingerprints
    (AB, AB.replace('"type":"record","name":"R"', '"name":"R","type":"record"'), "54f762da7d43116a"),
    (BA, BA.replace('"type":"record","name":"R"', '"name":"R","type":"record"'), "ab1a4df431a8d5dd"),
    (
        '{"type":"record","name":"Order","namespace":"shop.v1","doc":"x","fields":['
        '{"name":"id","type":{"type":"long"},"default":3,"doc":"d"},'
        '{"name":"state","type":{"type":"enum","name":"State","symbols":["NEW","PAID"],"default":"NEW"}},'
        '{"name":"last","type":["null","State"],"default":null},'
        '{"name":"tags","type":{"type":"array","items":"string"}},'
        '{"name":"more","type":{"type":"map","values":'
        '{"type":"fixed","name":"other.Hash","size":4,"aliases":["H"]}}},'
        '{"name":"hash","type":"other.Hash"},'
        '{"name":"paid","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},'
        '{"name":"next","type":["null","Order"]},'
        '{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"},"order":"ignore"}]}',
        '{"name":"shop.v1.Order","type":"record","fields":[{"name":"id","type":"long"},'
        '{"name":"state","type":{"name":"shop.v1.State","type":"enum","symbols":["NEW","PAID"]}},'
        '{"name":"last","type":["null","shop.v1.State"]},'
        '{"name":"tags","type":{"type":"array","items":"string"}},'
        '{"name":"more","type":{"type":"map","values":{"name":"other.Hash","type":"fixed","size":4}}},'
        '{"name":"hash","type":"other.Hash"},{"name":"paid","type":"bytes"},'
        '{"name":"next","type":["null","shop.v1.Order"]},{"name":"at","type":"long"}]}',
        "31f492f4cf4ff63f",
    ),
    ('"string"', '"string"', "8f014872634503c7"),
    (
        '{"type":"array","items":["null","double","boolean"]}',
        '{"type":"array","items":["null","double","boolean"]}',
        "93d70716be76c109",
    ),
]
SCHEMAS: dict[Framing, list[tuple[str, str]]] = {
    "single_object": [("first", AB), ("second", BA)],
    "glue": [(GUID, AB), (OTHER.upper(), BA)],
    "azure": [(GUID.replace("-", ""), AB), (OTHER, BA)],
    "apicurio_global": [("7", AB), (str(2**40), BA)],
    "apicurio_content": [("7", AB), (str(2**40), BA)],
    "cloudera": [("7", AB), ("3:2", BA)],
    "id4": [("7", AB), ("8", BA)],
    "header": [(GUID, AB), ("8", BA)],
}
MESSAGES: dict[Framing, list[bytes]] = {
    # Java's BinaryMessageEncoder
    "single_object": [bytes.fromhex("c3016a11437dda62f7540204"), bytes.fromhex("c301ddd5a831f44d1aab0204")],
    # the Python package aws-glue-schema-registry, without and with compression
    "glue": [
        bytes.fromhex("0300b7b4a7f09c964e4aa687fb5de9ef0c630204"),
        b"\3\0" + UUID(OTHER).bytes + DATA,
    ],
    # what the header says in front
    "azure": [b"\1" + UUID(GUID).bytes + DATA, b"\1" + UUID(OTHER).bytes + DATA],
    "apicurio_global": [b"\0" + bytes(7) + b"\7" + DATA, b"\0\0\0\1\0\0\0\0\0" + DATA],
    "apicurio_content": [b"\0" + bytes(7) + b"\7" + DATA, b"\0\0\0\1\0\0\0\0\0" + DATA],
    "cloudera": [b"\3\0\0\0\7" + DATA, b"\1" + bytes(7) + b"\3\0\0\0\2" + DATA],
    "id4": [b"\0\0\0\0\7" + DATA, b"\0\0\0\0\x08" + DATA],
    "header": [b"\1" + UUID(GUID).bytes + DATA, b"\0\0\0\0\x08" + DATA],
}
GLUE_COMPRESSED = bytes.fromhex("0305b7b4a7f09c964e4aa687fb5de9ef0c63789c63620100000a0007")


def outcomes(framing: Framing, messages: list[bytes]) -> list[Any]:
    """Return for each message its row's values, or the text of its reason."""
    writers = declared_schemas(framing, SCHEMAS[framing])
    decoder = make_decoder(DecoderSpec("avro", COLUMNS, writers=writers, wire=WireFormat(framing)))
    return [str(one) if isinstance(one, Reason) else one for one in row_outcomes(decoder, messages)]


@pytest.mark.parametrize(("text", "form", "fingerprint"), CANONICAL)
def test_fingerprints_are_those_of_other_libraries(text: str, form: str, fingerprint: str) -> None:
    schema = parse(WriterSchema(AVRO, text))
    assert canonical_form(schema) == form
    assert fingerprint_of(schema) == fingerprint
    theirs = fastavro.schema.fingerprint(form, "CRC-64-AVRO")  # least significant byte first
    assert bytes.fromhex(theirs)[::-1].hex() == fingerprint


@pytest.mark.parametrize("framing", MESSAGES)
def test_messages_are_read_by_the_schemas_of_the_map(framing: Framing) -> None:
    first, second = MESSAGES[framing]
    found = outcomes(framing, [first, second, b"", first, second[:-1], b"\xff" * 40, second])
    assert found[:2] == [[1, 2], [2, 1]]
    assert (found[3], found[6]) == ([1, 2], [2, 1])
    codes = [found[at].partition(":")[0] for at in (2, 4, 5)]
    assert codes == ["avro.frame", "avro.truncated", "avro.frame"]


@pytest.mark.parametrize("framing", MESSAGES)
def test_a_head_that_is_cut_or_names_no_schema_is_refused(framing: Framing) -> None:
    first = MESSAGES[framing][0]
    head = len(first) - len(DATA)
    for end in range(head):
        assert outcomes(framing, [first[:end]])[0].startswith("avro.frame: "), end
    changed = first[: head - 1] + bytes([first[head - 1] ^ 0x55]) + DATA
    assert outcomes(framing, [changed])[0].startswith("avro.schema: the map has no schema of id ")


def test_the_versions_of_clouderas_protocol_have_their_ids() -> None:
    two = b"\2" + bytes(7) + b"\7" + DATA
    assert outcomes("cloudera", [two, *MESSAGES["cloudera"]]) == [[1, 2], [1, 2], [2, 1]]
    (reason,) = outcomes("cloudera", [b"\1" + bytes(7) + b"\3\0\0\0\3" + DATA])
    assert reason == "avro.schema: the map has no schema of id 3:3"


def test_compressed_data_of_glue_is_decompressed_or_refused() -> None:
    transport = Transport(framing="glue")
    plain = MESSAGES["glue"][0]
    values = [
        plain,
        GLUE_COMPRESSED,
        GLUE_COMPRESSED[:-1],
        GLUE_COMPRESSED + b"x",
        b"\3\5short",
        b"\3\6" + plain[2:],
    ]
    found = transport.all_contents(pa.array(values, pa.binary()))
    assert found.places.tolist() == [0, 1, 4, 5]
    assert found.values.to_pylist() == [plain, plain, values[4], values[5]]
    assert {reason.code for reason in found.refusals.values()} == {"compression.damaged"}
    assert [outcome[:10] for outcome in map(str, outcomes("glue", values[4:]))] == ["avro.frame"] * 2
    (untouched,) = transport.contents(pa.array([plain], pa.binary()))
    assert untouched.values.to_pylist() == [plain]
    (left,) = Transport(framing="id4").contents(pa.array([GLUE_COMPRESSED], pa.binary()))
    assert left.values.to_pylist() == [GLUE_COMPRESSED]


def test_json_of_glue_needs_no_schema() -> None:
    spec = DecoderSpec("json_schema", COLUMNS, wire=WireFormat("glue"))
    body = b'{"a":1,"b":2}'
    found = row_outcomes(make_decoder(spec), [MESSAGES["glue"][0][:18] + body, body, b"\0\0\0\0\7" + body])
    assert found[0] == [1, 2]
    assert [str(reason)[:10] for reason in found[1:]] == ["json.frame"] * 2


@pytest.mark.parametrize(
    ("framing", "schemas", "told"),
    [
        ("single_object", [("a", AB), ("b", AB.replace("{", '{"doc":"x",', 1))], "have the same id, 54f762"),
        ("glue", [(GUID, AB), (GUID.upper(), BA)], "have the same id"),
        ("glue", [("7", AB)], "schemas.7: badly formed"),
        ("cloudera", [("3:x", AB)], "expected the number of a schema, or METADATA:VERSION"),
        ("id4", [("07a", AB)], "expected the number of a schema"),
        ("id4", [("7", "{}")], "schemas.7: no type"),
    ],
)
def test_schemas_of_the_map_that_cannot_be_told_apart_are_refused(
    framing: Framing, schemas: list[tuple[str, str]], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        declared_schemas(framing, schemas)


def test_reasons_name_the_framing_that_reads_a_message() -> None:
    spec = DecoderSpec("avro", COLUMNS, writers=declared_schemas("id4", [("7", AB)]), wire=WireFormat())
    found = row_outcomes(make_decoder(spec), [MESSAGES["glue"][0], MESSAGES["single_object"][0]])
    assert "framing: glue reads it" in str(found[0])
    assert "framing: single_object reads it" in str(found[1])
    assert str(outcomes("glue", [b"\0\0\0\0\7\2\4"])[0]).startswith(
        "avro.frame: not in the form of framing: glue (byte 3, byte 0 or 5, a GUID in 16 bytes, the data)"
    )


@pytest.mark.parametrize("framing", MESSAGES)
def test_the_judge_of_verify_finds_the_same_schema_with_code_of_its_own(framing: Framing) -> None:
    records = FramedRecords("avro", WireFormat(framing), declared_schemas(framing, SCHEMAS[framing]).get)
    for message, row in zip(MESSAGES[framing], [(1, 2), (2, 1)], strict=True):
        members = records.read(message).members()
        assert (members["a"].value, members["b"].value) == row
        assert records.key(message) == message[: -len(DATA)]
    assert records.key(b"\xff" + DATA) is None


def test_the_judge_of_verify_reads_headers_and_compressed_data() -> None:
    assert whole_message("glue", None, GLUE_COMPRESSED) == MESSAGES["glue"][0]
    assert whole_message("glue", None, b"\3\5" + bytes(20))[:1] == b"\xff"
    for guid in (GUID, GUID.replace("-", "")):
        assert whole_message("azure", f"avro/binary+{guid}".encode(), DATA) == MESSAGES["azure"][0]
    assert whole_message("apicurio_global", bytes(7) + b"\7", DATA) == MESSAGES["apicurio_global"][0]
    for framing in ("azure", "apicurio_content"):
        for header in (None, b"", b"avro/binary+7", b"\xff+" + b"00" * 15):
            assert whole_message(framing, header, DATA) == b"\xff" + DATA
    assert whole_message("header", b"\0\0\0\0\7", DATA) == b"\0\0\0\0\7" + DATA
