"""Planning, accounting, drafting and the snapshot codec driven together against plain dicts (Hypothesis, stateful).

The model of the world is `log_end` by topic partition (the end in Kafka), `next_offset` (the next offset of the table) and
`first_gone` (deleted by retention). The code under test gets there by plan, accounts, draft, encode and decode; after every
step both must agree, and the whole history must pass the audit of `verify`.
"""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka2hive.config.keys import Flush, Limits
from kafka2hive.ledger.draft import OffsetsDoNotJoin, draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, DataEpoch, FirstPositions, Repair
from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import (
    AccountingMismatch,
    OffsetAccounting,
    OffsetRange,
    Position,
    RangeAccounting,
    TopicPartition,
)
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join, partition_path
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug, staging_directory
from kafka2hive.model.snapshot import AcceptedGap, AcceptedLoss, Snapshot
from kafka2hive.plan import TableBacklog, plan_epoch
from kafka2hive.plan.contract import TableManifest, TaskPlan
from kafka2hive.service.tables.manifests import judge_manifests
from kafka2hive.service.verify.history import audit_history
from tests.harness.task_files import delivered_as
from tests.harness.values import data_file, file_name, snapshot

TABLE, LETTERS = "air.flights", "air.flights_dead"
LOCATION = "hdfs://namenode:8020/warehouse/flights"
LEDGER_ID = "6b1f0c52a0a94ad3b8b1f0aa2c7d9e11"
WHEN = "2026-11-21T08:12:00Z"
UUID = "5d0c5d0c5d0c5d0c5d0c5d0c5d0c5d0c"


class Ledger(RuleBasedStateMachine):
    """The ledger of one table, without a file system."""

    def __init__(self) -> None:
        super().__init__()
        self.log_end: dict[TopicPartition, int] = {}
        self.next_offset: dict[TopicPartition, int] = {}
        self.written = 0
        self.lost_rows = 0
        self.registered: frozenset[HivePartition] = frozenset()
        self.files: dict[str, int] = {}
        self.history: list[Snapshot] = []

    @initialize()
    def make_the_ledger(self) -> None:
        self.owned = OwnedLedger(
            LedgerPaths("hdfs://namenode:8020/kafka2hive", TABLE),
            Generation(1, "20261121T074844Z", f"etl1-4711-{UUID}"),
            snapshot(
                ledger_id=LEDGER_ID,
                service="flights",
                table=TABLE,
                generation=0,
                owner="init",
                epoch=0,
                written_at=WHEN,
                location=LOCATION,
            ),
        )
        self.history = [self.owned.state]

    @rule(topic=st.sampled_from(["a", "b", "ü"]), end=st.integers(0, 5000))
    def a_topic_partition_appears(self, topic: str, end: int) -> None:
        number = sum(tp.topic == topic for tp in self.log_end)
        topic_partition = TopicPartition(topic, number)
        self.log_end[topic_partition] = end
        first = (Position(topic_partition, 0, 0, f"id-{topic}"),)
        self._commit(FirstPositions(positions=first, registered=self.registered))
        self.next_offset[topic_partition] = 0

    @precondition(lambda self: self.log_end)
    @rule(data=st.data(), more=st.integers(1, 3_000_000))
    def records_appear(self, data: st.DataObject, more: int) -> None:
        self.log_end[data.draw(st.sampled_from(sorted(self.log_end)))] += more

    @rule(
        data=st.data(),
        limits=st.builds(Limits, epoch_bytes=st.integers(1, 10**9), epoch_records=st.integers(1, 10**7)),
        slots=st.integers(1, 8),
        hive_up=st.booleans(),
    )
    def an_epoch_is_planned_read_and_committed(
        self, data: st.DataObject, limits: Limits, slots: int, hive_up: bool
    ) -> None:
        waiting = tuple(
            OffsetRange(tp, self.next_offset[tp], self.log_end[tp]) for tp in sorted(self.log_end)
        )
        epoch = self.owned.next_epoch
        backlog = TableBacklog(TABLE, LEDGER_ID, 1, epoch, waiting, 100.0, 1e9, Flush())
        plans = plan_epoch([backlog], limits, slots, 1_700_000_000_000)
        planned = [r for plan in plans for task in plan.tables for r in task.ranges]
        self._check_plan(waiting, planned)
        manifests = [self._finish(data, plan) for plan in data.draw(st.permutations(plans))]
        outcome = judge_manifests(TABLE, planned, manifests, 1.0, self.registered, "cluster", LOCATION)
        for file in outcome.change.files:
            self.files[file.final] = file.rows
        self.written += outcome.total.written
        self._commit(outcome.change)
        for r in planned:
            self.next_offset[r.topic_partition] = max(self.next_offset[r.topic_partition], r.end)
        self.registered = frozenset(self.owned.state.unregistered if hive_up else ())

    @precondition(lambda self: any(self.log_end[tp] > self.next_offset[tp] for tp in self.log_end))
    @rule(data=st.data())
    def retention_takes_unread_records_and_a_person_accepts_the_gap(self, data: st.DataObject) -> None:
        behind = [tp for tp in sorted(self.log_end) if self.log_end[tp] > self.next_offset[tp]]
        topic_partition = data.draw(st.sampled_from(behind))
        start = self.next_offset[topic_partition]
        earliest = data.draw(st.integers(start + 1, self.log_end[topic_partition]))
        gap = AcceptedGap(
            range=OffsetRange(topic_partition, start, earliest),
            reason="aged out",
            accepted_at=WHEN,
            epoch=self.owned.next_epoch,
        )
        moved = Position(topic_partition, earliest, earliest, f"id-{topic_partition.topic}")
        self._commit(FirstPositions(positions=(moved,), gaps=(gap,), registered=self.registered))
        self.next_offset[topic_partition] = earliest

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def a_file_is_lost_and_a_person_accepts_it(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        rows = self.files.pop(path)
        self.lost_rows += rows
        loss = AcceptedLoss(
            path=path, remedy="accept-loss", rows=rows, accepted_at=WHEN, epoch=self.owned.next_epoch
        )
        self._commit(Repair(losses=(loss,), registered=self.registered))

    @precondition(lambda self: self.next_offset)
    @rule(data=st.data(), wrong=st.sampled_from([-1, 1, 7]))
    def a_range_that_does_not_follow_is_refused(self, data: st.DataObject, wrong: int) -> None:
        topic_partition = data.draw(st.sampled_from(sorted(self.next_offset)))
        start = max(0, self.next_offset[topic_partition] + wrong)
        if start == self.next_offset[topic_partition]:
            return
        account = RangeAccounting(
            0, OffsetRange(topic_partition, start, start + 1), OffsetAccounting(read=1, written=1)
        )
        try:
            draft(self.owned, "flights", WHEN, DataEpoch(files=(), accounts=(account,)))
        except OffsetsDoNotJoin:
            return
        raise AssertionError("a hole or an overlap was drafted")

    @precondition(lambda self: self.next_offset)
    @rule(data=st.data(), which=st.sampled_from(["read", "written", "filtered", "dead_lettered", "absent"]))
    def an_account_that_does_not_add_up_is_refused(self, data: st.DataObject, which: str) -> None:
        topic_partition = data.draw(st.sampled_from(sorted(self.next_offset)))
        start = self.next_offset[topic_partition]
        right = OffsetAccounting(read=2, written=1, filtered=1, absent=1)
        wrong = replace(right, **{which: getattr(right, which) + 1})
        account = RangeAccounting(0, OffsetRange(topic_partition, start, start + 3), wrong)
        try:
            draft(self.owned, "flights", WHEN, DataEpoch(files=(), accounts=(account,)))
        except AccountingMismatch:
            return
        raise AssertionError("an account that does not add up was drafted")

    @rule()
    def another_start_takes_the_table_over(self) -> None:
        number = self.owned.generation.number + 1
        self.owned = replace(self.owned, generation=Generation(number, "20261121T074844Z", f"etl2-1-{UUID}"))
        self.registered = frozenset()

    @invariant()
    def positions_are_where_the_model_is(self) -> None:
        if self.history:
            state = self.owned.state
            assert {p.topic_partition: p.end for p in state.positions} == self.next_offset
            assert [p.topic_partition for p in state.positions] == sorted(self.next_offset)

    @invariant()
    def the_audit_finds_nothing(self) -> None:
        assert audit_history(self.history) == ()

    @invariant()
    def every_record_read_is_in_one_account_and_every_row_in_one_file(self) -> None:
        rows = sum(f.rows for s in self.history for f in s.files if f.kind is FileKind.DATA)
        assert rows == self.written == sum(a.account.written for s in self.history for a in s.accounts)
        read = sum(len(a.range) for s in self.history for a in s.accounts)
        gone = sum(len(g.range) for g in self.owned.state.gaps) if self.history else 0
        assert read + gone == sum(self.next_offset.values())
        names = [f.final for s in self.history for f in s.files]
        assert len(set(names)) == len(names)
        lost = self.owned.state.losses if self.history else ()
        assert sum(loss.rows for loss in lost) == self.lost_rows

    def _commit(self, change: Change) -> None:
        """Draft, write, read back, go on from what was read."""
        snapshot = draft(self.owned, "flights", WHEN, change)
        again = decode(encode(snapshot))
        assert again == snapshot
        assert set(again.unregistered) == self.debts_after(change)
        self.registered = frozenset()
        self.owned = self.owned.committed(again).finalised()
        self.history.append(again)

    def debts_after(self, change: Change) -> set[HivePartition]:
        left = set(self.owned.state.unregistered) - change.registered
        files = change.files if isinstance(change, DataEpoch) else ()
        return left | {file.hive_partition for file in files}

    def _check_plan(self, waiting: tuple[OffsetRange, ...], planned: list[OffsetRange]) -> None:
        """Of every topic partition a beginning of what waits, each offset once."""
        for r in waiting:
            at = r.start
            for part in sorted(p for p in planned if p.topic_partition == r.topic_partition):
                assert part.start == at and part.end > part.start
                at = part.end
            assert at <= r.end
            assert (at > r.start) == (len(r) > 0)  # nobody starves

    def _finish(self, data: st.DataObject, plan: TaskPlan) -> TableManifest:
        """A task's manifest: any split of its records into rows, dead letters, filtered, tombstones, absent."""
        (task,) = plan.tables
        accounts, files = [], []
        for r in task.ranges:
            left, parts = len(r), []
            for _ in range(4):
                parts.append(data.draw(st.integers(0, left)))
                left -= parts[-1]
            dead, filtered, tombstones, absent = parts
            account = OffsetAccounting(
                len(r) - absent, left, filtered, tombstones, dead, absent, 100 * len(r)
            )
            accounts.append(RangeAccounting(plan.index, r, account))
        for kind, rows in (
            (FileKind.DATA, sum(a.account.written for a in accounts)),
            (FileKind.DEAD_LETTER, sum(a.account.dead_lettered for a in accounts)),
        ):
            if rows:
                files.append(self._file(data, plan.index, kind, rows, task.ranges))
        return TableManifest(
            table=task.table,
            task=plan.index,
            generation=task.generation,
            epoch=task.epoch,
            files=tuple(files),
            accounts=tuple(accounts),
            delivered=delivered_as(accounts),
        )

    def _file(
        self, data: st.DataObject, task: int, kind: FileKind, rows: int, ranges: tuple[OffsetRange, ...]
    ) -> DataFile:
        value = data.draw(st.sampled_from(["2013-01-01", "", "a/b", "ü\u2028", "100%"]))
        path = partition_path((("dt", value),))
        table = TABLE if kind is FileKind.DATA else LETTERS
        where = HivePartition(
            table, path, join(LOCATION if kind is FileKind.DATA else f"{LOCATION}_dead", path)
        )
        name = file_name(
            LEDGER_ID,
            self.owned.generation.number,
            self.owned.next_epoch,
            slug=bucket_slug(path),
            task=task,
            uuid=UUID,
        )
        assert DataFileName.parse(name.in_state("final")) == (name, "final")
        return data_file(
            kind=kind,
            staged=join(staging_directory(LOCATION), name.in_state("pending")),
            final=join(where.location, name.in_state("final")),
            hive_partition=where,
            length=100 * rows,
            rows=rows,
            checksum="crc32:00000000",
            task=task,
            ranges=ranges,
        )


TestLedger = Ledger.TestCase
TestLedger.settings = settings(stateful_step_count=20)
