"""Processes of a table that is compacted: runs, and `compact`. Production's chores decide what is written, moved and retired.

Each start may have another map: without `compact`, or with another time zone.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from kafka2hive.config.keys import CompactOptions
from kafka2hive.ledger.inbox import CompactPartitions
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Completeness, DataEpoch, NoTracking
from kafka2hive.ledger.snapshot.compaction import may_move
from kafka2hive.model.text import utc_text
from kafka2hive.plan.contract import TableFailure, UnitAssignment, UnitResult, WrittenUnit
from kafka2hive.service.chores.command_owner import CommandOwner
from kafka2hive.service.compaction.command import _CompactReport, _move, _register, _retire
from kafka2hive.service.hive.places import with_places
from kafka2hive.service.hive.registrar import register_now
from kafka2hive.service.start.takeover import RegistrationOutcome
from kafka2hive.storage.port import StorageError
from tests.simulation.chore_caller import DELAY_SECONDS, CommandEnded, table_rule
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.ledger_caller import KEEP
from tests.simulation.order_caller import WITHDRAWALS, OrderCaller, waiting_orders
from tests.simulation.places import LOCATION
from tests.simulation.replay_command import ReplayCommand
from tests.simulation.tasks import Share, records_in
from tests.simulation.topic import DAY_MS, ends_ms

UNIT_BYTES, SEALED_UNIT_BYTES = 24, 1_500
"""The least `compact.target`, without and with footers in the files."""
ZONES = ("UTC", "Asia/Tokyo", "America/New_York")
KEEP_SECONDS, SHORT_SECONDS = 100.0, 10.0
"""The map's `compact.keep`."""
RETAIN_SECONDS = 30 * DAY_MS / 1000
CORES = 3
EPOCHS_PER_ORDER = 16
"""Before one of so many epochs an operator orders a compaction although no partition may move."""

Spawn = Callable[[str, Callable[[SimulatedFileSystem], None]], None]


class Units:
    """A UnitRunner: `spawn` starts a thread that writes the units of a job beside the epochs; None: `begin` writes them itself.

    `pace` and `gaps`: a result arrives at one of so many looks; one of so many units leaves sources out.
    """

    def __init__(self, process: "CompactingCaller", spawn: Spawn | None) -> None:
        self.pace, self.gaps = 3, 6
        self._process = process
        self._spawn = spawn
        self._end: Sequence[UnitResult] | Exception | None = None

    def cores(self) -> int:
        return CORES

    def begin(self, assignments: Sequence[UnitAssignment]) -> None:
        self._end = None
        write = partial(self._write_all, assignments)
        if self._spawn is None:
            write(self._process.files)
        else:
            self._spawn(f"unit{assignments[0].epoch}.{assignments[0].task}", write)

    def take(self) -> Sequence[UnitResult] | Exception | None:
        if self._spawn is not None and self._process.world.below(self.pace) < self.pace - 1:
            return None  # the others take longer
        end, self._end = self._end, None
        return end

    def _write_all(self, assignments: Sequence[UnitAssignment], files: SimulatedFileSystem) -> None:
        world = self._process.world
        results = [self._write(files, each) for each in assignments]
        failed = sum(each.failure is not None for each in results)
        world.count["units that failed"] += failed
        self._end = OSError("a task was killed") if failed and world.below(2) else results

    def _write(self, files: SimulatedFileSystem, assignment: UnitAssignment) -> UnitResult:
        """Stage the rows of the unit's first sources, mostly all of them."""
        world, sources = self._process.world, assignment.sources
        if (
            self._spawn and len(sources) > 1 and world.below(self.gaps) == 0
        ):  # the columns of the others differ
            sources = sources[: 1 + world.below(len(sources) - 1)]
        share = Share(assignment.task, assignment.ledger_id, assignment.generation, assignment.epoch, ())
        try:
            records = [record for path in sources for record in records_in(files.read(path))]
            stage = self._process.code.tasks.stage_compacted
            staged = stage(world, files, share, assignment.home, records)
        except StorageError as error:
            return UnitResult(assignment.task, failure=TableFailure("storage.unavailable", str(error)))
        world.count["units"] += 1
        return UnitResult(assignment.task, WrittenUnit(tuple(staged), len(sources), len(records)))


class CompactingCaller(OrderCaller):
    """An OrderCaller whose partitions begin early and move once they are complete."""

    def __init__(self, *arguments: Any, spawn_unit: Spawn | None = None) -> None:
        """`spawn_unit` starts a thread that writes units beside the epochs; None: this thread writes them itself."""
        super().__init__(*arguments, rule=table_rule())
        self.has_compact, self.zone = True, ZONES[0]
        self.units = Units(self, spawn_unit)
        self.chores.run_jobs_with(self.units)

    def start(self) -> None:
        """Start the table as before, often with another map."""
        self.world.count["units dropped"] += self.table.units_since is not None
        self.use_map(has_compact=self.world.below(4) > 0, zone=ZONES[self.world.below(len(ZONES))])
        super().start()

    def use_map(self, *, has_compact: bool, zone: str) -> None:
        self.has_compact, self.zone = has_compact, zone
        least = UNIT_BYTES if self.world.seal is None else SEALED_UNIT_BYTES
        compact = CompactOptions(
            target_bytes=least * (1 + self.world.below(4)),
            share=float(self._compacts_unasked()),
            keep_seconds=self.world.keep_seconds,
        )
        rule = table_rule()
        rule = replace(
            rule,
            bucketing=replace(rule.bucketing, zone=zone),
            compact=compact if has_compact else None,
            retain=RETAIN_SECONDS if self.world.retains else None,
            register="complete" if self.world.withholds and self.world.below(6) else "first",
        )
        self.version = (rule.compact, zone, rule.register)
        self.table.in_map = replace(self.table.in_map, rule=rule)

    def _compacts_unasked(self) -> bool:
        """Return whether the map lets runs compact without an order."""
        world = self.world
        return not world.compacts_by_order or world.orders.rest or world.below(4) == 0

    def epoch(self) -> None:
        """Let an operator order a compaction now and then, then commit one epoch as before."""
        world = self.world
        acts = world.compacts_by_order and not world.orders.rest and not waiting_orders(world)
        if acts and (self._has_complete() or world.below(EPOCHS_PER_ORDER) == 0):
            self.give(CompactPartitions(), withdraws=world.below(WITHDRAWALS) == 0)
        super().epoch()

    def _has_complete(self) -> bool:
        return bool(may_move(self.owned.state, self.owned.certified, DELAY_SECONDS))

    def _plan(self) -> Any:
        self.chores.begin_jobs((), {})
        change: Any = super()._plan()
        if not isinstance(change, DataEpoch):
            return change
        self.note_rows(self.owned)
        return with_places(self.files, self.owned.state, self.table.rule, cast(Any, change))

    def note_rows(self, ledger: OwnedLedger) -> None:
        """Note by which map the files of the next epoch get their places."""
        self.world.maps[ledger.generation.number, ledger.next_epoch] = (self.has_compact, self.zone)
        self.world.count["epochs without compact in the map"] += not self.has_compact
        self._note_map(ledger)

    def _note_map(self, ledger: OwnedLedger) -> None:
        is_complete = self.table.rule.registers_complete
        self.world.registers[ledger.generation.number, ledger.next_epoch] = is_complete

    def _complete(self) -> Any:
        """Complete open partitions in every third epoch, as before; the table is read through any time.

        That may be a time before the ends of the partitions' periods.
        """
        state, answer = self.owned.state, super()._complete()
        self._note_map(self.owned)
        if isinstance(answer, Completeness):
            answer = replace(answer, withholds=self.table.rule.registers_complete)
            if not answer.withholds:
                self.world.told_first.add((self.owned.generation.number, self.owned.next_epoch))
        elif isinstance(answer, NoTracking) and self.world.withholds and self.world.seed % 4:
            return None  # otherwise no partition would wait for long
        if isinstance(answer, Completeness) and answer.complete:
            ends = sorted({ends_ms(each.partition) for each in state.open})
            through = utc_text((ends[-1] + 2 * DAY_MS) // 1000)
            if self.world.below(4) == 0:
                through = utc_text(ends[self.world.below(len(ends))] // 1000)
            return replace(answer, through=max(through, state.tracking.through if state.tracking else ""))
        # the ledger's oracle does not tell a certificate that was not written from one that nobody asks for any more
        return None if isinstance(answer, NoTracking) and state.certificates else answer

    def _clean_up(self) -> None:
        self.code.cleanup.clean_up(self.ports, self.owned, LOCATION, KEEP, self.table.units_since)


class CompactingReplayCommand(ReplayCommand, CompactingCaller):
    """A process of `dead-letters replay`."""


class CompactCommand(CompactingCaller):
    """A process of `compact`: it takes the table over, does with production's loops what it can do, and ends."""

    def serve(self) -> None:
        with suppress(CommandEnded):
            super().serve()

    def epoch(self) -> None:
        self.use_map(has_compact=True, zone=self.zone)
        state = self.owned.state
        report = _CompactReport(state.table, state.early)
        owner = CommandOwner(self.ports, self.table.rule, self.owned, report.prepare)
        _move(self.wiring, owner, report, cast(Any, self.units))
        _register(owner, cast(Any, SimpleNamespace(register=self._register_now)))
        _retire(self.wiring, owner, report, self.metastore)
        self.world.count["commands that compact"] += 1
        raise CommandEnded

    def _register_now(self, pending: frozenset[Any]) -> RegistrationOutcome:
        return RegistrationOutcome(register_now(self.metastore, lambda table: None, pending).pending)
