"""JSON fields that no column takes: found in a task, put together over tasks, named in log, `status` and metrics."""

import logging
from dataclasses import replace
from typing import cast

import orjson
import pyarrow as pa
import pytest

from kafka2hive.config.load import load_text
from kafka2hive.decode.contract.protocol import Decoded
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.model.files import FileMoves
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.plan.contract import ColumnsSeen, TaskPlan, UnmappedField, UnmappedFields
from kafka2hive.service.run.telemetry.records import UnmappedFieldsWatch
from kafka2hive.service.tables.manifests import Outcome, judge_manifests
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import Table
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fields_seen import LONGEST_NAME, MOST_FIELDS, SAMPLE, UnmappedFieldsOfTask
from kafka2hive.task.watchdog import Watchdog
from tests.harness.clock import SkippedTime
from tests.harness.compiled_library import needs_compiled
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    table_settings,
    table_task,
    task_of,
    task_settings,
)

COLUMNS = (("id", "bigint"), ("props", "struct<a:int>"))


def found(values: list[bytes], *, any_case: bool = False) -> UnmappedFields:
    """What a task makes of these records, which begin at offset 0 of t-1."""
    settings = table_settings("db.t", "json", COLUMNS)
    settings = replace(settings, any_case=any_case)
    log, plan = (
        FakeLog(dict(enumerate(values)), len(values)),
        TaskPlan(0, (table_task("db.t", offsets("t", 1, 0, len(values))),)),
    )
    with Watchdog(30.0) as watchdog:
        (manifest,) = task_of(
            plan, task_settings("", settings), MemoryFiles(), FakeConsumer({("t", 1): log}), watchdog
        ).run()
    assert manifest.failure is None, manifest.failure
    ranges = [a.range for a in manifest.accounts]
    outcome = judge_manifests("db.t", ranges, [manifest], 1.0, frozenset(), "c", "file:///warehouse/db.t")
    assert outcome.unmapped == manifest.unmapped
    return outcome.unmapped


def one(name: str, records: int, offset: int) -> UnmappedField:
    return UnmappedField(name=name, records=records, topic_partition=TopicPartition("t", 1), offset=offset)


def test_fields_that_no_column_takes_are_counted_with_a_place() -> None:
    values = [
        b'{"id":1,"props":{"z":1}}',
        b'{"id":"bad","q":1}',
        b'{"colour":1,"id":2}',
        b'{"ID":3,"colour":2,"colour":3}',
    ]
    assert found(values) == UnmappedFields(3, (one("colour", 2, 2), one("ID", 1, 3)))
    assert found(values, any_case=True) == UnmappedFields(3, (one("colour", 2, 2),))
    assert found([b'{"id":1}']) == UnmappedFields(1, ())


def test_there_is_a_bound_on_names_and_on_their_length() -> None:
    seen = found([orjson.dumps({"id": n, f"{n}{'x' * 1_000}": 1}) for n in range(MOST_FIELDS + 20)])
    assert len(seen.fields) == MOST_FIELDS
    assert {len(field.name) for field in seen.fields} == {LONGEST_NAME}


def test_the_share_of_a_field_is_that_of_a_sample() -> None:
    seen = found([b'{"id":%d%s}' % (n, b',"x":1' if n % 2 else b"") for n in range(5_000)])
    assert seen.looked_at == SAMPLE
    assert 0.3 * SAMPLE < seen.fields[0].records < 0.7 * SAMPLE


def test_a_key_that_the_decoder_met_is_looked_for_among_all_records_of_the_batch() -> None:
    values = [b'{"id":1,"props":{"a":1}}', b'{"id":"rare"}', *[b'{"id":2}'] * 996, b'{"rare":1}', b'{"id":2}']
    log = FakeLog(dict(enumerate(values)), len(values))
    messages = [log.message(("t", 1), offset) for offset in range(1, len(values))]
    source = offsets("t", 1, 0, len(values))
    chunk = Chunk("db.t", (Segment(source, len(messages), 0, -1),), messages)
    every = pa.array(range(2, len(messages)), pa.int32())
    none = pa.array([], pa.int32())
    decoded = Decoded(pa.record_batch({}), every, none, none.cast(pa.string()), new_keys=("rare", "gone"))
    of_task = UnmappedFieldsOfTask(table_settings("db.t", "json", COLUMNS))
    of_task.note(chunk.values(), decoded, chunk, None)
    assert of_task.found() == UnmappedFields(SAMPLE + 1, (one("rare", 1, 998),))


@needs_compiled
def test_a_field_of_one_record_is_found_wherever_it_stands() -> None:
    seen = found([b'{"id":%d%s}' % (n, b',"rare":1' if n == 2_790 else b"") for n in range(5_000)])
    assert seen == UnmappedFields(SAMPLE + 1, (one("rare", 1, 2_790),))

    @pytest.mark.parametrize("name", ["d", "i", "props", "été"])
    def test_a_rare_field_is_found_also_where_its_name_is_a_part_of_other_texts(name: str) -> None:
        values = [b'{"id":2,"props":null,"valid":"d","x":{"ids":"props"}}'] * 998
        seen = found([*values, '{"id":1,"%s" : 1}'.replace("%s", name).encode(), values[0]])
        wanted = [one("valid", SAMPLE, 0), one("x", SAMPLE, 0)]
        assert list(seen.fields) == [*wanted, *([one(name, 1, 998)] if name != "props" else [])]


class Service:
    """One table whose epochs are told to an UnmappedFieldsWatch."""

    def __init__(self) -> None:
        service_map = load_text(
            'service: s\nkafka: {bootstrap.servers: "h:1"}\nstorage: {uri: "file:///b"}\n'
            "tables: [{table: db.t, topics: [t], columns: {id: bigint}}]\n",
            "m",
            {},
        )
        self.table = Table(service_map.tables[0], LedgerPaths("file:///l", "db.t"), ("t",), "file:///t")
        self.metrics = ServiceMetrics("s")
        self.watch = UnmappedFieldsWatch(self.metrics, SkippedTime())

    def epoch(self, looked_at: int, *fields: UnmappedField) -> None:
        change = DataEpoch(files=(), accounts=())
        outcome = Outcome(change, OffsetAccounting(), ColumnsSeen(), UnmappedFields(looked_at, fields))
        report = TableReport("db.t", outcome, FileMoves(), cast("Snapshot", None), frozenset())
        self.watch(EpochReport(1, (report,), 0.0, 0.0, (self.table,)))

    def gauge(self) -> float | None:
        return self.metrics.registry.get_sample_value("kafka2hive_unmapped_fields", {"table": "db.t"})


def test_a_field_that_comes_up_later_is_a_warning_and_stands_in_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    service = Service()
    service.epoch(0)
    assert service.gauge() is None
    service.epoch(50)
    assert service.gauge() == 0 and "unmapped fields" not in service.table.warnings
    service.epoch(50, one("colour", 10, 7))
    service.epoch(100, one("colour", 10, 99))
    (told,) = caplog.records
    assert told.levelno == logging.WARNING
    assert service.table.warnings["unmapped fields"] == (
        "no column takes 1 field of the records: colour (since 2025-11-21T08:00:00Z, 10 % of records, e.g. t-1@7)",
    )
    service.epoch(1_000, *(one(f"f{n}\x1b", 1, n) for n in range(150)))
    assert service.gauge() == 100
    (text,) = service.table.warnings["unmapped fields"]
    assert text.endswith("; and 95 more") and "\x1b" not in text and "under 1 %" in text


def test_what_was_there_from_the_beginning_is_no_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    service = Service()
    service.epoch(5, one("left_out", 5, 0))
    assert [record.levelno for record in caplog.records] == [logging.INFO]
    assert service.table.warnings["unmapped fields"]
