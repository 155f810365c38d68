"""Schema ids in headers: records and keys are read by the schema that their header names; nothing else is guessed."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from kafka2hive.config.keys import Column, RecordPart, TableSettings
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, SchemaId, WriterSchema
from kafka2hive.task.chunk_decoder import ChunkDecoder
from tests.harness.reasons import texts_of
from tests.harness.task_files import table_settings
from tests.unit.task.test_task_chunk import chunk_of, messages_of

GUID = "89791762-2336-186f-9674-299b90a8e2ee"
BY_GUID, BY_ID = b"\1" + UUID(GUID).bytes, b"\0\0\0\0\5"
LONG = '{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}'
NEGATED = '{"type":"record","name":"R","fields":[{"name":"m","type":"long"},{"name":"n","type":"long"}]}'
PROTO = 'syntax = "proto3"; message Other { int64 x = 1; } message R { int64 n = 3; }'


class Schemas:
    """Schemas: id 5 has one field, the GUID's schema two; for Protobuf both are the same."""

    def __init__(self, kind: str = AVRO) -> None:
        self._kind = kind

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        if schema_id not in (5, GUID):
            return None
        if self._kind == PROTOBUF:
            return WriterSchema(PROTOBUF, PROTO)
        return WriterSchema(AVRO, LONG if schema_id == 5 else NEGATED)


def table(**more: Any) -> TableSettings:
    return replace(table_settings("db.t", "json", [("n", "bigint")]), **{"format": "avro"} | more)


def outcome(
    settings: TableSettings,
    records: list[tuple[bytes | None, list[tuple[str, bytes | None]] | None]],
    **writers: Any,
) -> list[Any]:
    """Return the row or the reason of each record."""
    chunk = chunk_of((len(records), 2))
    for message, (value, headers) in zip(messages_of(chunk), records, strict=True):
        message.set_value(value)
        message.set_headers(headers)
    return decoded(settings, chunk, **(writers or {"writers": Schemas()}))


def decoded(settings: TableSettings, chunk: Any, **writers: Any) -> list[Any]:
    found: dict[int, Any] = {}
    for part in ChunkDecoder(settings, **writers).decode(chunk):
        for rows, positions in part.batches:
            places = range(len(rows)) if positions is None else positions.tolist()
            found |= dict(zip(places, rows.to_pylist(), strict=True))
        for positions, reasons in part.rejections:
            found |= dict(zip(positions.tolist(), texts_of(reasons), strict=True))
        found |= dict.fromkeys(part.skipped.tolist(), "skipped")
    return [found[place] for place in range(len(chunk))]


def test_a_record_is_read_by_the_header_and_else_by_its_head() -> None:
    header = "__value_schema_id"
    assert outcome(
        table(framing="header"),
        [
            (b"\x0e", [(header, BY_ID)]),
            (b"\x01\x0e", [("trace", b"x"), (header, BY_GUID)]),
            (BY_ID + b"\x10", None),
            (BY_ID + b"\x12", [("trace", b"x"), (header, None)]),
            (b"\x0e", [(header, BY_GUID), (header, BY_ID)]),  # the last of a name
            (None, [(header, BY_ID)]),
        ],
    ) == [{"n": 7}, {"n": 7}, {"n": 8}, {"n": 9}, {"n": 7}, "skipped"]


@pytest.mark.parametrize(
    "header", [b"\0", BY_ID + b"\0", BY_GUID[:-1], BY_GUID + b"\0", b"\2" + BY_ID[1:], GUID.encode()]
)
def test_a_header_that_is_no_id_makes_a_dead_letter_and_no_guess(header: bytes) -> None:
    found = outcome(
        table(framing="header"),
        [(b"\x0e", [("__value_schema_id", header)]), (b"\x0e", [("__value_schema_id", BY_ID)])],
    )
    assert found[0].startswith("avro.frame: header __value_schema_id is neither byte 0 and an id")
    assert found[1] == {"n": 7}


def test_the_indexes_of_a_protobuf_message_stand_in_its_header() -> None:
    settings, body = table(format="protobuf", framing="header"), b"\x18\x07"
    heads = [
        BY_ID + b"\2\2",
        BY_GUID + b"\2\2",
        BY_GUID + b"\0",
        BY_GUID,
        BY_GUID + b"\2",
        BY_GUID + b"\2\2\2",
    ]
    found = outcome(
        settings, [(body, [("__value_schema_id", head)]) for head in heads], writers=Schemas(PROTOBUF)
    )
    assert found[:2] == [{"n": 7}, {"n": 7}]
    assert found[2] != {"n": 7}, "the first message type has no n"
    assert [reason.partition(":")[0] for reason in found[3:]] == ["protobuf.frame"] * 3
    assert not any("`framing: header` reads" in reason for reason in found[3:]), "the map says so already"


def test_indexes_in_a_header_are_read_as_the_map_says_they_are_written() -> None:
    settings = table(format="protobuf", framing="header", protobuf_indexes="unsigned")
    heads = [BY_ID + b"\1\1", BY_ID + b"\1", BY_ID + b"\2\2"]
    found = outcome(
        settings,
        [(b"\x18\x07", [("__value_schema_id", head)]) for head in heads],
        writers=Schemas(PROTOBUF),
    )
    assert found[0] == {"n": 7}
    assert [reason.partition(":")[0] for reason in found[1:]] == ["protobuf.frame"] * 2


def test_a_key_is_read_by_its_own_header() -> None:
    columns = (Column("id", "bigint", ("n",), None, RecordPart.KEY), Column("v", "bigint"))
    settings = replace(
        table_settings("db.t", "json", ()), columns=columns, key_format="avro", framing="header"
    )
    chunk = chunk_of((3, 2))
    for message, header in zip(messages_of(chunk), (BY_ID, BY_GUID[:3], None), strict=True):
        message.set_value(b'{"v": 1}')
        message.set_key(b"\x0e" if header else BY_ID + b"\x10")
        message.set_headers([("__key_schema_id", header), ("__value_schema_id", b"\xff")])
    found = decoded(settings, chunk, key_writers=Schemas())
    assert (found[0], found[2]) == ({"id": 7, "v": 1}, {"id": 8, "v": 1})
    assert found[1].startswith("key.avro.frame: header __key_schema_id is neither")


def test_a_record_whose_header_names_the_schema_says_so_where_the_map_does_not_read_it() -> None:
    header: list[tuple[str, bytes | None]] = [("__value_schema_id", BY_GUID)]
    found = outcome(table(), [(BY_ID + b"\x0e", header), (b"\x0e", None), (b"\x0e", header)])
    assert found[0] == {"n": 7}
    assert found[1].endswith("its framing is unknown")
    assert found[2].endswith("its header __value_schema_id names a schema, which `framing: header` reads")
