"""The epoch loop of one service: it plans epochs for Spark and publishes what the tasks return, under one lock.

Spark's query calls `plan`, then `on_epoch` or `on_failed`, never two of them at once. `plan` and `on_epoch` first apply the
registrar's events.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kafka2hive.model.errors import ServiceUnavailable, TableError
from kafka2hive.model.offsets import OffsetRange, first_ranges
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.text import counted
from kafka2hive.plan import TableBacklog, is_due, plan_epoch
from kafka2hive.plan.ceiling import with_ceilings
from kafka2hive.plan.contract import PlannedEpoch, TableManifest, TaskPlan
from kafka2hive.plan.failure_isolation import FailureIsolation
from kafka2hive.service.chores.chores import ChoreTasks
from kafka2hive.service.containment import Containment
from kafka2hive.service.hive.places import with_places
from kafka2hive.service.hive.registrar import NoRegistrar, Registrar
from kafka2hive.service.progress_lock import BusyLock
from kafka2hive.service.run.backlogs import Backlogs, contradicts
from kafka2hive.service.run.inbox_watch import NoInbox, OrderSource
from kafka2hive.service.run.map_reload import MapReload
from kafka2hive.service.run.once import OnceTarget
from kafka2hive.service.run.open_transactions import OpenTransactions
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.table_steps import TableSteps
from kafka2hive.service.tables.manifests import check_epoch, judge_manifests
from kafka2hive.service.tables.report import EpochReport, Reporter, TableReport
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.topics.kafka_view import KafkaOffsets, KafkaView
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InFlightEpoch:
    """The planned epoch that Spark works on, since `began` (monotonic seconds).

    By table, `ranges` has the ranges of all its tasks, and `bounds` the bounds of event time. `chore_tasks` are the tasks that
    chores have added.
    """

    epoch: PlannedEpoch
    began: float
    ranges: Mapping[str, tuple[OffsetRange, ...]]
    bounds: Mapping[str, EventBounds | None]
    chore_tasks: ChoreTasks

    @staticmethod
    def begin(epoch: PlannedEpoch, began: float, chore_tasks: ChoreTasks) -> "InFlightEpoch":
        ranges: dict[str, tuple[OffsetRange, ...]] = {}
        bounds: dict[str, EventBounds | None] = {}
        tasks = [task for plan in epoch.tasks for task in plan.tables]
        for task in tasks:
            ranges[task.table] = (*ranges.get(task.table, ()), *task.ranges)
            bounds[task.table] = task.bounds
        return InFlightEpoch(epoch=epoch, began=began, ranges=ranges, bounds=bounds, chore_tasks=chore_tasks)

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
        self._silent = frozenset[str]()
        self.no_plan: ServiceUnavailable | None = None
        """Why the last try to plan failed; None if it succeeded."""
        self.silences: Callable[[], Mapping[str, str | None]] = dict
        """Returns why a system is silent, by system; None if it answers. The run sets it."""
        self._isolation = FailureIsolation()
        self._lock = BusyLock(wiring.ports.clock, wiring.new_lock())
        self._steps = TableSteps(
            wiring=wiring,
            owned_tables=owned_tables,
            registrar=registrar,
            reporter=reporter,
            lock=self._lock,
            once=once,
        )
        self.chores = self._steps.chores
        self.reload = MapReload(wiring, kafka, owned_tables, self._steps, once=once)
        self._backlogs = Backlogs(self._steps.publish)
        self._steps.guard.forgetters.append(self._backlogs.forget)
        self._containment = Containment()
        self.settings = self._steps.settings
        """The settings for tasks by table; the loop adds tables when it takes them over."""

    def plan(self) -> PlannedEpoch | None:
        """Plan the next epoch; return None if no table is due.

        Raises Fenced, TakeOverLost, OwnedByLiveRun, and with `once` ServiceUnavailable; they end the run, as does a bug that
        belongs to no table.
        """
        with self._lock:
            if self._waits_for_storage():
                return None
            try:
                epoch = self._plan()
                self._was_idle = epoch is None
            except ServiceUnavailable as error:
                if self._once is not None:
                    raise
                self.no_plan = error
                return None
            self.no_plan = None
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

            tables = [self._owned_tables.tables[name] for name in in_flight.tables]
            reports = self._steps.map_tables(
                # a bug may have set a table aside after it was planned; its records are read again
                [table for table in tables if isinstance(table.ownership, Owned)],
                lambda table: self._publish_or_clean_up(in_flight, table, by_table[table.name]),
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

        Tasks of chores are not isolated: the chore tries them again alone.
        """
        with self._lock:
            in_flight = self._finish(number)
            log.error(
                "the tasks of epoch %d failed, so it is not committed for any table: %s", number, reason
            )
            tables = [self._owned_tables.tables[name] for name in in_flight.tables]
            self._steps.map_tables(
                [table for table in tables if isinstance(table.ownership, Owned)],
                lambda table: self._owned_tables.delete_uncommitted(table, table.owned.ledger),
            )
            if self.chores.failed(in_flight.tables, reason):
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

    def release_complete(self) -> None:
        """At the end of a run, certify what is complete by now of the tables that withhold partitions from Hive (G2).

        The registrar then gets these partitions before it ends.
        """
        with self._lock:
            self._steps.apply_registrar_events()
            serving = [table for table in self._owned_tables.serving() if table.aside is None]
            self._steps.record_registrations([t for t in serving if t.owned.state.withheld], ending=True)

    def record_registrations(self) -> None:
        """At the end of a run, commit a snapshot for each table with changed registrations or newly complete partitions.

        Tables that were set aside are left out, even if their wait is over; otherwise the run would report them as dumped.
        A table that Hive no longer refuses since the last plan stays set aside if a run of `--once` has not dumped it.
        """
        with self._lock:
            asides = [(t, t.aside) for t in self._owned_tables.set_aside_tables()]
            self._steps.apply_registrar_events()
            for table, aside in asides:
                if aside is not None and table.aside is None and self._once and self._once.is_behind(table):
                    self._owned_tables.keep_aside(table, aside)
            serving = [table for table in self._owned_tables.serving() if table.aside is None]
            self._steps.record_registrations(serving, ending=True)
            self.chores.end()

    def record_news(self) -> None:
        """At the end of a run, commit a snapshot for each table whose receivers have taken news since its last one."""
        with self._lock:
            self._steps.record_news([t for t in self._owned_tables.serving() if t.aside is None])

    def start_tables(self, *, with_sql: bool = False) -> None:
        """Start the tables before the first plan.

        Without `with_sql`, tables with SQL start at the second round of planning, because Spark takes seconds to plan a SELECT.
        """
        with self._lock:
            self._sql_waits = not with_sql and any(rule.sql is not None for rule in self._wiring.map.tables)
            self._steps.start_due(with_sql=with_sql)

    def _waits_for_storage(self) -> bool:
        """Return whether nothing is planned, because the storage takes no heartbeat: each step would wait for it in vain.

        Tables that an outage of any system has set aside are tried again as soon as it is over.
        """
        silent = frozenset(system for system, why in self.silences().items() if why is not None)
        for system in self._silent - silent:
            self._owned_tables.end_waits(system)
        self._silent = silent
        return "storage" in silent and self._once is None

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
            self._reload_map()
            topics = self._kafka.cluster().topics  # a reload has looked again
            with_sql, self._sql_waits = not self._sql_waits, False
            self._steps.start_due(with_sql=with_sql)
            self.reload.conclude()
            if self._once is None:
                self._steps.take_up_repaired()
            self._take_orders()
            ended = self.chores.step(is_idle=self._was_idle)
            for order in ended:
                self._orders.done(order)
            self._owned_tables.refresh(topics)  # a ledger that was read just now may name additional topics
            backlogs = self._compare()
            epoch = self._plan_due(backlogs)
            if epoch is None and not (with_sql and self._owned_tables.routed_by(self._kafka.topics)):
                continue  # tables with SQL must still start, or Kafka's topics have changed since they were routed
            if epoch is None and ended:
                continue  # the next order may be for a table whose last one has ended
            self._record(backlogs)
            self._end_trials(backlogs)
            self.chores.begin_jobs(backlogs, {} if self._in_flight is None else self._in_flight.ranges)
            if epoch is not None:
                return epoch
            self._steps.look_for_fence()
            retry_at = self._next_try(self._once, round_began) if self._once is not None else None
            if retry_at is None:
                return None
            self._clock.sleep(max(retry_at - self._clock.monotonic(), 0.1))

    def _reload_map(self) -> None:
        """Apply the reload that is prepared, if there is one. Between two epochs, because none is under way here."""
        before = self._owned_tables.tables
        self.reload.step()
        if self._owned_tables.tables is not before:
            self._isolation = FailureIsolation()  # a search among tables that are not the same any more

    def _take_orders(self) -> None:
        self._orders.take(self._steps, self.chores)
        self.reload.note_orders(self._orders.reloads())
        for order in self.reload.ended():
            self._orders.done(order)

    def _record(self, backlogs: Sequence[TableBacklog]) -> None:
        """Record registrations and complete partitions of the tables that are not in an epoch under way.

        A table whose wait ended after the look at Kafka is left out, because its backlog is not known. So is a table that was
        set aside since.
        """
        busy = () if self._in_flight is None else self._in_flight.tables
        serving = {table.name for table in self._owned_tables.serving()}
        others = [b for b in backlogs if b.table not in busy and b.table in serving]
        idle = [self._owned_tables.tables[backlog.table] for backlog in others if not backlog.records]
        waiting = [self._owned_tables.tables[backlog.table] for backlog in others if backlog.records]
        self._steps.record_idle(idle, waiting, is_busy=bool(busy))

    def _end_trials(self, backlogs: Sequence[TableBacklog]) -> None:
        """Let tables serve again that had failed, if their wait is over and all steps of this round but an epoch succeeded.

        A table that is due for an epoch stays on trial until it has published, because the epoch may be what fails.
        """
        is_once = self._once is not None
        idle = {b.table for b in backlogs if not (b.records if is_once else is_due(b))}
        tables = [t for t in self._owned_tables.serving() if t.is_on_trial and t.name in idle]
        self._steps.map_tables(tables, self._owned_tables.end_trial)

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
        """Compare Kafka with the ledger of each table that serves. Tables of a silent cluster are set aside."""
        for table in self._owned_tables.serving():
            if (silence := self._kafka.silent.get(table.cluster)) is not None:
                self._owned_tables.set_aside(table, silence)
        leaving = self.reload.leaving
        tables = [table for table in self._owned_tables.serving() if table.name not in leaving]
        kafka_offsets = self._kafka.look(tables)
        self._note_transactions(tables, kafka_offsets)
        held = [table for table in tables if isinstance(table.ownership, Owned)]
        offsets_of = self._reliable_offsets(held, kafka_offsets)
        tables = [table for table in tables if table.name in offsets_of]
        if self._once is not None:
            self._once.note(tables, kafka_offsets)
        target = None if self._once is None else self._once.ends
        now = self._clock.now()
        # otherwise a newly created topic would be missing from the tables, and its records would count as read
        knows_all = self._owned_tables.routed_by(kafka_offsets.logs.cluster.topics)

        def read(table: Table) -> TableBacklog:
            logs, born_later = offsets_of[table.name].of(table.name), self.reload.born_later(table)
            ranges = self._backlogs.ranges_to_read(table, logs, born_later, now)
            if knows_all:
                self._owned_tables.completion.note_ends(table, logs, offsets_of[table.name].asked_at_ms)
            return self._backlogs.backlog(
                table=table, ranges=ranges, high=logs.high, now=self._clock.monotonic(), target=target
            )

        self._backlogs.count_lag_of_set_aside(self._owned_tables.set_aside_tables(), self._kafka)
        return self._steps.map_tables(tables, read)

    def _note_transactions(self, tables: Sequence[Table], seen: KafkaOffsets) -> None:
        self._transactions.update(seen.logs)
        looked_at = {table.name for table in tables}
        for table in self._owned_tables.tables.values():
            logs = seen.logs if table.name in looked_at else None
            self._steps.guard.attempt(table, partial(self._transactions.show, logs=logs))

    def _reliable_offsets(self, tables: Sequence[Table], seen: KafkaOffsets) -> dict[str, KafkaOffsets]:
        """Return the offsets for each table: `seen`, or a new look if `seen` contradicts the ledger, since it may be old."""
        offsets: dict[str, KafkaOffsets] = {}
        doubtful: list[Table] = []
        for table in tables:
            for doubt in self._steps.guard.attempt(table, lambda t: contradicts(t, seen.of(t.name))):
                offsets[table.name] = seen
                doubtful += [table] if doubt else []
        if doubtful:
            offsets |= dict.fromkeys((t.name for t in doubtful), self._kafka.look_again(doubtful, seen))
        return offsets

    def _plan_due(self, backlogs: Sequence[TableBacklog]) -> PlannedEpoch | None:
        only = self._isolation.next_only()
        slots = self._count_slots(backlogs)
        extra = self.chores.lone_tasks(slots) if only is None else ChoreTasks()
        if extra.plans:
            return self._begin((), extra)
        later = self.chores.tables_with_turn() if only is None else frozenset[str]()
        plans = self._plan_records(
            [backlog for backlog in backlogs if backlog.table not in later], slots, only
        )
        if only is None:
            extra = self.chores.tasks_with(plans, slots)
        if not plans and not extra.plans:
            if only is None:
                return None
            # the suspected tables have no records; to return None now would make a `once` run leave out all other tables
            self._isolation = self._isolation.succeeded(only)
            return self._plan_due(backlogs)
        return self._begin(plans, extra)

    def _plan_records(
        self, backlogs: Sequence[TableBacklog], slots: int, only: frozenset[str] | None
    ) -> tuple[TaskPlan, ...]:
        """Plan the tasks that read records. If that raises an error, leave out the tables that cannot even be planned alone."""
        now_ms = self._clock.epoch_ms()

        def plan(part: Sequence[TableBacklog]) -> tuple[TaskPlan, ...]:
            limits = self._wiring.map.limits
            return plan_epoch(
                part if self._once is not None else with_ceilings(part, limits.backfill_bytes),
                limits,
                slots,
                now_ms,
                drain=self._once is not None,
                only_tables=only,
            )

        def alone(backlog: TableBacklog, table: Table) -> tuple[TaskPlan, ...]:
            return plan([backlog])

        planned = self._containment.attempt("planning an epoch", lambda: plan(backlogs))
        if not isinstance(planned, Exception):
            return planned[0]
        tables = self._owned_tables.tables
        fit = [b for b in backlogs if self._steps.guard.attempt(tables[b.table], partial(alone, b))]
        if len(fit) == len(backlogs):
            raise planned
        return plan(fit)

    def _begin(self, plans: tuple[TaskPlan, ...], extra: ChoreTasks) -> PlannedEpoch:
        self._planned += 1
        epoch = PlannedEpoch(self._planned, plans + extra.plans)
        self._in_flight = InFlightEpoch.begin(epoch, self._clock.monotonic(), extra)
        return self._in_flight.epoch

    def _count_slots(self, backlogs: Sequence[TableBacklog]) -> int:
        """Return how many tasks the epoch may have, without asking Spark if nothing waits."""
        if all(b.records == 0 for b in backlogs) and not self.chores.is_waiting:
            return 1
        most = self._slots()
        if most != self.most_tasks:
            log.info("an epoch has at most %s now", counted(most, "task"))
            self.most_tasks = most
        return max(1, most - self.chores.taken_slots)

    def _publish_or_clean_up(
        self, in_flight: InFlightEpoch, table: Table, manifests: Sequence[TableManifest]
    ) -> TableReport | None:
        """Publish as `_publish`. If nothing was committed, delete the staged files, which would use up the quota."""
        ledger = table.owned.ledger
        try:
            return self._publish(in_flight, table, manifests)
        finally:
            staged = frozenset(file.staged for manifest in manifests for file in manifest.files)
            self._owned_tables.delete_uncommitted(table, ledger, staged)

    def _publish(
        self, in_flight: InFlightEpoch, table: Table, manifests: Sequence[TableManifest]
    ) -> TableReport | None:
        """Publish the table's part of the epoch. Returns None for tasks of a chore, because they read no records."""
        owned = table.owned
        check_epoch(table.name, manifests, owned.ledger)
        if (chore := in_flight.chore_tasks.of(table.name)) is not None:
            chore.publish(table, manifests)
            return None
        outcome = judge_manifests(
            table=table.name,
            planned=in_flight.ranges[table.name],
            manifests=manifests,
            dead_letter_share=table.rule.dead_letter_share,
            registered=owned.registered,
            cluster_id=self._kafka.id_of(table.cluster),
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
