"""A process of a table that is compacted: places early and final, units, moves, and the watch over the locations in Hive.

Each start may have another map: without `compact`, or with another time zone.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from kafka2hive.ledger.early_files import with_places
from kafka2hive.ledger.snapshot.change import Compaction, Completeness, NoTracking
from kafka2hive.ledger.snapshot.compaction import counted_partitions, may_move, watched_partitions
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.snapshot import EarlyPartition
from kafka2hive.model.text import unix_seconds
from kafka2hive.plan.contract import UnitAssignment, WrittenUnit
from kafka2hive.storage.port import NotFound, StorageError
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.ledger_caller import KEEP, LedgerCaller
from tests.simulation.places import LOCATION
from tests.simulation.tasks import Share, TaskFailed, records_in
from tests.simulation.watch import Violation

UNIT_BYTES = 24
ZONES = 3
KEEP_SECONDS = 400.0
SHORT_SECONDS = 40.0

Spawn = Callable[[str, Callable[[SimulatedFileSystem], None]], None]


def closes_of(path: str, zone: int) -> str:
    """Return the end of the period of `dt=3/hr=1` in a time zone, as a text that sorts like time."""
    return _time(int(path.partition("/")[0].removeprefix("dt=")) + 1 + zone)


def _time(day: int) -> str:
    return f"9000-{day:06d}"


class CompactingCaller(LedgerCaller):
    """A LedgerCaller whose partitions begin early and move once they are complete."""

    _compacts = False
    has_compact, zone = True, 0
    footers: Any = None
    looks_at_start = True

    def __init__(self, *arguments: Any, spawn_unit: Spawn | None = None) -> None:
        """`spawn_unit` starts a thread that writes a unit beside the epochs; None: this thread writes units itself."""
        super().__init__(*arguments)
        self.spawn_unit = spawn_unit
        self.units: Any = None
        self._results: list[tuple[Any, UnitAssignment, WrittenUnit | None]] = []
        self.metastore.is_fenced = self._is_fenced
        self._checked: frozenset[HivePartition] = frozenset()

    def _is_fenced(self) -> bool:
        return self.owned is not None and self.owned.directory not in self.world.namenode.directories

    def start(self) -> None:
        """Start the table as before, often with another map, and look at the locations in Hive."""
        self.has_compact, self.zone = self.world.below(4) > 0, self.world.below(ZONES)
        super().start()
        if self.looks_at_start:
            self.keep_locations()

    def epoch(self) -> None:
        """Commit one epoch as before; look at the locations now and then."""
        super().epoch()
        if self._compacts:
            self.units = None
        if self.world.below(3) == 0:
            self.keep_locations()

    def _register(self) -> frozenset[HivePartition]:
        """Register what is pending as a run does, which compares the location of each partition once."""
        pending = frozenset(self.owned.state.unregistered)
        result = self.code.register.register(self.metastore, pending, self._checked)
        self._checked |= result.registered
        left: frozenset[HivePartition] = result.open_registrations
        return left

    def keep_locations(self) -> None:
        """Look at the locations in Hive (K7), and retire what was right for long (K8)."""
        if self.owned is None:
            return
        at = self.world.now
        keep, state = self.code.register.keep_locations, self.owned.state
        check = keep(
            self.metastore,
            sorted(watched_partitions(state)),
            is_counted=counted_partitions(state).__contains__,
        )
        kept = self.code.retire.keep_places(
            self.ports,
            self.owned,
            self.code.retire.Looks(dict.fromkeys(check.right, at), check.put_back),
            keep_seconds=self.world.keep_seconds if self.has_compact else math.inf,
            now=self.world.now,
            footer_of=self._footer_of,
            publish=self._publish_places,
        )
        if kept.problems:
            raise Violation(f"what has moved is not at home: {kept.problems}")
        again = keep(self.metastore, sorted(check.put_back))
        self.world.count["locations put back whose time ran"] += len(again.corrected)
        self.world.count["locations that were put back"] += len(check.corrected)

    def record_registrations(self) -> None:
        """Commit what Hive has confirmed, as an idle table does."""
        update = self.code.draft.RegistrationUpdate(registered=self._registered())
        self.owned = self.code.epoch.publish(self.ports, self.owned, update).owned

    def _publish_places(self, change: Any) -> Any:
        since = {m.partition: unix_seconds(m.right_since) for m in self.owned.state.moved}
        for each in change.retired:
            met = max(self.metastore.put_back(each), since[each] or self.world.now)
            if self.world.now - met < self.world.keep_seconds:
                raise Violation(
                    f"{each} is retired {self.world.now - met:.0f} s after it may have been put back"
                )
        change = replace(change, registered=self._registered())
        self.owned = self.code.epoch.publish(self.ports, self.owned, change).owned
        self.world.count["partitions retired"] += len(change.retired)
        self.world.count["retired partitions cleared"] += len(change.cleared)
        return self.owned

    def _footer_of(self, status: Any) -> Any:
        content = self.files.read(status.path)
        return None if self.footers is None else self.footers.of(content)

    def _plan(self) -> Any:
        change = self._planned()
        self._compacts = isinstance(change, Compaction)
        return change

    def _planned(self) -> Any:
        change = None
        if self.spawn_unit is not None:
            change = self._background(self.spawn_unit)
        elif self.has_compact and self.world.below(2) == 0:
            change = self._foreground()
        if change is not None:
            return change
        change = super()._plan()
        if not hasattr(change, "closes"):
            return change
        paths = {f.hive_partition.path for f in change.files if f.kind is FileKind.DATA}
        closes = {path: closes_of(path, self.zone) for path in paths if self.has_compact}
        self.world.maps[self.owned.generation.number, self.owned.next_epoch] = (self.has_compact, self.zone)
        self.world.count["epochs without compact in the map"] += not self.has_compact
        return with_places(self.files, self.owned.state, change, closes)

    def _complete(self) -> Any:
        """Complete open partitions in every third epoch, as before; an epoch that compacts asks for nothing.

        The table is read through any time, also one before the ends of the partitions' periods.
        """
        if self._compacts:
            return None
        state, answer = self.owned.state, super()._complete()
        if isinstance(answer, Completeness) and answer.complete:
            days = [int(each.partition.path.partition("/")[0].removeprefix("dt=")) for each in state.open]
            last = max(days) + 1 + ZONES
            through = _time(self.world.below(last) if self.world.below(4) == 0 else last)
            return replace(answer, through=max(through, state.tracking.through if state.tracking else ""))
        # the ledger's oracle does not tell a certificate that was not written from one that nobody asks for any more
        return None if isinstance(answer, NoTracking) and state.certificates else answer

    def _foreground(self) -> Compaction | None:
        """Write all units of one or two partitions, as `compact` does for one after the other."""
        complete = self._ready()
        if not complete:
            return None
        changes = []
        for early in complete[: 1 + self.world.below(2)]:
            units = self._units(early)
            while (change := self._move(units)) is None:
                assignments = units.assign(1, self.owned.next_epoch, 0)
                if not assignments:
                    return None  # a listing had no answer
                try:
                    for assignment in assignments:
                        units.note_written(assignment, self._write(self.files, assignment))
                except NotFound:
                    return None
                except StorageError as error:
                    raise TaskFailed(str(error)) from error
            changes.append(change)
        files = tuple(file for change in changes for file in change.files)
        return self._counted(
            replace(changes[0], files=files, units=tuple(unit for c in changes for unit in c.units))
        )

    def _background(self, spawn: Spawn) -> Compaction | None:
        """Note what other threads have written since, assign more of them, or return the move of their partition."""
        world = self.world
        if self.units is not None and (not self.units.is_of(self.owned) or world.below(40) == 0):
            world.count["units dropped"] += 1
            self.units = None
        results: list[tuple[Any, UnitAssignment, WrittenUnit | None]] = []
        if world.below(2):  # the others take longer
            results, self._results = self._results, []
        for units, assignment, written in results:
            if units is not self.units:
                continue
            if written is None:
                world.count["units that failed"] += 1
                units.note_failed([assignment])
            else:
                units.note_written(assignment, written)
        ready = self._ready() if self.has_compact else ()
        if self.units is None and ready:
            self.units = self._units(ready[world.below(len(ready))])
        if self.units is None or not self.has_compact:
            return None
        known = self.units.length
        change = self._move(self.units)
        world.count["files that came while units were written"] += 0 < known < self.units.length
        if change is not None:
            older = any(f"-e{self.owned.next_epoch:06d}-" not in file.staged for file in change.files)
            world.count["units written during earlier epochs"] += older
            return self._counted(change)
        for assignment in self.units.assign(1 + world.below(2), self.owned.next_epoch, 0):
            spawn(
                f"unit{assignment.epoch}.{assignment.task}", partial(self._run_unit, self.units, assignment)
            )
        return None

    def _run_unit(self, units: Any, assignment: UnitAssignment, files: SimulatedFileSystem) -> None:
        """Write a unit in another thread."""
        try:
            written = self._write(files, assignment)
        except StorageError:
            written = None
        self._results.append((units, assignment, written))

    def _ready(self) -> tuple[EarlyPartition, ...]:
        ready: tuple[EarlyPartition, ...] = may_move(self.owned.state, self.owned.certified)
        return ready

    def _units(self, early: EarlyPartition) -> Any:
        return self.code.units.PartitionUnits(self.owned, early, UNIT_BYTES * (1 + self.world.below(4)))

    def _move(self, units: Any) -> Compaction | None:
        try:
            change: Compaction | None = units.move(self.files, self.owned, self._ready(), "_SUCCESS")
        except StorageError:
            return None
        except TableError as error:
            raise Violation(str(error)) from error
        return change

    def _write(self, files: SimulatedFileSystem, assignment: UnitAssignment) -> WrittenUnit:
        """Stage the rows of the unit's first sources, mostly all of them. Raises StorageError."""
        sources = assignment.sources
        if (
            self.spawn_unit and len(sources) > 1 and self.world.below(6) == 0
        ):  # the columns of the others differ
            sources = sources[: 1 + self.world.below(len(sources) - 1)]
        records = [record for path in sources for record in records_in(files.read(path))]
        share = Share(assignment.task, assignment.ledger_id, assignment.generation, assignment.epoch, ())
        staged = self.code.tasks.stage_compacted(self.world, files, share, assignment.home, records)
        return WrittenUnit(tuple(staged), len(sources), len(records))

    def _counted(self, change: Compaction) -> Compaction:
        self.world.count["partitions moved"] += len({unit.partition for unit in change.units})
        self.world.count["units"] += len(change.units)
        return replace(change, registered=self._registered())

    def _clean_up(self) -> None:
        since = None if self.units is None else self.units.since
        self.code.cleanup.clean_up(self.ports, self.owned, LOCATION, KEEP, since)
