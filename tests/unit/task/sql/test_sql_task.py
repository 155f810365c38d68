"""Both ends of a table with SQL around a scripted SELECT: each offset is a row, filtered, or a dead letter, once."""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import Bucketing, BucketTime, Column, MetadataColumn, TableSettings, WriterOptions
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting, OffsetRange, RangeAccounting
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import TableFailure, TableManifest, TaskPlan, TaskSettings
from kafka2hive.plugins import Reason
from kafka2hive.spark.jobs import split_by_sql
from kafka2hive.sql.accounts import check_against_spark, failed_manifest, manifest_of
from kafka2hive.storage.port import FileSystem
from kafka2hive.task.fetch.consumer import ConsumerPort
from kafka2hive.task.part import only_part
from kafka2hive.task.run import Task
from kafka2hive.task.sql.coordinates import COORDINATES
from kafka2hive.task.sql.placement import MOST_UNWRITABLE_ROWS, SelectedRows, UnwritableRows
from kafka2hive.task.sql.records import RowsToSelect, with_records_of
from kafka2hive.task.sql.shares import RecordsRead, RowsWritten
from kafka2hive.task.watchdog import Watchdog
from kafka2hive.task.write.upload import AMBIGUOUS
from tests.harness.fake_consumer import FakeConsumer, FakeLog, Key
from tests.harness.one_task import outcome_of
from tests.harness.task_files import (
    MemoryFiles,
    environment_of,
    offsets,
    read_rows,
    table_settings,
    table_task,
    task_of,
    task_settings,
)

Select = Callable[[pa.RecordBatch], pa.RecordBatch]
ATTEMPT = 17


def table_of() -> TableSettings:
    """Return a table (n, pos) by day, made of records (n, day)."""
    table = table_settings(
        format="json",
        columns=(("n", "bigint"), ("day", "date")),
        metadata=((MetadataColumn.OFFSET, "pos"),),
        bucketing=Bucketing("dt=%Y-%m-%d", BucketTime.EVENT, "day"),
    )
    return replace(table, sql="SELECT * FROM records")


def log_of_days(
    count: int, bad: frozenset[int] = frozenset(), no_day: frozenset[int] = frozenset()
) -> FakeLog:
    def record(at: int) -> bytes:
        if at in bad:
            return b'{"n":"no number","day":"2013-01-01"}'
        return b'{"n":%d%s}' % (at, b"" if at in no_day else b',"day":"2013-01-0%d"' % (1 + at % 2))

    return FakeLog({at: record(at) for at in range(count)}, count)


class Records:
    """The side before the SELECT, as a worker runs it: `batches`, then the `manifest`."""

    manifest: TableManifest

    def __init__(
        self,
        share: TaskPlan,
        settings: TaskSettings,
        files: FileSystem,
        consumer: ConsumerPort,
        watchdog: Watchdog,
        file_plan: TaskPlan | None = None,
    ) -> None:
        before = with_records_of(share.tables[0].table, settings)
        environment = environment_of(before, files, consumer, watchdog)
        task = Task(share, environment, open_end=RowsToSelect, file_plan=file_plan, retried=AMBIGUOUS)
        self._outputs = task.outputs()

    def batches(self) -> Iterator[pa.RecordBatch]:
        for output in self._outputs:
            if isinstance(output, TableManifest):
                self.manifest = output
            else:
                yield output
        if self.manifest.failure is not None:
            raise self.manifest.failure.error


def dump(
    logs: dict[Key, FakeLog],
    table: TableSettings,
    ranges: Iterable[OffsetRange],
    select: Select,
    read_attempt: int = ATTEMPT,
    later: dict[Key, FakeLog] | None = None,
    bounds: EventBounds | None = None,
) -> tuple[TableManifest, MemoryFiles]:
    files, share = MemoryFiles(), TaskPlan(3, (replace(table_task("db.t", *ranges), bounds=bounds),))
    settings = task_settings("", table, stall_seconds=2.0)
    with Watchdog(240.0) as watchdog:
        records = Records(share, settings, files, FakeConsumer(logs), watchdog)
        environment = environment_of(settings, files, FakeConsumer(later or logs), watchdog)
        with (
            closing(environment),
            closing(SelectedRows(ATTEMPT, only_part(share, settings), environment)) as rows,
        ):
            for batch in records.batches():
                rows.take(select(batch))
            read, written = RecordsRead(read_attempt, records.manifest), rows.finish()
    return manifest_of("db.t", 3, [read], [written]), files


def judged(manifest: TableManifest, *ranges: OffsetRange) -> OffsetAccounting:
    return outcome_of(manifest, planned=ranges).total


def even(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pa.array([n % 2 == 0 for n in batch.column("n").to_pylist()]))


def whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def test_what_the_select_leaves_out_is_filtered_and_the_rest_is_in_files() -> None:
    logs = {("t", 0): log_of_days(100), ("t", 1): log_of_days(50)}
    planned = offsets("t", 0, 10, 90), offsets("t", 1, 0, 50)
    manifest, files = dump(logs, table_of(), planned, even)
    total = judged(manifest, *planned)
    assert (total.read, total.written, total.filtered, total.dead_lettered) == (130, 65, 65, 0)
    rows = read_rows(files, manifest)
    assert sorted(row["pos"] for row in rows) == sorted([*range(10, 90, 2), *range(0, 50, 2)])
    assert {row["_path"] for row in rows} == {"dt=2013-01-01"}
    assert COORDINATES not in rows[0]


def test_the_accounts_are_those_of_each_range() -> None:
    logs = {("t", 0): log_of_days(100), ("t", 1): log_of_days(50)}
    planned = offsets("t", 0, 10, 90), offsets("t", 1, 0, 50)

    def only_low(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(pa.array([n < 20 for n in batch.column("n").to_pylist()]))

    manifest, _ = dump(logs, table_of(), planned, only_low)
    assert [(a.account.written, a.account.filtered) for a in manifest.accounts] == [(10, 70), (20, 30)]


def test_a_select_that_leaves_out_everything_gives_no_data_files() -> None:
    manifest, _ = dump(
        {("t", 0): log_of_days(9)}, table_of(), [offsets("t", 0, 0, 9)], lambda b: b.slice(0, 0)
    )
    assert manifest.files == ()
    assert judged(manifest, offsets("t", 0, 0, 9)).filtered == 9


def test_dead_letters_go_past_the_select() -> None:
    logs = {("t", 0): log_of_days(20, bad=frozenset({3, 8}))}
    manifest, files = dump(logs, table_of(), [offsets("t", 0, 0, 20)], lambda batch: batch.slice(0, 0))
    total = judged(manifest, offsets("t", 0, 0, 20))
    assert (total.dead_lettered, total.filtered, total.written) == (2, 18, 0)
    assert [row["offset"] for row in read_rows(files, manifest, FileKind.DEAD_LETTER)] == [3, 8]


def test_no_footer_says_what_became_of_records_before_the_select_is_done() -> None:
    """A ledger is rebuilt from the accounts in footers, and rows are still filtered after the SELECT."""
    logs = {("t", 0): log_of_days(20, bad=frozenset({3, 8}))}
    manifest, files = dump(logs, table_of(), [offsets("t", 0, 0, 20)], even)
    for file in manifest.files:
        pairs = pq.read_metadata(io.BytesIO(files.read(file.staged))).metadata
        assert not [key for key in pairs if b"accounts" in key], file.kind
    assert {file.kind for file in manifest.files} == {FileKind.DATA, FileKind.DEAD_LETTER}


def test_columns_may_be_others_than_those_of_the_records() -> None:
    columns = Column("twice", "bigint"), Column("on", "date")
    table = replace(table_of(), columns=columns, records=table_of().columns)
    table = replace(table, bucketing=replace(table.bucketing, field="on"))

    def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
        doubled = pa.array([2 * n for n in batch.column("n").to_pylist()], pa.int64())
        columns = [doubled, batch.column("day"), batch.column("pos"), batch.column(COORDINATES)]
        return pa.RecordBatch.from_arrays(columns, ["twice", "on", "pos", COORDINATES])

    manifest, files = dump({("t", 0): log_of_days(5)}, table, [offsets("t", 0, 0, 5)], twice)
    assert sorted(row["twice"] for row in read_rows(files, manifest)) == [0, 2, 4, 6, 8]


def test_by_record_time_a_row_is_in_the_bucket_of_its_record() -> None:
    log = replace(log_of_days(3), first_ms=86_400_000 - 2)
    table = replace(table_of(), bucketing=Bucketing("dt=%Y-%m-%d", BucketTime.RECORD))
    manifest, files = dump({("t", 0): log}, table, [offsets("t", 0, 0, 3)], lambda batch: batch.slice(1, 2))
    assert {row["pos"]: row["_path"] for row in read_rows(files, manifest)} == {
        1: "dt=1970-01-01",
        2: "dt=1970-01-02",
    }


@pytest.mark.parametrize("again", [slice(0, 1), slice(4, 5)])
def test_a_row_that_comes_twice_is_refused_with_its_offset(again: slice) -> None:
    def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = list(range(len(batch)))
        return batch.take(pa.array(rows[: again.stop] + rows[again] + rows[again.stop :]))

    with pytest.raises(TableError, match=rf"more than one row of t-0@{again.start}") as refused:
        dump({("t", 0): log_of_days(9)}, table_of(), [offsets("t", 0, 0, 9)], doubled)
    assert refused.value.code == "sql.coordinates"


def test_a_row_that_comes_again_in_a_later_batch_is_refused() -> None:
    seen: list[pa.RecordBatch] = []

    def repeated(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch)
        return seen[0]

    logs = {("t", 0): log_of_days(40_000)}
    with pytest.raises(TableError, match="more than one row of t-0@0"):
        dump(logs, table_of(), [offsets("t", 0, 0, 40_000)], repeated)


@pytest.mark.parametrize(
    ("field", "value"),
    [("task", 4), ("range", 1), ("range", -1), ("offset", 9), ("offset", None), ("range", None)],
)
def test_rows_of_elsewhere_are_a_bug(field: str, value: int | None) -> None:
    def moved(batch: pa.RecordBatch) -> pa.RecordBatch:
        places = [{**place, field: value} for place in batch.column(COORDINATES).to_pylist()]
        index = batch.schema.get_field_index(COORDINATES)
        return batch.set_column(index, COORDINATES, pa.array(places, batch.schema.field(index).type))

    with pytest.raises(AccountingMismatch):
        dump({("t", 0): log_of_days(1)}, table_of(), [offsets("t", 0, 0, 1)], moved)


def test_counts_of_two_attempts_are_never_put_together() -> None:
    with pytest.raises(TableError, match="without reading its records to the end"):
        dump({("t", 0): log_of_days(9)}, table_of(), [offsets("t", 0, 0, 9)], whole, read_attempt=ATTEMPT - 1)


def test_a_row_of_the_select_out_of_range_or_late_is_a_dead_letter_that_is_counted_as_such() -> None:
    first = 1_356_998_400_000  # 2013-01-01, the day of even offsets; odd ones have the next day
    log = replace(log_of_days(30, no_day=frozenset({4}), bad=frozenset({9})), first_ms=first)
    planned = offsets("t", 0, 2, 30)
    bounds = EventBounds(
        planned_ms=first + 3_600_000, max_future_ms=60_000, late_before_ms=first + 86_400_000
    )
    for closed, late in ((first + 86_400_000, 13), (first, 0)):
        limits = replace(bounds, late_before_ms=closed)
        manifest, files = dump({("t", 0): log}, table_of(), [planned], whole, bounds=limits)
        total = outcome_of(manifest, planned=[planned], bounds=limits).total
        assert (total.read, total.written, total.dead_lettered) == (28, 13 - late, 15 + late)
        assert (total.out_of_range, total.late) == (13, late)
        letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
        reasons = Counter(row["reason"] for row in letters)
        assert reasons == {
            "bucket.out_of_range": 13,
            "json.type": 1,
            "bucket.no_time": 1,
            **({"bucket.late": late} if late else {}),
        }


def test_more_late_rows_than_a_select_may_leave_without_a_bucket_are_no_mistake_of_the_select() -> None:
    rows = UnwritableRows("db.t", [offsets("t", 0, 0, 10)])
    for offset in range(MOST_UNWRITABLE_ROWS + 1):
        rows.add(0, offset, Reason("bucket.late", "why"))
    for offset in range(MOST_UNWRITABLE_ROWS):
        rows.add(0, -offset - 1, Reason("bucket.no_time", "why"))
    with pytest.raises(TableError, match="more than 100000 rows of the SELECT"):
        rows.add(0, MOST_UNWRITABLE_ROWS + 2, Reason("bucket.no_time", "why"))


def test_a_row_without_a_bucket_is_a_dead_letter_with_every_byte_of_its_record() -> None:
    log = log_of_days(30, no_day=frozenset({4, 6, 7, 22}), bad=frozenset({9}))
    planned = offsets("t", 0, 2, 30)
    manifest, files = dump({("t", 0): log}, table_of(), [planned], even)
    total = judged(manifest, planned)
    assert (total.read, total.written, total.filtered, total.dead_lettered) == (28, 11, 13, 4)
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert {row["offset"]: (row["value"], row["reason"]) for row in letters} == {
        4: (log.records[4], "bucket.no_time"),
        6: (log.records[6], "bucket.no_time"),
        9: (log.records[9], "json.type"),
        22: (log.records[22], "bucket.no_time"),
    }
    assert {(one.code, one.count) for one in manifest.refusals} == {("json.type", 1), ("bucket.no_time", 3)}


def test_what_the_files_cannot_hold_is_asked_of_the_rows_of_the_select() -> None:
    log = FakeLog({0: b'{"at":"1969-01-01T00:00:00.5Z"}', 1: b'{"at":"2013-01-01T00:00:00.5Z"}'}, 2)
    table = table_settings(format="json", columns=[("at", "timestamp")], writer=WriterOptions("orc"))
    table = replace(table, sql="SELECT at FROM records")
    manifest, files = dump({("t", 0): log}, table, [offsets("t", 0, 0, 2)], whole)
    assert [row["offset"] for row in read_rows(files, manifest, FileKind.DEAD_LETTER)] == [0]
    assert [row["at"].year for row in read_rows(files, manifest)] == [2013]
    filtered, files = dump({("t", 0): log}, table, [offsets("t", 0, 0, 2)], lambda batch: batch.slice(1))
    assert [a.account.filtered for a in filtered.accounts] == [1]
    assert read_rows(files, filtered, FileKind.DEAD_LETTER) == []


def test_a_record_that_has_gone_before_it_became_a_late_dead_letter_fails_the_table() -> None:
    log = log_of_days(9, no_day=frozenset({4}))
    less = replace(log, records={at: value for at, value in log.records.items() if at != 4})
    with pytest.raises(TableError, match="Kafka has deleted 1 of their records") as refused:
        dump({("t", 0): log}, table_of(), [offsets("t", 0, 0, 9)], whole, later={("t", 0): less})
    assert refused.value.code == "sql.no_bucket"


def test_a_row_without_a_bucket_that_is_left_out_does_no_harm() -> None:
    logs = {("t", 0): log_of_days(9, no_day=frozenset({4}))}

    def dated(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(batch.column("day").is_valid())

    manifest, _ = dump(logs, table_of(), [offsets("t", 0, 0, 9)], dated)
    assert judged(manifest, offsets("t", 0, 0, 9)).filtered == 1


def test_a_task_without_spark_never_writes_rows_of_a_table_with_sql() -> None:
    settings = task_settings("", table_of(), stall_seconds=2.0)
    plan = TaskPlan(0, (table_task("db.t", offsets("t", 0, 0, 9)),))
    logs = {("t", 0): log_of_days(9)}
    files = MemoryFiles()
    with Watchdog(240.0) as watchdog:
        (manifest,) = task_of(plan, settings, files, FakeConsumer(logs), watchdog).run()
    assert manifest.failure is not None
    assert manifest.failure.code == "sql.needs_spark"
    assert not files.content


def accounted(into: int, out: int) -> tuple[TableManifest, RowsWritten]:
    account = RangeAccounting(3, offsets("t", 0, 0, 9), OffsetAccounting(read=9, written=into))
    manifest = TableManifest(table="db.t", task=3, generation=3, epoch=7, accounts=(account,))
    return manifest, RowsWritten(attempt=ATTEMPT, task=3, rows=(out,), refused=(0,))


def test_no_more_rows_come_out_than_went_in() -> None:
    manifest, rows = accounted(into=4, out=5)
    with pytest.raises(AccountingMismatch, match="4 rows went into the SELECT, 5 came out"):
        manifest_of("db.t", 3, [RecordsRead(ATTEMPT, manifest)], [rows])


@pytest.mark.parametrize(("into", "out"), [(8, 5), (9, 4), (10, 5)])
def test_another_count_of_sparks_own_is_a_mismatch(into: int, out: int) -> None:
    manifest, rows = accounted(into=9, out=5)
    other = RecordsRead(ATTEMPT - 1, accounted(into=8, out=5)[0])
    read = [other, RecordsRead(ATTEMPT, manifest), other]
    check_against_spark("db.t", read, [rows], 9, 5)
    with pytest.raises(AccountingMismatch, match="the tasks count 9 and 5"):
        check_against_spark("db.t", read, [rows], into, out)


def test_a_row_that_became_a_letter_after_the_select_came_out_of_it() -> None:
    manifest, rows = accounted(into=9, out=4)
    check_against_spark("db.t", [RecordsRead(ATTEMPT, manifest)], [replace(rows, refused=(1,))], 9, 5)


def test_counts_are_not_compared_if_either_end_has_failed() -> None:
    manifest, rows = accounted(into=9, out=5)
    failure = TableFailure("storage.denied", "no")
    for read, written in (
        (failed_manifest(manifest, failure), rows),
        (manifest, replace(rows, failure=failure)),
    ):
        check_against_spark("db.t", [RecordsRead(ATTEMPT, read)], [written], 0, 0)


def test_a_task_that_wrote_twice_or_never_is_a_mismatch() -> None:
    manifest, rows = accounted(into=9, out=5)
    for written in ([], [rows, rows]):
        with pytest.raises(AccountingMismatch, match="task 3 wrote"):
            manifest_of("db.t", 3, [RecordsRead(ATTEMPT, manifest)], written)


def test_rows_of_an_attempt_whose_records_were_not_read_to_the_end_stop_the_table() -> None:
    manifest, rows = accounted(into=9, out=5)
    of_others = [RecordsRead(ATTEMPT - 1, manifest), RecordsRead(ATTEMPT, replace(manifest, task=4))]
    for read in ([], of_others):
        with pytest.raises(TableError, match="task 3 without reading its records") as raised:
            manifest_of("db.t", 3, read, [rows])
        assert raised.value.code == "sql.unread"
        assert "lookup of an inner join" in (raised.value.remedy or "")


def test_a_manifest_has_the_seconds_of_both_ends() -> None:
    manifest, rows = accounted(into=9, out=5)
    manifest = replace(manifest, seconds=(("fetch", 1.0),))
    rows = replace(rows, seconds=(("write", 2.0),), out_of_range=(0,), late=(0,))
    joined = manifest_of("db.t", 3, [RecordsRead(ATTEMPT, manifest)], [rows])
    assert joined.seconds == (("fetch", 1.0), ("write", 2.0))


def test_a_failure_of_either_end_is_the_tasks() -> None:
    manifest, rows = accounted(into=9, out=5)
    before = failed_manifest(manifest, TableFailure("registry.tls", "no"))
    behind = replace(rows, failure=TableFailure("storage.denied", "no"), rows=(), refused=())
    for read, written, code in ((before, rows, "registry.tls"), (manifest, behind, "storage.denied")):
        told = manifest_of("db.t", 3, [RecordsRead(ATTEMPT, read)], [written])
        assert told.failure is not None
        assert (told.failure.code, told.files, told.accounts) == (code, (), ())
        assert (told.table, told.task, told.generation, told.epoch) == ("db.t", 3, 3, 7)


def test_tables_with_sql_are_planned_apart_with_the_index_of_their_task() -> None:
    one, other = table_task("db.sql", offsets("t", 0, 0, 9)), table_task("db.plain", offsets("t", 0, 0, 9))
    later = table_task("db.sql", offsets("t", 0, 9, 20))
    tasks = [TaskPlan(0, (one, other)), TaskPlan(1, (later,))]
    plain, by_table = split_by_sql(tasks, lambda table: table == "db.sql")
    assert plain == [TaskPlan(0, (other,))]
    assert by_table == {"db.sql": [TaskPlan(0, (one,)), TaskPlan(1, (later,))]}
