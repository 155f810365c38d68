"""Rows move to the task of their bucket in a scripted shuffle: few files, and each row once or no commit."""

import datetime
import zlib
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafka2hive.config.keys import Column, TableSettings
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import AccountingMismatch, OffsetRange
from kafka2hive.plan.contract import TableFailure, TableManifest, TaskPlan
from kafka2hive.sql.shuffle import first_ranges_of, shuffled_manifests, whole_plan
from kafka2hive.task.part import only_part
from kafka2hive.task.sql import workers
from kafka2hive.task.sql.coordinates import COORDINATES
from kafka2hive.task.sql.shares import RecordsRead, RowsReceived, RowsWritten
from kafka2hive.task.sql.shuffle import Parts, ReceivedRows, SentRows, marks_of
from kafka2hive.task.watchdog import Watchdog
from tests.harness.fake_consumer import FakeConsumer
from tests.harness.one_task import outcome_of
from tests.harness.task_files import (
    MemoryFiles,
    environment_of,
    offsets,
    read_rows,
    table_task,
    task_settings,
)
from tests.unit.task.sql.test_sql_task import Records, even, log_of_days, table_of, whole

INDICES = (2, 5)  # of the tasks in the epoch
PLANNED = (
    (offsets("t", 0, 0, 40), offsets("t", 1, 10, 50)),
    (offsets("t", 0, 40, 100), offsets("t", 2, 7, 7)),
)
LOGS = {
    ("t", 0): replace(
        log_of_days(100, bad=frozenset({3, 60}), no_day=frozenset({8, 44})), leader_epochs={0: 4, 50: 6}
    ),
    ("t", 1): replace(log_of_days(50), leader_epochs={0: 2}),
    ("t", 2): log_of_days(7),
}
SHARES = [
    TaskPlan(index, (table_task("db.t", *ranges),)) for index, ranges in zip(INDICES, PLANNED, strict=True)
]
ALL = [r for ranges in PLANNED for r in ranges]
Batches = list[pa.RecordBatch]
HIT = zlib.crc32(b"dt=2013-01-01") % 2
"""The part of that bucket, whose rows a test changes."""


@dataclass
class Played:
    """The reports of both sides of a shuffle."""

    files: MemoryFiles
    read: list[RecordsRead] = field(default_factory=list)
    sent: list[RowsWritten] = field(default_factory=list)
    received: list[RowsReceived] = field(default_factory=list)

    def manifests(self) -> list[TableManifest]:
        last = {one.task: one for one in self.sent}
        into = sum(a.account.written for one in self.read for a in one.manifest.accounts)
        out = sum(sum(one.rows) + sum(one.refused) for one in last.values())
        return shuffled_manifests("db.t", SHARES, self.read, self.sent, self.received, into, out)


def play(
    select: Callable[[pa.RecordBatch], pa.RecordBatch] = whole,
    shuffle: Callable[[int, Batches], Batches] = lambda part, batches: batches,
    table: TableSettings | None = None,
    together: int = 10**6,
) -> Played:
    """Run both sides. Attempts are 10 times the index of the task; `shuffle` may change what a part gets."""
    table = replace(table or table_of(), shuffle="bucket")
    played, settings = Played(MemoryFiles()), task_settings("", table)
    everything, moved = whole_plan(SHARES), []
    with Watchdog(240.0) as watchdog, ExitStack() as stack:
        for share, first in zip(SHARES, first_ranges_of(SHARES), strict=True):
            records = Records(share, settings, played.files, FakeConsumer(LOGS), watchdog, everything)
            part = only_part(share, settings, everything)
            environment = environment_of(settings, played.files, FakeConsumer(LOGS), watchdog)
            stack.enter_context(closing(environment))
            sending = SentRows(
                10 * share.index, part, environment, first=first, parts=len(SHARES), together=together
            )
            stack.enter_context(closing(sending))
            moved += [sending.send(half) for batch in records.batches() for half in halves(select(batch))]
            played.read.append(RecordsRead(10 * share.index, records.manifest))
            played.sent.append(sending.finish())
        for number in range(len(SHARES)):
            environment = environment_of(settings, played.files, FakeConsumer({}), watchdog)
            stack.enter_context(closing(environment))
            receiving = ReceivedRows(number, only_part(everything, settings), environment)
            stack.enter_context(closing(receiving))
            mine = [b.filter(pc.equal(b.column(COORDINATES).field("part"), number)) for b in moved]
            mine = [batch for batch in mine if len(batch)]
            for batch in shuffle(number, mine):
                receiving.take(batch)
            played.received.append(receiving.finish())
    return played


def halves(batch: pa.RecordBatch) -> Batches:
    """Split the batch in two, as for a task with more than one."""
    return [batch.slice(0, len(batch) // 2), batch.slice(len(batch) // 2)]


def files_by_bucket(manifests: list[TableManifest]) -> dict[str, int]:
    data = [f.hive_partition.path for m in manifests for f in m.files if f.kind is FileKind.DATA]
    return {path: data.count(path) for path in data}


def test_each_bucket_is_one_file_and_every_offset_is_accounted_for() -> None:
    played = play(even)
    manifests = played.manifests()
    assert [m.failure for m in manifests] == [None, None] and not manifests[1].files
    total = outcome_of(*manifests, planned=ALL).total
    assert (total.read, total.dead_lettered, total.written) == (140, 4, 67)
    rows = [row for manifest in manifests for row in read_rows(played.files, manifest)]
    at = sorted(row["pos"] for row in rows)
    assert at == sorted([*(n for n in range(0, 100, 2) if n not in (8, 44, 60)), *range(10, 50, 2)])
    assert {row["_path"] for row in rows} == {"dt=2013-01-01"}
    assert files_by_bucket(manifests) == {"dt=2013-01-01": 1}
    assert COORDINATES not in rows[0]
    # as the ledger's audit wants it: a file names ranges that its own task has read
    assert {a.task for a in manifests[0].accounts} == {2} == {f.task for f in manifests[0].files}
    assert all(set(f.ranges) <= {a.range for a in manifests[0].accounts} for f in manifests[0].files)


def test_rows_of_all_tasks_are_in_the_file_of_their_bucket() -> None:
    played = play()
    manifests = played.manifests()
    assert files_by_bucket(manifests) == {"dt=2013-01-01": 1, "dt=2013-01-02": 1}
    rows = [row for manifest in manifests for row in read_rows(played.files, manifest)]
    wanted = [n for n in range(100) if n not in (3, 60, 8, 44)] + list(range(10, 50))
    assert sorted(row["pos"] for row in rows) == sorted(wanted)
    letters = read_rows(played.files, manifests[0], FileKind.DEAD_LETTER)
    assert sorted(row["offset"] for row in letters) == [3, 8, 44, 60]


def test_what_all_tasks_have_read_stands_in_the_manifest_of_the_whole() -> None:
    played = play()
    whole_manifest, nothing = played.manifests()
    for what in ("leader_epochs", "delivered", "refusals"):
        of_tasks = [one for read in played.read for one in getattr(read.manifest, what)]
        assert of_tasks and all(one in getattr(whole_manifest, what) for one in of_tasks)
        assert not getattr(nothing, what)
    assert sorted(epoch for _, epoch in whole_manifest.leader_epochs) == [2, 4, 6]
    assert whole_manifest.newest_ms == 1_099, "the second task has read the newest record"
    outcome = outcome_of(*played.manifests(), planned=ALL)
    assert {tp.number: epoch for tp, epoch in outcome.change.leader_epochs.items()} == {0: 6, 1: 2}


def test_what_each_task_saw_in_its_records_is_told() -> None:
    columns = (
        Column("day", "date"),
        Column("x", "string", leeway=Leeway(default="none")),
        Column("nn", "bigint"),
    )
    played = play(table=replace(table_of(), columns=columns))
    manifests = played.manifests()
    outcome = outcome_of(*manifests, planned=ALL)
    rows = outcome.total.written + len([*(8, 44)])  # those without a day are refused behind the SELECT
    assert dict(outcome.changed) == {"default": rows}
    assert (outcome.columns.rows, outcome.columns.empty) == (rows, ("x", "nn"))
    (unmapped,) = outcome.unmapped.fields
    looked_at = [one.manifest.unmapped.looked_at for one in played.read]
    assert all(looked_at) and outcome.unmapped.looked_at == sum(looked_at) == unmapped.records
    slow = [replace(one, manifest=replace(one.manifest, is_compiled=False)) for one in played.read]
    slower = replace(played, read=slow).manifests()
    assert outcome_of(*slower, planned=ALL).fallback_tasks == 2


def test_a_large_bucket_is_split_among_the_parts_and_no_row_is_lost() -> None:
    def one_day(batch: pa.RecordBatch) -> pa.RecordBatch:
        place = batch.schema.get_field_index("day")
        days = pa.array([datetime.date(2013, 1, 1)] * len(batch), pa.date32())
        return batch.set_column(place, "day", days)

    played = play(one_day, together=5)
    manifests = played.manifests()
    assert files_by_bucket(manifests) == {"dt=2013-01-01": 2}
    sizes = [f.rows for f in manifests[0].files if f.kind is FileKind.DATA]
    assert sum(sizes) == 138 and min(sizes) > 50


def test_what_the_select_leaves_out_needs_no_row_of_a_task() -> None:
    manifests = play(lambda batch: batch.slice(0, 0)).manifests()
    total = outcome_of(*manifests, planned=ALL).total
    assert (total.written, total.filtered) == (0, 138) and not files_by_bucket(manifests)


def _again(part: int, batches: Batches) -> Batches:
    return [*batches, batches[0].slice(0, 1)] if part == HIT else batches


def _one_less(part: int, batches: Batches) -> Batches:
    return [batches[0].slice(1), *batches[1:]] if part == HIT else batches


def _one_for_another(part: int, batches: Batches) -> Batches:
    """Lose a row and deliver its neighbour twice: the counts stay the same."""
    if part != HIT:
        return batches
    first = batches[0]
    return [first.slice(1), first.slice(1, 1), *batches[1:]]


def _changed(name: str, value: object) -> Callable[[int, Batches], Batches]:
    def change(part: int, batches: Batches) -> Batches:
        if part != HIT:
            return batches
        first = batches[0]
        moved = first.column(COORDINATES)
        columns = [
            pa.array([value, *child.to_pylist()[1:]], child.type) if kind.name == name else child
            for kind, child in zip(moved.type, moved.flatten(), strict=True)
        ]
        changed = pa.StructArray.from_arrays(columns, fields=list(moved.type))
        return [first.set_column(first.num_columns - 1, COORDINATES, changed), *batches[1:]]

    return change


@pytest.mark.parametrize(
    ("shuffle", "told"),
    [
        (_again, "did not come out of the shuffle as they were sent"),
        (_one_less, "did not come out of the shuffle as they were sent"),
        (_one_for_another, "did not come out of the shuffle as they were sent"),
        (_changed("attempt", 99), "rows of 2 attempts of task 2 arrived"),
        (_changed("attempt", None), "has lost its destination or its origin"),
        (_changed("range", 77), "rows of another part"),
        (_changed("part", 1 - HIT), "rows of another part"),
        (_changed("offset", 9), "did not come out of the shuffle as they were sent"),
    ],
)
def test_rows_that_do_not_come_as_they_were_sent_commit_nothing(
    shuffle: Callable[[int, Batches], Batches], told: str
) -> None:
    with pytest.raises(AccountingMismatch, match=told):
        play(shuffle=shuffle).manifests()


def test_of_two_attempts_that_sent_only_the_one_whose_rows_came_counts() -> None:
    played = play()
    other = replace(played.sent[0], attempt=21, rows=(1, 1), marks=(0, 0), refused=(0, 0))
    for place in (0, 1):
        played.sent.insert(place, other)
    assert played.manifests()[0].failure is None
    played.sent = [one for one in played.sent if one.attempt != 20]
    with pytest.raises(AccountingMismatch, match="from an attempt of task 2 that did not end"):
        played.manifests()


def test_a_failure_on_either_side_is_the_tables() -> None:
    wrong = TableFailure("storage.denied", "no")
    played = play()
    played.received[1] = RowsReceived(part=1, failure=wrong)
    assert [m.failure for m in played.manifests()] == [wrong, wrong]
    played = play(lambda batch: batch.slice(0, 0))
    played.sent[1] = RowsWritten(attempt=50, task=5, failure=wrong)
    assert wrong in [m.failure for m in played.manifests()]
    played.received.pop()
    with pytest.raises(AccountingMismatch, match="2 parts, but 1 were received"):
        played.manifests()


def test_a_sender_and_a_receiver_that_fail_say_so_and_take_the_rest_all_the_same() -> None:
    table = replace(table_of(), shuffle="bucket")
    settings, everything = task_settings("", table), whole_plan(SHARES)
    sound = {key: log_of_days(log.end) for key, log in LOGS.items()}  # no record is read again
    with Watchdog(240.0) as watchdog:
        records = Records(SHARES[0], settings, MemoryFiles(), FakeConsumer(sound), watchdog, everything)
        of_first = [half for batch in records.batches() for half in halves(batch)]
    told: list[RowsWritten] = []
    left = iter(of_first)
    of_second = workers.send_rows(left, SHARES[1], everything, 2, 2, 50, settings, told.append)
    assert not list(of_second) and not list(left)
    (failure,) = [one.failure for one in told]
    assert failure is not None and (told[0].task, told[0].attempt) == (SHARES[1].index, 50)
    parts = Played(MemoryFiles())
    moved = list(workers.send_rows(of_first, SHARES[0], everything, 0, 2, 20, settings, parts.sent.append))
    assert [one.failure for one in parts.sent] == [None]
    left = iter(moved)
    received = workers.receive_rows(left, 7, everything, settings)
    assert received.part == 7 and received.failure is not None and not list(left)


def test_a_bucket_stays_together_up_to_an_even_part_of_the_tasks_offsets() -> None:
    ids = np.array([0, 1, 0, 0, 2, 0, 0, 0], np.int32)
    paths = ["dt=1", "dt=2", "dt=3"]
    ranges = (OffsetRange(offsets("t", 0, 0, 1).topic_partition, 0, 8),)
    parts = Parts(4, ranges, together=1)
    found = [*parts.assign(ids, paths).tolist(), *parts.assign(ids[:2], paths).tolist()]
    big = [found[n] for n in (0, 2, 3, 5, 6, 7, 8)]
    assert [(part - big[0]) % 4 for part in big] == [0, 0, 1, 1, 2, 2, 3]  # 8 offsets in 4 parts: 2 together
    assert found[1] == found[9]
    together = Parts(4, ranges, together=100).assign(ids, paths)
    assert len({together[n] for n in (0, 2, 3, 5, 6, 7)}) == 1


def test_marks_do_not_depend_on_the_order_and_tell_other_offsets_apart() -> None:
    range_indexes, at = np.array([0, 1, 1, 0]), np.array([5, 2**62, 7, 6])
    marks = marks_of(range_indexes, at, 3)
    assert (marks == marks_of(range_indexes[::-1], at[::-1], 3)).all() and marks[2] == 0
    with_sum = marks_of(np.array([0, 0]), np.array([4, 7]), 3)  # the same sum of offsets
    assert marks[0] != with_sum[0]
