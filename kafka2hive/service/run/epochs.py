"""The epoch loop of one service: plans epochs for Spark, and publishes what the tasks return. One lock for all of it.

Spark calls `plan`, then `on_epoch` or `on_failed`, one after the other; registrar and main loop come beside them.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.ledger.owned_ledger import list_own_directory
from kafka2hive.ledger.snapshot.change import Change, RegistrationUpdate
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.failure_isolation import FailureIsolation
from kafka2hive.pipeline.plan import TableBacklog, plan_epoch
from kafka2hive.pipeline.values import PlannedEpoch, TableManifest
from kafka2hive.service.run.backlogs import backlog, count_lag_of_set_aside, ranges_to_read
from kafka2hive.service.run.manifests import judge_manifests
from kafka2hive.service.run.once import TRIES, OnceTarget
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.report import EpochReport, Reporter, TableReport
from kafka2hive.service.shared.kafka_view import KafkaView
from kafka2hive.service.shared.progress_lock import BusyLock
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring

log = logging.getLogger(__name__)

FENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class InFlightEpoch:
    """The planned epoch that Spark works on; `began` monotonic seconds."""

    epoch: PlannedEpoch
    began: float

    def ranges(self, table: str) -> list[OffsetRange]:
        return [r for plan in self.epoch.tasks for t in plan.tables if t.table == table for r in t.ranges]

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(sorted({t.table for plan in self.epoch.tasks for t in plan.tables}))


class EpochLoop:
    """The query's planner and its listener.

    `slots` is how many tasks an epoch should have at most. With `once`, what Kafka holds at the first plan is dumped,
    then nothing more is due.
    """

    def __init__(
        self,
        wiring: Wiring,
        kafka: KafkaView,
        owned_tables: OwnedTables,
        reporter: Reporter,
        slots: int,
        once: bool,
    ) -> None:
        self._wiring = wiring
        self._clock = wiring.ports.clock
        self._kafka = kafka
        self._owned_tables = owned_tables
        self._reporter = reporter
        self._slots = slots
        self._once = OnceTarget() if once else None
        self._in_flight: InFlightEpoch | None = None
        self._planned = 0
        self._looked_at = wiring.ports.clock.monotonic()
        self._isolation = FailureIsolation()
        self._lock = BusyLock(wiring.ports.clock, wiring.new_lock())
        owned_tables.on_progress = self._lock.progress

    def plan(self) -> PlannedEpoch | None:
        """Plan the next epoch; None when nothing is due.

        Raises what ends the run: Fenced, TakeOverLost, OwnedByLiveRun, a bug; with `once` also ServiceUnavailable.
        """
        with self._lock:
            try:
                return self._plan()
            except ServiceUnavailable as error:
                if self._once is not None:
                    raise
                log.warning("nothing is planned for now: %s", error.message)
                return None

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        """Commit, promote, finalise every table of the epoch by itself; Hive follows in the background."""
        with self._lock:
            in_flight = self._finish(number)
            tasks_done = self._clock.monotonic()
            self._isolation = self._isolation.succeeded(in_flight.tables)
            by_table: dict[str, list[TableManifest]] = {name: [] for name in in_flight.tables}
            for manifest in manifests:
                by_table[manifest.table].append(manifest)

            def publish(table: Table) -> TableReport | None:
                return self._owned_tables.attempt(
                    table, lambda: self._publish(in_flight, table, by_table[table.name])
                )

            reports = self._owned_tables.side_by_side(
                publish, [self._owned_tables.tables[name] for name in in_flight.tables]
            )
            self._reporter.epoch(
                EpochReport(
                    number,
                    tuple(r for r in reports if r is not None),
                    tasks_seconds=tasks_done - in_flight.began,
                    publish_seconds=self._clock.monotonic() - tasks_done,
                    tables=tuple(self._owned_tables.tables.values()),
                )
            )

    def on_failed(self, number: int, reason: str) -> None:
        """The epoch's job failed as a whole: nothing is committed, and the failing table is isolated."""
        with self._lock:
            in_flight = self._finish(number)
            log.error("epoch %d failed in its tasks, nothing of it is committed: %s", number, reason)
            self._isolation = self._isolation.failed(in_flight.tables)
            if self._isolation.everyone_failed():
                log.error(
                    "every table's tasks fail: something they share is broken (Kafka, HDFS, the workers)"
                )
            for name in sorted(self._isolation.failing):
                error = TableError(
                    "task.killed",
                    f"{name}: its tasks die or raise; planned were {in_flight.ranges(name)[:3]}: {reason}",
                    "look at the tasks' log of these offsets; the table is tried again by itself",
                )
                self._owned_tables.set_aside(self._owned_tables.tables[name], error)
            self._isolation = self._isolation.released(self._isolation.failing)

    def registered(self, registered: frozenset[HivePartition]) -> None:
        """The registrar's report."""
        with self._lock:
            self._owned_tables.registered(registered)

    def refused_by_hive(
        self, name: str, error: TableError, partitions: frozenset[HivePartition] = frozenset()
    ) -> None:
        """The registrar's report: what Hive does not take is set aside; what is committed stays right."""
        with self._lock:
            self._owned_tables.refused_by_hive(name, error, partitions)

    def stuck_seconds(self) -> float:
        """How long planning or publishing has shown no progress; 0 when neither is at work."""
        return self._lock.busy_seconds()

    def record_registrations(self) -> None:
        """An empty snapshot for every table whose pending registrations changed since its newest one."""
        with self._lock:
            self._record_registrations_of(self._owned_tables.serving())

    def start_tables(self) -> None:
        """The first take-over. Under the lock: the registrar reports what is paid while tables are still starting."""
        with self._lock:
            self._owned_tables.start_due_tables()

    def _finish(self, number: int) -> InFlightEpoch:
        in_flight, self._in_flight = self._in_flight, None
        assert in_flight is not None and in_flight.epoch.number == number
        return in_flight

    def _plan(self) -> PlannedEpoch | None:
        while True:
            round_began = self._clock.monotonic()
            self._owned_tables.refresh(
                self._kafka.cluster(fresh=self._once is not None and bool(self._once.missing)).topics
            )
            self._owned_tables.start_due_tables()
            backlogs = self._backlogs()
            if (epoch := self._plan_due(backlogs)) is not None:
                return epoch
            self._record_idle_registrations()
            self._look_for_fence()
            retry_at = self._next_try(self._once, round_began) if self._once is not None else None
            if retry_at is None:
                return None
            self._clock.sleep(max(retry_at - self._clock.monotonic(), 0.1))

    def _next_try(self, once: OnceTarget, round_began: float) -> float | None:
        """When to look again for what was left out; None when it is dumped, or tried often enough.

        A table whose topics Kafka does not have, or does not answer for in the end, is set aside, so that the run does
        not seem to have dumped all; the rest of it is dumped.
        """
        tables_at = self._owned_tables.next_retry(TRIES, round_began)
        kafka_at = once.missing.ask_again_at(self._clock.monotonic())
        retry_at = min((at for at in (tables_at, kafka_at) if at is not None), default=None)
        if retry_at is None:
            for name, error in once.left_out(self._owned_tables.tables.values()).items():
                if (table := self._owned_tables.tables[name]).aside is None:
                    self._owned_tables.set_aside(table, error, until="for the rest of this run")
        return retry_at

    def _backlogs(self) -> list[TableBacklog]:
        """Kafka against the ledgers, for every table that serves."""
        tables = self._owned_tables.serving()
        kafka_offsets = self._kafka.look(tables)
        if self._once is not None:
            self._once.note(tables, kafka_offsets)
        target = None if self._once is None else self._once.ends
        now = self._clock.now()

        def read(table: Table) -> TableBacklog | None:
            logs, born_later = kafka_offsets.of(table.name), self._kafka.born_later
            ranges = self._owned_tables.attempt(
                table, lambda: ranges_to_read(table, logs, born_later, now, self._publish_change)
            )
            return None if ranges is None else backlog(table, ranges, self._clock.monotonic(), target)

        count_lag_of_set_aside(self._owned_tables.set_aside_tables(), self._kafka)
        return [b for b in self._owned_tables.side_by_side(read, tables) if b is not None]

    def _plan_due(self, backlogs: Sequence[TableBacklog]) -> PlannedEpoch | None:
        only = self._isolation.next_only()
        plans = plan_epoch(
            backlogs,
            self._wiring.map.limits,
            self._slots,
            self._clock.epoch_ms(),
            drain=self._once is not None,
            only_tables=only,
        )
        if not plans:
            if only is None:
                return None
            # nothing waits for these tables: with `once`, to say "nothing is due" now would leave out all the others
            self._isolation = self._isolation.succeeded(only)
            return self._plan_due(backlogs)
        self._planned += 1
        self._in_flight = InFlightEpoch(PlannedEpoch(self._planned, plans), self._clock.monotonic())
        for name in self._in_flight.tables:
            self._owned_tables.tables[name].planned_at = self._in_flight.began
        return self._in_flight.epoch

    def _publish(
        self, in_flight: InFlightEpoch, table: Table, manifests: Sequence[TableManifest]
    ) -> TableReport:
        owned = table.owned
        next_up = (owned.ledger.generation.number, owned.ledger.next_epoch)
        if strays := [at for m in manifests if (at := (m.generation, m.epoch)) != next_up]:
            raise Kafka2HiveError(
                "task.wrong_epoch",
                f"{table.name}: tasks wrote for generation {strays[0][0]}, epoch {strays[0][1]};"
                f" generation {next_up[0]}, epoch {next_up[1]} is to be committed",
                "report it: a bug; nothing of the epoch was committed",
            )
        outcome = judge_manifests(
            table.name,
            in_flight.ranges(table.name),
            manifests,
            table.rule.dead_letter_share,
            owned.registered,
            self._kafka.cluster_id,
            table.location,
        )
        moves = self._owned_tables.publish(table, outcome.change)
        table.learn_record_size(outcome.total.read, outcome.total.bytes)
        table.lag_records = max(table.lag_records - outcome.total.read - outcome.total.absent, 0)
        return TableReport(table.name, outcome, moves, table.owned.state, owned.open_registrations)

    def _publish_change(self, table: Table, change: Change) -> None:
        self._owned_tables.publish(table, change)

    def _record_idle_registrations(self) -> None:
        self._record_registrations_of(
            [table for table in self._owned_tables.serving() if table.lag_records == 0]
        )

    def _record_registrations_of(self, tables: Sequence[Table]) -> None:
        self._owned_tables.side_by_side(
            lambda table: self._owned_tables.attempt(table, lambda: self._record_registrations(table)), tables
        )

    def _look_for_fence(self) -> None:
        """An idle run has nothing to commit, and so would not learn that it was fenced. Raises Fenced."""
        now = self._clock.monotonic()
        if now - self._looked_at < FENCE_SECONDS:
            return
        self._looked_at = now

        def look(table: Table) -> None:
            list_own_directory(self._wiring.ports.files, table.owned.ledger)

        self._owned_tables.side_by_side(
            lambda table: self._owned_tables.attempt(table, lambda: look(table)), self._owned_tables.serving()
        )

    def _record_registrations(self, table: Table) -> None:
        registered = table.owned.registered
        if registered or self._owned_tables.newly_compared(table):
            self._publish_change(table, RegistrationUpdate(registered=registered))
