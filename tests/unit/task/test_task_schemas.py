"""The sources of the schemas of a task's decoders, and the task's error without them."""

from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from kafka2hive.config.keys import RegistryOptions, TableSettings
from kafka2hive.config.keys.source import CHANGE_COLUMNS
from kafka2hive.config.keys.table import SchemaEvolution
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.model.errors import SchemaDiffers, TableError
from kafka2hive.model.writer_schema import WriterId, WriterSchema
from kafka2hive.plan.contract import TableManifest, TaskSettings
from kafka2hive.task.write.destination import PassingSink
from kafka2hive.task.writer_schemas import writers_of
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.odd_http import Request, odd_server, reply
from tests.harness.one_task import outcome_of, run_on
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    table_settings,
    task_settings,
)

SCHEMA = '{"type": "record", "name": "F", "fields": [{"name": "value", "type": "long"}]}'
RANGE = offsets("t", 0, 0, 3)


def avro_table(avro_schema: str | None = None) -> TableSettings:
    table = table_settings("db.t", columns=[("value", "bigint")])
    return replace(table, format="avro", avro_schema=avro_schema)


def settings_with(table: TableSettings, registry: RegistryOptions | None) -> TaskSettings:
    return replace(task_settings("", table, stall_seconds=2.0), registry=registry)


def writers(table: TableSettings, url: str = "http://r") -> WriterSchemas | WriterSchema | None:
    return writers_of(table, settings_with(table, RegistryOptions(url=url)), FILES, keeps=True)


FILES = MemoryFiles()


def test_schemas_come_from_nowhere_the_map_or_the_registry() -> None:
    assert writers(table_settings("db.t")) is None
    assert writers(avro_table(SCHEMA)) == WriterSchema("AVRO", SCHEMA)
    assert writers(avro_table()) is writers(replace(avro_table(), table="db.other"))
    assert writers(avro_table()) is not writers(avro_table(), "http://other")


def test_no_secret_of_the_registry_stands_in_what_is_said_of_the_settings() -> None:
    options = RegistryOptions(url="http://r", username="etl", password="hunter2", token="hunter2")
    assert "hunter2" not in repr(options) + repr(settings_with(avro_table(), options))


def dump_of(
    table: TableSettings,
    registry: RegistryOptions | None,
    files: MemoryFiles | None = None,
    message: bytes = b"\0\0\0\0\7\2",
    **options: Any,
) -> tuple[TableManifest, MemoryFiles]:
    consumer = FakeConsumer({("t", 0): FakeLog(dict.fromkeys(range(3), message), 3)})
    return run_on(consumer, settings_with(table, registry), [RANGE], files, **options)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (reply(503, {}), "registry.unavailable"),
        (reply(401, {}), "registry.denied"),
        (reply(404, b"<html>"), "registry.answer"),
    ],
)
def test_a_schema_that_cannot_be_had_fails_the_table_with_what_to_do(said: bytes, code: str) -> None:
    with odd_server(lambda _: said) as server:
        manifest, _ = dump_of(avro_table(), RegistryOptions(url=server.url))
    assert (manifest.files, manifest.accounts) == ((), ())
    with pytest.raises(TableError) as caught:
        outcome_of(manifest, planned=[RANGE])
    assert caught.value.code == code
    assert server.url in caught.value.message and caught.value.remedy


def test_an_id_that_the_registry_does_not_have_makes_dead_letters() -> None:
    with odd_server(lambda _: reply(404, {"error_code": 40403})) as server:
        manifest, _ = dump_of(avro_table(), RegistryOptions(url=server.url))
    assert manifest.failure is None
    assert manifest.accounts[0].account.dead_lettered == 3
    assert {refusal.code for refusal in manifest.refusals} == {"avro.schema"}


def test_a_schema_that_was_found_is_kept_on_the_storage() -> None:
    with odd_server(lambda _: reply(200, {"schema": SCHEMA})) as server:
        manifest, files = dump_of(avro_table(), RegistryOptions(url=server.url))
    assert manifest.accounts[0].account.written == 3
    (path,) = [path for path in files.content if path.endswith("/7.schema")]
    assert path.startswith("file:///ledger/schemas/")


def test_a_task_whose_rows_become_no_files_keeps_no_schema() -> None:
    nowhere = PassingSink(lambda *_: None)
    with odd_server(lambda _: reply(200, {"schema": SCHEMA})) as server:
        registry = RegistryOptions(url=server.url)
        manifest, files = dump_of(avro_table(), registry, open_sink=lambda *_: nowhere)
    assert "registry" not in str(manifest.failure) and files.log == []


def test_an_id_that_a_registry_set_up_anew_gives_to_another_schema_fails_the_table() -> None:
    """Two fields of one type change places: the records can be read with either schema, and only one is right."""
    two = '{"type": "record", "name": "F", "fields": [%s]}'
    fields = ['{"name": "value", "type": "long"}', '{"name": "other", "type": "long"}']
    said = [reply(200, {"schema": two % ", ".join(order)}) for order in (fields, fields[::-1])]
    with odd_server(lambda _: said.pop(0)) as server:
        registry = RegistryOptions(url=server.url)
        first, files = dump_of(avro_table(), registry, message=b"\0\0\0\0\7\2\4")
        assert first.accounts[0].account.written == 3
        (path,) = [path for path in files.content if path.endswith("/7.schema")]
        later = MemoryFiles()  # another process that has what is kept
        later.content[path] = files.content[path]
        second, _ = dump_of(avro_table(), registry, later, b"\0\0\0\0\7\2\4")
    assert (second.files, second.accounts) == ((), ())
    assert second.failure is not None and second.failure.code == "registry.changed"
    assert path in second.failure.remedy


def test_a_schema_that_a_header_names_by_its_guid_is_asked_for_and_kept() -> None:
    guid = "89791762-2336-186f-9674-299b90a8e2ee"
    table = replace(avro_table(), framing="header")
    header: list[tuple[str, bytes | None]] = [("__value_schema_id", b"\1" + UUID(guid).bytes)]
    log = FakeLog(dict.fromkeys(range(3), b"\2"), 3, headers=dict.fromkeys(range(3), header))

    def run(registry: RegistryOptions, files: MemoryFiles) -> TableManifest:
        return run_on(FakeConsumer({("t", 0): log}), settings_with(table, registry), [RANGE], files)[0]

    files, kept = MemoryFiles(), MemoryFiles()
    with odd_server(lambda _: reply(200, {"schema": SCHEMA})) as server:
        registry = RegistryOptions(url=server.url)
        first = run(registry, files)
        assert (first.failure, first.accounts[0].account.written) == (None, 3)
        assert server.paths == [f"/schemas/guids/{guid}"]
    (path,) = [path for path in files.content if path.endswith(f"/{guid}.schema")]
    kept.content[path] = files.content[path]
    again = run(registry, kept)  # nobody answers any more
    assert (again.failure, again.accounts[0].account.written) == (None, 3)


PROTO = 'syntax = "proto3"; import "parts/value.proto"; message Other {} message F { parts.Value value = 1; }'
PART = 'syntax = "proto3"; package parts; message Value { int64 number = 1; }'


def test_protobuf_is_read_with_what_its_schema_imports_and_again_without_the_registry() -> None:
    table = table_settings("db.t", columns=[("value", "struct<number:bigint>")])
    table = replace(table, format="protobuf")
    imports = [{"name": "parts/value.proto", "subject": "value", "version": 1}]
    said = {
        "/schemas/ids/7": {"schemaType": "PROTOBUF", "schema": PROTO, "references": imports},
        "/subjects/value/versions/1": {"schemaType": "PROTOBUF", "schema": PART},
    }
    message = b"\0\0\0\0\7" + b"\2\2" + b"\x0a\x02\x08\x05"
    with odd_server(lambda request: reply(200, said[request.path])) as server:
        registry = RegistryOptions(url=server.url)
        manifest, files = dump_of(table, registry, message=message)
        assert (manifest.failure, manifest.accounts[0].account.written) == (None, 3)
        assert len(server.requests) == 2
    (path,) = [path for path in files.content if path.endswith("/7.schema")]
    kept = MemoryFiles()
    kept.content[path] = files.content[path]
    again, _ = dump_of(table, registry, kept, message)  # another storage, so another look-up; nobody answers
    assert (again.failure, again.accounts[0].account.written) == (None, 3)


def test_protobuf_of_the_map_has_its_message_named() -> None:
    table = table_settings("db.t", columns=[("number", "bigint")])
    table = replace(table, format="protobuf", protobuf_schema=PART, protobuf_message="parts.Value")
    assert writers(table) == WriterSchema("PROTOBUF", PART, message="parts.Value")
    manifest, _ = dump_of(table, None, message=b"\x08\x05")
    assert (manifest.failure, manifest.accounts[0].account.written) == (None, 3)
    manifest, _ = dump_of(replace(table, protobuf_message="parts.No"), None, message=b"")
    assert manifest.failure is not None and manifest.failure.code == "decode.schema"


NEW_FIELD = SCHEMA.replace("[{", '[{"name": "note", "type": ["null", "string"]}, {')


@pytest.mark.parametrize(("evolution", "refused"), [("ignore", False), ("add", True), ("stop", True)])
def test_records_of_a_schema_with_a_new_field_are_refused_by_a_run_that_adds_or_stops(
    evolution: SchemaEvolution, refused: bool
) -> None:
    table = replace(avro_table(), schema_evolution=evolution)
    with odd_server(lambda _: reply(200, {"schema": NEW_FIELD})) as server:
        manifest, _ = dump_of(table, RegistryOptions(url=server.url), message=b"\0\0\0\0\7\0\2")
    if not refused:
        assert (manifest.failure, manifest.accounts[0].account.written) == (None, 3)
        return
    assert (manifest.files, manifest.accounts) == ((), ())
    with pytest.raises(SchemaDiffers, match=r"the schema with id 7 .* no column for note string") as caught:
        outcome_of(manifest, planned=[RANGE])
    assert caught.value.writer == WriterId(7)


def test_a_protobuf_message_with_a_new_field_is_named_and_other_messages_do_not_matter() -> None:
    schema = (
        'syntax = "proto3"; message Other { int64 x = 1; } message F { int64 number = 1; string note = 2; }'
    )
    table = table_settings("db.t", columns=[("number", "bigint")])
    table = replace(table, format="protobuf", schema_evolution="add")
    with odd_server(lambda _: reply(200, {"schemaType": "PROTOBUF", "schema": schema})) as server:
        manifest, _ = dump_of(table, RegistryOptions(url=server.url), message=b"\0\0\0\0\7\2\2\x08\x05")
    assert manifest.failure is not None and manifest.failure.writer == WriterId(7, "F")


def test_with_stop_a_schema_that_cannot_fill_a_column_makes_no_dead_letters() -> None:
    text = SCHEMA.replace("long", "string")
    cases: tuple[tuple[SchemaEvolution, bool], ...] = (("add", False), ("stop", True))
    for evolution, failed in cases:
        table = replace(avro_table(), schema_evolution=evolution)
        with odd_server(lambda _: reply(200, {"schema": text})) as server:
            manifest, _ = dump_of(table, RegistryOptions(url=server.url))
        assert (manifest.failure is not None) is failed
        assert failed or manifest.accounts[0].account.dead_lettered == 3


def _say(said: bytes, _: Request) -> bytes:
    return said


def test_a_new_field_of_a_change_logs_row_is_found_within_the_envelope() -> None:
    row = '{"type": "record", "name": "Row", "fields": [{"name": "value", "type": "long"}%s]}'
    envelope = (
        '{"type": "record", "name": "E", "fields": [{"name": "before", "type": ["null", %s]},'
        ' {"name": "after", "type": ["null", "Row"]}, {"name": "op", "type": "string"}]}'
    )
    columns = [("value", "bigint"), *CHANGE_COLUMNS.items()]
    table = replace(table_settings("db.t", columns=columns), format="avro", source="debezium")
    table = replace(table, schema_evolution="add")
    insert = b"\0\0\0\0\7" + b"\0" + b"\2\x08"
    for more, tail, refused in (("", b"", False), (', {"name": "note", "type": "string"}', b"\0", True)):
        said = reply(200, {"schema": envelope % (row % more)})
        with odd_server(partial(_say, said)) as server:
            manifest, _ = dump_of(table, RegistryOptions(url=server.url), message=insert + tail + b"\2c")
        assert (manifest.failure is not None) is refused
        if manifest.failure is not None:
            assert "no column for note string" in manifest.failure.message
        else:
            assert manifest.accounts[0].account.written == 3
