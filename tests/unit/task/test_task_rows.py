"""The rows of a task: each record is in one place and counted there, and its times and epochs are kept."""

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import Bucketing, BucketTime, MetadataColumn, Tombstones
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting, TopicPartition
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.write.bucket_split import SourceIds
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import Destination, RowSink
from tests.harness.fake_consumer import FakeLog, log_of
from tests.harness.one_task import run_task_of, total
from tests.harness.task_files import (
    offsets,
    read_rows,
    table_settings,
)

OFFSET = ((MetadataColumn.OFFSET, "offset"),)
LATE_EVENING_MS = 1_356_998_400_000 - 3_600_000  # 2012-12-31T23:00Z: next day in Tokyo, the same in New York


@pytest.mark.parametrize(
    ("zone", "day"), [("Asia/Tokyo", "dt=2013-01-01"), ("America/New_York", "dt=2012-12-31")]
)
def test_by_record_time_a_record_is_in_the_day_of_the_buckets_zone(zone: str, day: str) -> None:
    bucketing = Bucketing("dt=%Y-%m-%d", BucketTime.RECORD, zone=zone)
    other = "America/New_York" if zone == "Asia/Tokyo" else "Asia/Tokyo"
    table = table_settings(bucketing=bucketing, zone=other, metadata=((MetadataColumn.TIMESTAMP, "at"),))
    manifest, files = run_task_of(
        {("t", 0): log_of(0, 1, first_ms=LATE_EVENING_MS)}, table, [offsets("t", 0, 0, 2)]
    )
    assert {row["_path"] for row in read_rows(files, manifest)} == {day}
    wall = {"Asia/Tokyo": "2013-01-01T08:00", "America/New_York": "2012-12-31T18:00"}[other]
    assert {row["at"].isoformat()[:16] for row in read_rows(files, manifest)} == {wall}


def test_a_column_whose_value_stands_in_the_path_is_not_in_the_files_whatever_its_case() -> None:
    columns, bucketing = (
        (("Day", "string"), ("n", "int")),
        Bucketing("day={Day}/OFFSET={n}", BucketTime.RECORD),
    )
    table = table_settings("db.t", "json", columns, OFFSET, bucketing)
    assert schema_in_files(table).names == ["n"]


@pytest.mark.parametrize("tombstones", Tombstones)
def test_a_tombstone_is_a_row_or_a_count_and_never_both(tombstones: Tombstones) -> None:
    log = FakeLog({0: b"a", 1: None, 2: b"", 3: None, 4: b"b"}, 5)
    table = table_settings(metadata=OFFSET, tombstones=tombstones)
    manifest, files = run_task_of({("t", 0): log}, table, [offsets("t", 0, 0, 5)])
    rows = {row["offset"]: row["value"] for row in read_rows(files, manifest)}
    counted = total(manifest)
    if tombstones is Tombstones.WRITE:
        assert rows == dict(log.records)
        assert (counted.written, counted.tombstones) == (5, 0)
    else:
        assert rows == {0: b"a", 2: b"", 4: b"b"}
        assert (counted.written, counted.tombstones) == (3, 2)


@pytest.mark.parametrize("later_first", [False, True])
def test_of_several_ranges_of_a_topic_partition_the_furthest_gives_the_leader_epoch(
    later_first: bool,
) -> None:
    ranges = [offsets("t", 0, 0, 10), offsets("t", 0, 10, 30), offsets("t", 1, 0, 10)]
    logs = {
        ("t", 0): log_of(*range(30), leader_epochs={0: 3, 8: 4, 20: 6}),
        ("t", 1): log_of(*range(10), leader_epochs={0: 2}),
    }
    manifest, _ = run_task_of(logs, table_settings(), ranges[::-1] if later_first else ranges)
    assert dict(manifest.leader_epochs) == {TopicPartition("t", 0): 6, TopicPartition("t", 1): 2}


def test_the_footers_hold_the_accounts_that_are_committed() -> None:
    table = table_settings("db.t", "json", (("n", "bigint"),))
    log = FakeLog({0: b'{"n": 1}', 2: b"bad", 3: None, 5: b'{"n": 2}'}, 8)
    manifest, files = run_task_of({("t", 0): log}, table, [offsets("t", 0, 0, 8)])
    assert [a.account for a in manifest.accounts] == [OffsetAccounting(4, 2, 0, 1, 1, 4, 19)]
    footers = []
    for file in manifest.files:
        footer = Footer.parse(pq.ParquetFile(io.BytesIO(files.content[file.staged])).metadata.metadata)
        assert footer is not None
        assert footer.rows == file.rows
        footers.append(footer)
    told = [f.accounts for f in footers if f.accounts is not None]
    assert told == [tuple(a.account for a in manifest.accounts)] * len(told) and told


class Forgetful:
    """A sink that loses the last row of one kind without noticing."""

    def __init__(self, kind: FileKind, lost: FileKind) -> None:
        self._loses = kind is lost
        self.rows = 0

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        self.rows += len(rows)
        if self._loses and len(rows):
            self.rows, self._loses = self.rows - 1, False

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None: ...

    def results(self) -> list[DataFile]:
        return []

    def abandon(self) -> None: ...


@pytest.mark.parametrize("lost", [FileKind.DATA, FileKind.DEAD_LETTER])
def test_a_row_that_did_not_reach_its_file_fails_the_table(lost: FileKind) -> None:
    def open_sink(destination: Destination, schema: pa.Schema) -> RowSink:
        return Forgetful(destination.kind, lost)

    table = table_settings("db.t", "json", (("n", "bigint"),))
    log = FakeLog({0: b'{"n": 1}', 1: b"bad", 2: b'{"n": 2}'}, 3)
    manifest, _ = run_task_of({("t", 0): log}, table, [offsets("t", 0, 0, 3)], open_sink=open_sink)
    assert manifest.failure is not None
    assert manifest.failure.code == "task.account_mismatch"
    assert ("dead-letter" if lost is FileKind.DEAD_LETTER else "data") in manifest.failure.message


def test_a_range_without_offsets_needs_no_client() -> None:
    source = offsets("t", 0, 5, 5)
    manifest, _ = run_task_of({}, table_settings(), [source])
    assert manifest.accounts == (RangeAccounting(0, source, OffsetAccounting()),)
    assert (manifest.delivered, total(manifest)) == ((), OffsetAccounting())
