"""The epoch loop of one service: it plans epochs for Spark and publishes what the tasks return, under one lock.

Spark's query calls `plan`, then `on_epoch` or `on_failed`, never two of them at once. `plan` and `on_epoch` first apply the
registrar's events.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafka2hive.model.errors import ServiceUnavailable, TableError
from kafka2hive.model.offsets import OffsetRange, first_ranges
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.text import counted
from kafka2hive.plan import TableBacklog, plan_epoch
from kafka2hive.plan.contract import PlannedEpoch, TableManifest, TaskPlan
from kafka2hive.plan.failure_isolation import FailureIsolation
from kafka2hive.service.progress_lock import BusyLock
from kafka2hive.service.run.backlogs import Backlogs, contradicts
from kafka2hive.service.run.compaction import Compactions
from kafka2hive.service.run.inbox_watch import NoInbox, OrderSource
from kafka2hive.service.run.once import OnceTarget
from kafka2hive.service.run.open_transactions import OpenTransactions
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.replay_orders import Replays
from kafka2hive.service.run.table_steps import TableSteps
from kafka2hive.service.tables.kafka_view import KafkaOffsets, KafkaView
from kafka2hive.service.tables.manifests import check_epoch, judge_manifests
from kafka2hive.service.tables.outages import systems_away
from kafka2hive.service.tables.places import with_places
from kafka2hive.service.tables.registrar import NoRegistrar, Registrar
from kafka2hive.service.tables.report import EpochReport, Reporter, TableReport
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InFlightEpoch:
    """The planned epoch that Spark works on, since `began` (monotonic seconds).

    By table, `ranges` has the ranges of all its tasks, and `bounds` the bounds of event time. `replays` names the tables whose
    tasks decode dead letters.
    """

    epoch: PlannedEpoch
    began: float
    ranges: Mapping[str, tuple[OffsetRange, ...]]
    bounds: Mapping[str, EventBounds | None]
    replays: frozenset[str]

    @staticmethod
    def begin(epoch: PlannedEpoch, began: float) -> "InFlightEpoch":
        ranges: dict[str, tuple[OffsetRange, ...]] = {}
        bounds: dict[str, EventBounds | None] = {}
        tasks = [task for plan in epoch.tasks for task in plan.tables]
        for task in tasks:
            ranges[task.table] = (*ranges.get(task.table, ()), *task.ranges)
            bounds[task.table] = task.bounds
        replays = frozenset(task.table for task in tasks if task.replay is not None)
        return InFlightEpoch(epoch=epoch, began=began, ranges=ranges, bounds=bounds, replays=replays)

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(sorted(self.ranges))


class EpochLoop:
    """The planner and the listener of Spark's query.

    `slots` returns how many tasks an epoch may have now; it is called only if records wait. With `once`, the loop dumps the
    records that Kafka holds at the first plan; after that, `plan` returns None.
    """

    def __init__(
        self,
        wiring: Wiring,
        kafka: KafkaView,
        owned_tables: OwnedTables,
        registrar: Registrar | NoRegistrar,
        reporter: Reporter,
        *,
        slots: Callable[[], int],
        once: bool,
        orders: OrderSource | None = None,
    ) -> None:
        self._wiring = wiring
        self._clock = wiring.ports.clock
        self._kafka = kafka
        self._owned_tables = owned_tables
        self._registrar = registrar
        self._reporter = reporter
        self._slots = slots
        self._orders = orders or NoInbox()
        self.most_tasks: int | None = None
        """The limit of tasks for which the last epoch was planned; None before the first."""
        self._transactions = OpenTransactions(wiring.ports.clock)
        wait = wiring.map.limits.transaction_wait_seconds
        self._once = OnceTarget(wait, self._transactions) if once else None
        self._in_flight: InFlightEpoch | None = None
        self._planned = 0
        self._sql_waits = self._was_idle = False
        self._isolation = FailureIsolation()
        self._lock = BusyLock(wiring.ports.clock, wiring.new_lock())
        self._steps = TableSteps(
            wiring=wiring, owned_tables=owned_tables, registrar=registrar, reporter=reporter, lock=self._lock
        )
        self._replays = Replays(wiring, owned_tables, self._steps, once=once)
        self.compactions = Compactions(wiring, owned_tables, self._steps, reporter)
        self._backlogs = Backlogs(self._steps.publish)
        self.settings = self._steps.settings
        """The settings for tasks by table; the loop adds tables when it takes them over."""

    def plan(self) -> PlannedEpoch | None:
        """Plan the next epoch; return None if no table is due.

        Raises Fenced, TakeOverLost, OwnedByLiveRun, and with `once` ServiceUnavailable; they end the run, as does a bug.
        """
        with self._lock:
            try:
                epoch = self._plan()
                self._was_idle = epoch is None
            except ServiceUnavailable as error:
                if self._once is not None:
                    raise
                self._tell_outages(error)
                return None
            self._tell_outages(None)
            return epoch

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        """Commit, promote and finalise each table of the epoch separately; the registrar follows in the background.

        A crash leaves each table either without a commit, so that its ranges are read again, or with a committed snapshot
        that the next start rolls forward.
        """
        with self._lock:
            in_flight = self._finish(number)
            self._steps.apply_registrar_events()
            tasks_done = self._clock.monotonic()
            self._isolation = self._isolation.succeeded(in_flight.tables)
            by_table: dict[str, list[TableManifest]] = {name: [] for name in in_flight.tables}
            for manifest in manifests:
                by_table[manifest.table].append(manifest)

            reports = self._steps.map_tables(
                [self._owned_tables.tables[name] for name in in_flight.tables],
                lambda table: self._publish(in_flight, table, by_table[table.name]),
            )
            self._reporter.epoch(
                EpochReport(
                    number,
                    tuple(report for report in reports if report is not None),
                    tasks_seconds=tasks_done - in_flight.began,
                    publish_seconds=self._clock.monotonic() - tasks_done,
                    tables=tuple(self._owned_tables.tables.values()),
                    tasks=len(in_flight.epoch.tasks),
                    most_tasks=self.most_tasks or 0,
                )
            )

    def on_failed(self, number: int, reason: str) -> None:
        """Handle an epoch whose job failed as a whole: commit nothing, and isolate the failing table.

        Replays are not isolated: they are tried again alone, and end if they fail then.
        """
        with self._lock:
            in_flight = self._finish(number)
            log.error(
                "the tasks of epoch %d failed, so it is not committed for any table: %s", number, reason
            )
            if self._replays.failed(in_flight.tables, reason):
                return
            self._isolation = self._isolation.failed(in_flight.tables)
            if self._isolation.everyone_failed():
                log.error(
                    "the tasks of every table fail: the cause is something they share (Kafka, HDFS, workers)"
                )
            for name in sorted(self._isolation.failing):
                error = TableError(
                    "task.killed",
                    f"{name}: its tasks died or raised an error; they read {first_ranges(in_flight.ranges[name])}: {reason}",
                    "look for these offsets in the tasks' logs; the run tries the table again by itself",
                )
                self._owned_tables.set_aside(self._owned_tables.tables[name], error)
            self._isolation = self._isolation.released(self._isolation.failing)

    def stuck_seconds(self) -> float:
        """Return for how many seconds planning or publishing has made no progress; 0 if neither is under way."""
        return self._lock.busy_seconds()

    def record_registrations(self) -> None:
        """At the end of a run, commit a snapshot for each table with changed registrations or newly complete partitions.

        Tables that were set aside are left out, even if their wait is over; otherwise the run would report them as dumped.
        """
        with self._lock:
            self._steps.apply_registrar_events()
            serving = [table for table in self._owned_tables.serving() if table.aside is None]
            self._steps.record_registrations(serving, ending=True)
            self._steps.keep_places()
            self._steps.drop_expired()

    def start_tables(self, *, with_sql: bool = False) -> None:
        """Start the tables before the first plan.

        Without `with_sql`, tables with SQL start at the second round of planning, because Spark takes seconds to plan a SELECT.
        """
        with self._lock:
            self._sql_waits = not with_sql and any(rule.sql is not None for rule in self._wiring.map.tables)
            self._steps.start_due(with_sql=with_sql)

    def _tell_outages(self, planning: ServiceUnavailable | None) -> None:
        tables = self._owned_tables.tables.values()
        self._reporter.outage(systems_away(planning, self._registrar.no_answer, tables), tables)

    def _finish(self, number: int) -> InFlightEpoch:
        in_flight, self._in_flight = self._in_flight, None
        assert in_flight is not None and in_flight.epoch.number == number
        return in_flight

    def _plan(self) -> PlannedEpoch | None:
        while True:
            round_began = self._clock.monotonic()
            self._steps.apply_registrar_events()
            fresh = self._once is not None and bool(self._once.missing)
            topics = self._kafka.cluster(fresh=fresh).topics
            self._owned_tables.refresh(topics)
            with_sql, self._sql_waits = not self._sql_waits, False
            self._steps.start_due(with_sql=with_sql)
            if self._once is None:
                self._steps.take_up_repaired()
            self._orders.take(self._owned_tables, self._steps, self._replays, self.compactions)
            self._steps.drop_expired()  # before the next letters are chosen, because those that have expired are left out
            ended = [*self._replays.step(was_idle=self._was_idle), *self.compactions.move()]
            for order in ended:
                self._orders.done(order)
            self._steps.keep_places()
            self._owned_tables.refresh(topics)  # a ledger that was read just now may name additional topics
            backlogs = self._compare()
            epoch = self._plan_due(backlogs)
            if epoch is None and not (with_sql and self._owned_tables.routed_by(self._kafka.topics)):
                continue  # tables with SQL must still start, or Kafka's topics have changed since they were routed
            if epoch is None and ended:
                continue  # the next order may be for a table whose last one has ended
            self._record(backlogs)
            self.compactions.assign_units(backlogs, {} if self._in_flight is None else self._in_flight.ranges)
            if epoch is not None:
                return epoch
            self._steps.look_for_fence()
            retry_at = self._next_try(self._once, round_began) if self._once is not None else None
            if retry_at is None:
                return None
            self._clock.sleep(max(retry_at - self._clock.monotonic(), 0.1))

    def _record(self, backlogs: Sequence[TableBacklog]) -> None:
        """Record registrations and complete partitions of the tables that are not in an epoch under way.

        A table whose wait ended after the look at Kafka is left out, because its backlog is not known.
        """
        busy = () if self._in_flight is None else self._in_flight.tables
        others = [backlog for backlog in backlogs if backlog.table not in busy]
        idle = [self._owned_tables.tables[backlog.table] for backlog in others if not backlog.records]
        waiting = [self._owned_tables.tables[backlog.table] for backlog in others if backlog.records]
        self._steps.record_idle(idle, waiting, is_busy=bool(busy))

    def _next_try(self, once: OnceTarget, round_began: float) -> float | None:
        """Return when to look again for records that were left out; None if all are dumped or were tried often enough.

        At the end, a table is set aside if Kafka lacks one of its topics or returned no offsets for it, so that the run does
        not look complete. The table's other topics are dumped.
        """
        tables = self._owned_tables.tables.values()
        retry_at = once.next_try(tables, round_began, self._clock.monotonic())
        if retry_at is None:
            for name, error in once.left_out(tables, self._clock.epoch_ms()).items():
                if (table := self._owned_tables.tables[name]).aside is None:
                    self._owned_tables.set_aside(table, error, until="for the rest of this run")
        return retry_at

    def _compare(self) -> list[TableBacklog]:
        """Compare Kafka with the ledger of each table that serves."""
        tables = self._owned_tables.serving()
        kafka_offsets = self._kafka.look(tables)
        looked_at = {table.name for table in tables}
        others = (table for name, table in self._owned_tables.tables.items() if name not in looked_at)
        self._transactions.update(tables, kafka_offsets, others)
        offsets_of = self._reliable_offsets(tables, kafka_offsets)
        if self._once is not None:
            self._once.note(tables, kafka_offsets)
        target = None if self._once is None else self._once.ends
        now = self._clock.now()
        # otherwise a newly created topic would be missing from the tables, and its records would count as read
        knows_all = self._owned_tables.routed_by(kafka_offsets.logs.cluster.topics)

        def read(table: Table) -> TableBacklog:
            logs, born_later = offsets_of[table.name].of(table.name), self._kafka.born_later
            ranges = self._backlogs.ranges_to_read(table, logs, born_later, now)
            if knows_all:
                self._owned_tables.completion.note_ends(table, logs, offsets_of[table.name].asked_at_ms)
            return self._backlogs.backlog(
                table=table, ranges=ranges, high=logs.high, now=self._clock.monotonic(), target=target
            )

        self._backlogs.count_lag_of_set_aside(self._owned_tables.set_aside_tables(), self._kafka)
        return self._steps.map_tables(tables, read)

    def _reliable_offsets(self, tables: Sequence[Table], seen: KafkaOffsets) -> dict[str, KafkaOffsets]:
        """Return the offsets for each table: `seen`, or a new look if `seen` contradicts the ledger, since it may be old."""
        doubtful = [table for table in tables if contradicts(table, seen.of(table.name))]
        newer = (
            dict.fromkeys((t.name for t in doubtful), self._kafka.look_again(doubtful, seen))
            if doubtful
            else {}
        )
        return {table.name: newer.get(table.name, seen) for table in tables}

    def _plan_due(self, backlogs: Sequence[TableBacklog]) -> PlannedEpoch | None:
        only = self._isolation.next_only()
        slots = self._count_slots(backlogs)
        plans = self._replays.lone_batch(slots) if only is None else ()
        if plans:
            return self._begin(plans)
        later = self._replays.tables_with_turn() if only is None else frozenset[str]()
        plans = plan_epoch(
            [backlog for backlog in backlogs if backlog.table not in later],
            self._wiring.map.limits,
            slots,
            self._clock.epoch_ms(),
            drain=self._once is not None,
            only_tables=only,
        )
        if only is None:
            plans += self._replays.batches_with(plans, slots)
        if not plans:
            if only is None:
                return None
            # the suspected tables have no records; to return None now would make a `once` run leave out all other tables
            self._isolation = self._isolation.succeeded(only)
            return self._plan_due(backlogs)
        return self._begin(plans)

    def _begin(self, plans: tuple[TaskPlan, ...]) -> PlannedEpoch:
        self._planned += 1
        self._in_flight = InFlightEpoch.begin(PlannedEpoch(self._planned, plans), self._clock.monotonic())
        return self._in_flight.epoch

    def _count_slots(self, backlogs: Sequence[TableBacklog]) -> int:
        """Return how many tasks the epoch may have, without asking Spark if neither records nor letters wait."""
        if all(b.records == 0 for b in backlogs) and not self._replays.is_waiting:
            return 1
        most = self._slots()
        if most != self.most_tasks:
            log.info("an epoch has at most %s now", counted(most, "task"))
            self.most_tasks = most
        return max(1, most - self.compactions.taken_slots)

    def _publish(
        self, in_flight: InFlightEpoch, table: Table, manifests: Sequence[TableManifest]
    ) -> TableReport | None:
        """Publish the table's part of the epoch. Returns None for a replay, because it reads no records to report."""
        owned = table.owned
        check_epoch(table.name, manifests, owned.ledger)
        if table.name in in_flight.replays:
            self._replays.publish(table, manifests)
            return None
        outcome = judge_manifests(
            table=table.name,
            planned=in_flight.ranges[table.name],
            manifests=manifests,
            dead_letter_share=table.rule.dead_letter_share,
            registered=owned.registered,
            cluster_id=self._kafka.cluster_id,
            location=table.location,
            bounds=in_flight.bounds[table.name],
        )
        change = with_places(self._wiring.ports.files, owned.state, table.rule, outcome.change)
        published = self._steps.publish(table, change)
        self._backlogs.note_epoch(table, in_flight.began, outcome.change.accounts)
        return TableReport(
            table=table.name,
            outcome=outcome,
            moves=published.moves,
            state=published.state,
            unregistered_before=owned.open_registrations,
        )
