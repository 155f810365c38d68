"""Columns of a record's key and headers through a whole task: rows, NULLs, dead letters, tombstones, and buckets by them."""

import json
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Message

from kafka2hive.config.keys import (
    Bucketing,
    Column,
    MetadataColumn,
    RecordPart,
    RegistryOptions,
    TableSettings,
    Tombstones,
)
from kafka2hive.config.keys.source import ChangeLogKeys, DebeziumKeys
from kafka2hive.model.files import FileKind
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema
from kafka2hive.service.verify.row_comparison import compare_as_multisets
from kafka2hive.service.verify.row_sources import RecordRows, Reduction
from kafka2hive.service.verify.rows import Paths, Span
from kafka2hive.task.chunk_decoder import ChunkDecoder
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.writer_schemas import key_writers_of
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import run_task_of, total
from tests.harness.task_files import MemoryFiles, offsets, read_rows, table_settings, task_settings
from tests.unit.task.test_task_chunk import UnreadableHeaders, chunk_of, messages_of

HEADER, KEY = RecordPart.HEADER, RecordPart.KEY
COLUMNS = (
    Column("tenant", "string", ("tenant-id",), None, HEADER),
    Column("n", "bigint"),
    Column("id", "bigint", ("id",), None, KEY),
    Column("sent", "timestamp", ("sent",), "ms", HEADER),
)
OFFSET = ((MetadataColumn.OFFSET, "offset"),)


def table(**more: Any) -> TableSettings:
    given = table_settings("db.t", "json", (), OFFSET)
    return replace(given, columns=COLUMNS, key_format="json", **more)


def outcome(log: FakeLog, settings: TableSettings) -> tuple[dict[int, Any], dict[int, str]]:
    """Return rows and reasons by offset."""
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, log.end)])
    assert manifest.failure is None, manifest.failure
    counted = total(manifest)
    rows = {row["offset"]: row for row in read_rows(files, manifest)}
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert (counted.written, counted.dead_lettered) == (len(rows), len(letters))
    return rows, {row["offset"]: f"{row['reason']}: {row['detail']}" for row in letters}


def values(row: dict[str, Any]) -> tuple[Any, ...]:
    sent = row["sent"] and row["sent"].isoformat()
    return row["tenant"], row["n"], row["id"], sent


def test_headers_and_key_fill_their_columns_in_the_maps_order() -> None:
    log = FakeLog(
        {n: json.dumps({"n": n, "id": 9, "tenant": "x"}).encode() for n in range(6)},
        6,
        keys={
            0: b'{"id": 7}',
            1: None,
            2: b'{"id": null}',
            3: b'{"other": 1}',
            4: b'{"id": 4}',
            5: b'{"id": 5}',
        },
        headers={
            0: [("tenant-id", b"a"), ("sent", b"1000"), ("tenant-id", "ä".encode()), ("more", b"\xff")],
            1: [("Tenant-Id", b"b"), ("sent", None)],
            2: [("tenant-id", b"c"), ("tenant-id", None)],
            4: [("tenant-id", b"")],
        },
    )
    rows, letters = outcome(log, table())
    assert letters == {}
    assert {n: values(row) for n, row in rows.items()} == {
        0: ("ä", 0, 7, "1970-01-01T00:00:01"),
        1: (None, 1, None, None),
        2: (None, 2, None, None),
        3: (None, 3, None, None),
        4: ("", 4, 4, None),
        5: (None, 5, 5, None),
    }
    assert list(rows[0])[:5] == ["tenant", "n", "id", "sent", "offset"]


def test_a_key_or_header_that_does_not_fit_is_a_dead_letter_with_the_first_reason() -> None:
    log = FakeLog(
        dict.fromkeys(range(7), b"{}") | {6: b"{"},
        7,
        keys=dict.fromkeys(range(7), b"{}") | {0: b"", 1: b'{"id": "x"}', 3: b"[]", 6: b"{"},
        headers={2: [("tenant-id", b"\xff")], 3: [("sent", b"1.5")], 4: [("sent", b"x")]},
    )
    rows, letters = outcome(log, table())
    assert sorted(rows) == [5]
    assert {n: reason.partition(": ")[0] for n, reason in letters.items()} == {
        0: "key.json.empty",
        1: "key.json.type",
        2: "header.utf8",
        3: "key.json.object",
        4: "header.type",
        6: "json.syntax",
    }
    assert "column tenant (header tenant-id)" in letters[2]


@pytest.mark.parametrize("tombstones", Tombstones)
def test_tombstones_have_their_key_and_headers(tombstones: Tombstones) -> None:
    log = FakeLog(
        {0: None, 1: b'{"n":1}', 2: None},
        3,
        keys={0: b'{"id": 7}', 1: b'{"id": 8}', 2: b"bad"},
        headers={0: [("tenant-id", b"a")]},
    )
    rows, letters = outcome(log, table(tombstones=tombstones))
    assert values(rows[1]) == (None, 1, 8, None)
    if tombstones is Tombstones.WRITE:
        assert values(rows[0]) == ("a", None, 7, None)
        assert [reason.partition(":")[0] for reason in letters.values()] == ["key.json.syntax"]
    else:
        assert sorted(rows) == [1] and letters == {}


def test_a_bucket_can_be_named_by_a_header() -> None:
    log = FakeLog(
        dict.fromkeys(range(3), b"{}"),
        3,
        keys=dict.fromkeys(range(3), b"{}"),
        headers={n: [("tenant-id", b"t%d" % n)] for n in range(2)},
    )
    manifest, files = run_task_of(
        {("t", 0): log}, table(bucketing=Bucketing("t={tenant}")), [offsets("t", 0, 0, 3)]
    )
    assert {row["_path"] for row in read_rows(files, manifest)} == {
        "t=t0",
        "t=t1",
        "t=__HIVE_DEFAULT_PARTITION__",
    }
    assert total(manifest).written == 3


def test_the_bucket_of_a_tombstone_comes_from_its_key_and_its_header() -> None:
    log = FakeLog(
        {0: None, 1: None, 2: b'{"n":1}'},
        3,
        keys={0: b'{"id": 7}', 1: None, 2: b'{"id": 8}'},
        headers={n: [("sent", b"1384601400000")] for n in (0, 2)},  # 2013-11-16
    )
    bucketing = Bucketing("id={id}/dt=%Y-%m", field="sent")
    settings = table(tombstones=Tombstones.WRITE, bucketing=bucketing)
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, 3)])
    rows = {row["offset"]: row["_path"] for row in read_rows(files, manifest)}
    assert rows == {0: "id=7/dt=2013-11", 2: "id=8/dt=2013-11"}
    (letter,) = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert (letter["offset"], letter["reason"]) == (1, "bucket.no_time"), letter


@pytest.mark.parametrize("kind", ["string", "binary", "bigint", "date"])
def test_a_raw_key_is_a_text_of_the_columns_type(kind: str) -> None:
    columns = (Column("value", "binary"), Column("k", kind, (), None, KEY))
    settings = replace(table_settings(metadata=OFFSET), columns=columns)
    keys = {0: b"42", 1: b"2013-01-01", 2: b"\xff", 3: None}
    rows, letters = outcome(FakeLog(dict.fromkeys(range(4), b"v"), 4, keys=keys), settings)
    right = {"string": {0, 1, 3}, "binary": {0, 1, 2, 3}, "bigint": {0, 3}, "date": {1, 3}}[kind]
    assert set(rows) == right and set(letters) == {0, 1, 2, 3} - right
    assert rows[3]["k"] is None
    assert {reason.partition(".")[0] for reason in letters.values()} <= {"key"}


def test_a_deletion_whose_row_is_not_logged_has_its_primary_key() -> None:
    """Debezium writes it so for PostgreSQL's default replica identity, with the key's schema."""
    log_columns = (
        Column("id", "bigint", ("payload", "id"), None, KEY),
        Column("name", "string"),
        Column("__op", "string"),
    )
    settings = replace(table(source="debezium"), columns=log_columns)
    changes = [("c", None, {"id": 7, "name": "Anne"}), ("d", None, None)]
    values = {
        n: json.dumps({"op": op, "before": b, "after": a}).encode() for n, (op, b, a) in enumerate(changes)
    }
    keys = dict.fromkeys(values, json.dumps({"schema": {}, "payload": {"id": 7}}).encode())
    rows, letters = outcome(FakeLog(values, 2, keys=keys), settings)
    assert letters == {}
    assert [(rows[n]["id"], rows[n]["name"], rows[n]["__op"]) for n in range(2)] == [
        (7, "Anne", "c"),
        (7, None, "d"),
    ]


AVRO_KEY = '{"type":"record","name":"K","fields":[{"name":"id","type":"long"}]}'
PROTO_KEY = 'syntax = "proto3"; message Other { int64 x = 1; } message K { int64 id = 3; }'


@pytest.mark.parametrize(
    ("format", "schema", "key"),
    [
        ("avro", WriterSchema(AVRO, AVRO_KEY), b"\x0e"),
        ("protobuf", WriterSchema(PROTOBUF, PROTO_KEY), b"\2\2\x18\7"),
    ],
)
def test_a_key_is_read_by_the_schema_it_names(format: Any, schema: WriterSchema, key: bytes) -> None:
    chunk = chunk_of((1, 2))
    messages_of(chunk)[0].set_key(b"\0\0\0\0\5" + key)
    messages_of(chunk)[0].set_value(b"{}")

    class Schemas:
        def get(self, schema_id: int | str) -> WriterSchema | None:
            return schema if schema_id == 5 else None

    settings = replace(table(), key_format=format)
    (decoded,) = ChunkDecoder(settings, key_writers=Schemas()).decode(chunk)
    assert [rows.column("id").to_pylist() for rows, _ in decoded.batches] == [[7]]
    messages_of(chunk)[0].set_key(b"\0\0\0\0\6" + key)
    (decoded,) = ChunkDecoder(settings, key_writers=Schemas()).decode(chunk)
    (refused,) = decoded.rejections
    assert refused[1][0].code == f"key.{format}.schema"


@pytest.mark.parametrize(
    ("format", "asks"), [("raw", False), ("json", False), ("avro", True), ("protobuf", True)]
)
def test_a_task_asks_the_registry_for_keys_that_name_their_schema(format: Any, asks: bool) -> None:
    settings = replace(task_settings("", table()), registry=RegistryOptions(url="http://r"))
    found = key_writers_of(replace(table(), key_format=format), settings, MemoryFiles(), keeps=False)
    assert (found is not None) is asks


def test_headers_that_the_client_cannot_read_make_a_dead_letter() -> None:
    chunk = chunk_of((2, 2))
    for place, kind in enumerate((UnreadableHeaders, Message)):
        messages_of(chunk)[place] = kind(
            topic="t", partition=0, offset=place, value=b"{}", key=b"{}", timestamp=(1, 1)
        )
    (decoded,) = ChunkDecoder(table()).decode(chunk)
    assert [len(rows) for rows, _ in decoded.batches] == [1]
    ((places, reasons),) = decoded.rejections
    assert places.tolist() == [0] and reasons[0].code == "headers.utf8"


def replayed(log: FakeLog) -> RecordRows:
    """Read the records again, as `verify --deep` does."""
    settings, ranges = table(), (offsets("t", 0, 0, log.end),)
    columns = {name: name for name in schema_in_files(settings).names}
    rows = RecordRows(Reduction(columns, None, Span(ranges), Paths()))
    run_task_of({("t", 0): log}, settings, ranges, open_sink=rows.open_sink)
    return rows


@pytest.mark.parametrize(
    ("spoilt", "differences"),
    [
        ({}, 0),
        ({"keys": {0: b'{"id": 7}', 1: b'{"id": 9}'}}, 1),
        ({"headers": {0: [("tenant-id", b"b")], 1: [("sent", b"1")]}}, 1),
        ({"headers": {0: [("tenant-id", b"a")], 1: [("sent", b"2")]}}, 1),
        ({"headers": {0: [("tenant-id", b"a"), ("tenant-id", b"a")], 1: [("sent", b"1"), ("x", b"")]}}, 0),
    ],
)
def test_verify_deep_judges_the_columns_of_key_and_headers(spoilt: dict[str, Any], differences: int) -> None:
    keys = {0: b'{"id": 7}', 1: b'{"id": 8}'}
    headers: dict[int, list[tuple[str, bytes | None]]] = {0: [("tenant-id", b"a")], 1: [("sent", b"1")]}
    log = FakeLog(dict.fromkeys(keys, b"{}"), 2, keys=keys, headers=headers)
    other = replayed(replace(log, **spoilt))
    assert len(compare_as_multisets(replayed(log).data.whole(), other.data.whole())) == differences


def test_a_tombstone_among_flat_rows_of_debezium_is_a_deletion() -> None:
    log = FakeLog({0: b'{"n":1,"__op":"c"}', 1: None}, 2, keys={0: b'{"id": 7}', 1: b'{"id": 7}'})
    settings = table(tombstones=Tombstones.WRITE)
    change = [Column("__op", "string"), Column("__ts_ms", "bigint"), Column("__source_position", "string")]
    flat = ChangeLogKeys(debezium=DebeziumKeys(form="flat"))
    rows, letters = outcome(log, replace(settings, columns=(*settings.columns, *change), source=flat))
    assert letters == {}
    assert [(row["id"], row["n"], row["__op"]) for row in rows.values()] == [(7, 1, "c"), (7, None, "d")]
