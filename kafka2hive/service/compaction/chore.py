"""Compaction in parallel with the epochs of a run: which units are written when, and when partitions move (docs/protocol.md).

Units under way are only in memory, so a run that ends, or takes a table over again, gives them up. An operator's order makes the
run compact what is complete now; the order stays in the inbox until a snapshot records its end.
"""

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Protocol
from zoneinfo import ZoneInfo

from kafka2hive.config.keys import CompactOptions
from kafka2hive.ledger.inbox import CompactPartitions, Order
from kafka2hive.ledger.snapshot.change import Compaction
from kafka2hive.ledger.snapshot.compaction import may_move
from kafka2hive.model.errors import AmbiguousOutcome, ConfigError, Kafka2HiveError, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.instant import instant_seconds
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.snapshot import EarlyPartition
from kafka2hive.model.text import counted
from kafka2hive.plan import TableBacklog
from kafka2hive.plan.contract import UnitAssignment, UnitResult
from kafka2hive.plan.epoch import is_due
from kafka2hive.service.chores.port import TableOwner, UnitRunner
from kafka2hive.service.compaction.units import OrderedCompaction, PartitionUnits, options_for
from kafka2hive.service.orders.answers import find_recorded
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 60.0, 3600.0
"""Seconds after which a partition that could not be compacted is tried again; the waits double."""
_DOUBLINGS = 6
_SLOTS, _ORDER = "compaction slots", "compaction order"
"""The subjects of a table's warnings."""


@dataclass(slots=True)
class _Job:
    """The job under way: units of one table, by the task in their assignments."""

    table: str
    units: PartitionUnits
    assignments: Mapping[int, UnitAssignment]


@dataclass(slots=True)
class _Failures:
    """How many times in a row a partition could not be compacted, when it is tried again, and why it failed last."""

    times: int = 0
    until: float = 0.0
    text: str = ""


@dataclass(slots=True)
class _TableWork:
    """What a run does to compact one table; `failures` is by partition path."""

    units: PartitionUnits | None = None
    turn: int = 0
    failures: dict[str, _Failures] = field(default_factory=dict)
    ordered: OrderedCompaction | None = None


class CompactionListener(Protocol):
    """Learns what becomes of each partition."""

    def moved(self, table: str, units: PartitionUnits, change: Compaction) -> None:
        """Note that the partition of `units` was moved by this change."""
        ...

    def failed(self, table: str, partition: HivePartition, error: Kafka2HiveError) -> None:
        """Note that the early `partition` could not be compacted."""
        ...


class CompactionChore:
    """The compaction of tables. Nothing is compacted before `runner` is set.

    `alone` says that no epochs run beside it, as in a command: then neither a pause of the table nor the number of cores limits
    an order, its units are written one at a time, and what fails is not tried again.
    """

    instruction = CompactPartitions

    def __init__(
        self,
        wiring: Wiring,
        owner: TableOwner,
        reporter: Reporter,
        listeners: Sequence[CompactionListener] = (),
        *,
        alone: bool = False,
    ) -> None:
        self.runner: UnitRunner | None = None
        self._wiring = wiring
        self._clock = wiring.ports.clock
        self._owner = owner
        self._reporter = reporter
        self._listeners = listeners
        self._alone = alone
        self._works: dict[str, _TableWork] = {}
        self._job: _Job | None = None
        self._turns = 0
        self._ended: list[Order] = []

    def forget(self, table: Table) -> None:
        """Drop all memory of a table. Its order is in the inbox, and begins again; files of its units are orphans."""
        table.units_since = None
        self._works.pop(table.name, None)

    @property
    def taken_slots(self) -> int:
        """How many tasks an epoch must leave to the units under way."""
        return 0 if self._job is None else len(self._job.assignments) * self._wiring.map.limits.tasks_per_core

    def keep(self, waiting: Collection[str]) -> None:
        """Forget orders that somebody withdrew: their ids are not in `waiting`, which has the ids in the inbox."""
        for name, work in self._works.items():
            if work.ordered is not None and (order := work.ordered.order).id not in waiting:
                log.info("%s: order %s from %s was withdrawn", name, order.id, order.given_by)
                self._forget(self._owner.tables[name], work)

    def begin(self, table: Table, orders: Sequence[Order], unread: Collection[str]) -> None:
        """Begin the order that was given first, unless an order of the table is under way.

        The order is for the partitions that may move now; if there are none, a snapshot records its end at once.
        `run --once` compacts nothing, so there the order waits for another run.
        """
        if orders:
            self._begin_order(table, orders[0])

    def _begin_order(self, table: Table, order: Order) -> None:
        work = self._works.setdefault(table.name, _TableWork())
        if work.ordered is not None:
            return
        state = table.owned.state
        try:
            options = options_for(table.rule, state, has_hive=self._wiring.map.hive is not None)
        except ConfigError as error:
            self._end(table, order, error)
            return
        ordered = OrderedCompaction(order, options, {each.partition.path for each in self._may_move(table)})
        if not ordered.left:
            self._end(table, order, ordered.result)
        elif self.runner is not None:
            work.ordered = ordered
            for path in ordered.left & work.failures.keys():
                work.failures[path].until = -math.inf
            partitions = counted(len(ordered.left), "partition")
            log.info("%s: order %s from %s: compacting %s", table.name, order.id, order.given_by, partitions)

    def _end(self, table: Table, order: Order, result: str | Kafka2HiveError) -> None:
        """Record the end of an order, unless the newest snapshot does: its commit may have had no clear answer."""
        if find_recorded(table.owned.state, order.id) is None:
            self._owner.carry_out(table, order, result)
        self._ended.append(order)

    def _forget(self, table: Table, work: _TableWork) -> None:
        """Forget the order, and the units of a partition that is open again: perhaps only an order goes on with them."""
        work.ordered = None
        table.warnings[_ORDER] = table.warnings[_SLOTS] = ()
        self._give_up(table, work)

    def step(self, *, is_idle: bool) -> None:
        """Note which units are written, and move the partitions whose units are all written.

        A crash leaves the partition early, or a committed move that the next start rolls forward.
        """
        if self._job is not None and self.runner is not None and (end := self.runner.take()) is not None:
            job, self._job = self._job, None
            if (owner := self._owner.tables.get(job.table)) is not None:  # a reload may have removed it
                self._owner.attempt(owner, lambda table: self._note(table, job, end))
        self._owner.map_tables([t for t in self._owner.serving() if t.name in self._works], self._move)

    def ended(self) -> list[Order]:
        ended, self._ended = self._ended, []
        return ended

    def _move(self, table: Table) -> None:
        work = self._works[table.name]
        self._show_failures(table, work)
        if work.units is not None:
            self._move_partition(table, work, work.units)
        if work.ordered is not None:
            self._end_order(table, work, work.ordered)

    def _end_order(self, table: Table, work: _TableWork, ordered: OrderedCompaction) -> None:
        ordered.note(table.owned.state)
        if not ordered.left:
            self._end(table, ordered.order, ordered.result)
            self._forget(table, work)

    def _move_partition(self, table: Table, work: _TableWork, units: PartitionUnits) -> None:
        owned = table.owned
        if not units.is_of(owned.ledger):
            self._give_up(table, work)
            return
        change = self._next_change(table, work, units)
        if change is None:
            return
        self._owner.publish(table, replace(change, registered=owned.registered))
        self._give_up(table, work)
        log.info(
            "%s: %s is compacted: %s with %d bytes became %s with %d bytes",
            table.name,
            units.partition.path,
            counted(sum(unit.sources for unit in change.units), "early file"),
            units.length,
            counted(len(change.files), "file"),
            sum(file.length for file in change.files),
        )
        self._reporter.compaction(table.name, moved=True)
        for listener in self._listeners:
            listener.moved(table.name, units, change)

    def _next_change(self, table: Table, work: _TableWork, units: PartitionUnits) -> Compaction | None:
        """Return the move of the partition if it is due. An error gives its units up, but never sets the table aside."""
        files, success_file = self._wiring.ports.files, table.rule.success_file
        try:
            return units.move(files, table.owned.ledger, self._ready(table), success_file)
        except StorageError as error:
            why: Kafka2HiveError = TableError("compact.storage", f"{units.partition.location}: {error}")
        except (TableError, AmbiguousOutcome) as error:
            why = error
        self._failed(table, work, units, why)
        return None

    def begin_job(
        self, backlogs: Sequence[TableBacklog], planned: Mapping[str, Sequence[OffsetRange]]
    ) -> None:
        """Begin a job of units, unless one is under way or a table lags, which means that it is due and has more records than
        the epoch reads.

        `planned` has the ranges of the epoch that was just planned, by table.
        """
        if self.runner is None:
            return
        lagging = [
            b.table for b in backlogs if is_due(b) and sum(map(len, planned.get(b.table, ()))) < b.records
        ]
        self._tell_what_orders_wait_for(lagging)
        if self._job is not None or lagging:
            return
        cores: int | None = None
        for table in self._candidates():
            if not any(self._owner.attempt(table, self._has_partition)):
                continue
            cores = self.runner.cores() if cores is None else cores
            jobs = self._owner.attempt(table, partial(self._new_job, cores))
            if jobs and (job := jobs[0]) is not None:
                self._job = job
                self.runner.begin(tuple(job.assignments.values()))
                return

    def _has_partition(self, table: Table) -> bool:
        work = self._works.setdefault(table.name, _TableWork())
        return work.units is not None or self._next_partition(table, work) is not None

    def _new_job(self, cores: int, table: Table) -> _Job | None:
        """Return the next job of a table that has a partition to compact; None if it has no units to write now."""
        if not (most := self._most(table, cores)):
            return None
        work = self._works[table.name]
        if (early := self._next_partition(table, work)) is not None:
            self._begin(table, work, early)
        if (units := work.units) is None or not units.is_waiting:
            return None
        self._turns += 1
        work.turn = self._turns
        assignments = units.assign(most, table.owned.ledger.next_epoch, self._clock.epoch_ms())
        log.info(
            "%s: compacts %s of %s",
            table.name,
            counted(sum(len(each.sources) for each in assignments), "early file"),
            units.partition.path,
        )
        return _Job(table.name, units, {each.task: each for each in assignments})

    def _candidates(self) -> list[Table]:
        """Return the tables that may be compacted now: first those with an order of an operator, then by their last turns."""
        waiting = [t for t in self._owner.serving() if any(self._owner.attempt(t, self._may_begin))]
        turns = {name: work.turn for name, work in self._works.items()}
        return sorted(waiting, key=lambda t: (self._ordered(t) is None, turns.get(t.name, 0), t.name))

    def _ordered(self, table: Table) -> OrderedCompaction | None:
        work = self._works.get(table.name)
        return None if work is None else work.ordered

    def _options(self, table: Table) -> CompactOptions | None:
        ordered = self._ordered(table)
        return table.rule.compact if ordered is None else ordered.options

    def _tell_what_orders_wait_for(self, lagging: Sequence[str]) -> None:
        """Show for each table with an order why no units are begun for it, if that may last."""
        serving = {table.name for table in self._owner.serving()}

        def tell(table: Table) -> None:
            if (ordered := self._ordered(table)) is None:
                return
            why = ""
            if table.name not in serving:
                why = "the table is set aside"
            elif table.owned.state.paused is not None:
                why = "the table is paused"
            elif lagging:
                why = f"{lagging[0]} lags, and records are read first"
            elif table.warnings.get(_SLOTS):
                why = "Spark has a single core, which records need"
            text = f"order {ordered.order.id} from {ordered.order.given_by} to compact waits: {why}"
            table.warnings[_ORDER] = (text,) if why else ()

        for table in self._owner.tables.values():
            self._owner.attempt(table, tell)

    def _may_begin(self, table: Table) -> bool:
        if table.owned.state.paused is not None and not self._alone:
            return False
        if self._ordered(table) is not None:
            return True
        options = table.rule.compact
        if options is None or not options.share:
            return False
        if options.at is None:
            return True
        now = datetime.fromtimestamp(self._clock.epoch_ms() / 1000, ZoneInfo(table.rule.bucketing.zone))
        return options.at.has(now.hour * 60 + now.minute)

    def _most(self, table: Table, cores: int) -> int:
        """Return how many units a job of the table may have; none if Spark has a single core.

        Cores that Spark may get later do not count: Spark starts the units first, and epochs would wait for all of them.
        """
        options = self._options(table)
        assert options is not None
        if self._alone:
            return 1
        if cores < 2:
            table.warnings[_SLOTS] = (
                "the run does not compact, because Spark has a single core, which records need:"
                f" `kafka2hive compact --table {table.name} -c MAP` does"
                " while the run is stopped",
            )
            return 0
        table.warnings[_SLOTS] = ()
        return min(cores - 1, max(1, int(cores * options.share)))

    def _next_partition(self, table: Table, work: _TableWork) -> EarlyPartition | None:
        """Return the partition to compact next; None if there is none, or if the partition that has units now may move.

        Of the partitions that may move and need not wait after a failure, it is the one whose period ended first; while an order
        is under way, only its partitions count. If late data has opened the partition that has units again, the others go first,
        because late data may come again and again.
        """
        now, may_move_now = self._clock.monotonic(), self._ready(table)
        if work.units is not None and any(e.partition == work.units.partition for e in may_move_now):
            return None
        waiting = {path for path, each in work.failures.items() if now < each.until}
        ready = [each for each in may_move_now if each.partition.path not in waiting]
        if work.ordered is not None:
            ready = [each for each in ready if each.partition.path in work.ordered.left]
        return min(ready, key=lambda each: (instant_seconds(each.closes), each.partition), default=None)

    def _begin(self, table: Table, work: _TableWork, early: EarlyPartition) -> None:
        options = self._options(table)
        assert options is not None
        units = PartitionUnits(table.owned.ledger, early, options.target_bytes)
        work.units, table.units_since = units, units.since
        self._next_change(table, work, units)  # lists its files; nothing is written yet

    def _ready(self, table: Table) -> tuple[EarlyPartition, ...]:
        """Return the partitions that may move; none if the map has no compaction any more and no order is under way."""
        return () if self._options(table) is None else self._may_move(table)

    def _may_move(self, table: Table) -> tuple[EarlyPartition, ...]:
        completion, ledger = table.rule.completion, table.owned.ledger
        if completion is None:
            return ()
        return may_move(ledger.state, ledger.certified, completion.delay_seconds)

    def _note(self, table: Table, job: _Job, end: Sequence[UnitResult] | Exception) -> None:
        """Note what a job has written. After a failure the units of the partition are given up."""
        work = self._works.get(job.table)
        if work is None or work.units is not job.units:
            return
        if isinstance(end, Exception):
            why = TableError(
                "compact.job", f"{job.units.partition.location}: {end}", "look at the tasks' log"
            )
            self._failed(table, work, job.units, why)
            return
        for result in end:
            if result.written is not None:
                job.units.note_written(job.assignments[result.task], result.written)
        failure = next((each.failure for each in end if each.failure is not None), None)
        if failure is not None:
            code = "compact.storage" if failure.code.startswith("storage.") else failure.code
            self._failed(table, work, job.units, TableError(code, failure.message, failure.remedy))

    def _failed(self, table: Table, work: _TableWork, units: PartitionUnits, error: Kafka2HiveError) -> None:
        """Give the units up, and let the partition wait; the table's other partitions and its records go on."""
        path = units.partition.path
        if work.ordered is not None:
            work.ordered.note_failed(path, error)
        failures = work.failures.setdefault(path, _Failures())
        wait = min(FIRST_WAIT * 2 ** min(failures.times, _DOUBLINGS), LONGEST_WAIT)
        failures.times += 1
        failures.until = self._clock.monotonic() + wait
        options = table.rule.compact
        again, when = ", and is tried again", f", and is tried again in {wait:.0f} s"
        if self._alone or options is None or not options.share:
            again = when = ""
        failures.text = f"{path} could not be compacted{again}: {error}"
        log.warning("%s: %s could not be compacted%s: %s", table.name, path, when, error)
        self._give_up(table, work)
        self._show_failures(table, work)
        self._reporter.compaction(table.name, moved=False)
        for listener in self._listeners:
            listener.failed(table.name, units.partition, error)

    def _show_failures(self, table: Table, work: _TableWork) -> None:
        """Show the failures of partitions that are still early, and forget the others."""
        state = table.last_state  # the table may be unowned for a moment
        early = {each.partition.path for each in state.early} if state is not None else set[str]()
        work.failures = {path: each for path, each in work.failures.items() if path in early}
        table.warnings["compaction"] = tuple(each.text for each in work.failures.values())

    def _give_up(self, table: Table, work: _TableWork) -> None:
        """Forget the units: they are committed, or their files are orphans."""
        work.units = table.units_since = None
