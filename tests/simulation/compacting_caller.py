"""A process of a table that is compacted: places early and final, units, moves, and the watch over the locations in Hive.

Each start may have another map: without `compact`, or with another time zone.
"""

from dataclasses import replace
from typing import Any

from kafka2hive.ledger.early_files import cut, with_places
from kafka2hive.ledger.snapshot.change import Compaction, Completeness, NoTracking
from kafka2hive.ledger.snapshot.compaction import may_move, watched_partitions
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import CompactionUnit, EarlyPartition
from kafka2hive.storage.port import StorageError
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.tasks import Share, TaskFailed, records_in
from tests.simulation.watch import Violation

UNIT_BYTES = 24
ZONES = 3
MOST_MOVED = 2


def closes_of(path: str, zone: int) -> str:
    """Return the end of the period of `dt=3/hr=1` in a time zone, as a text that sorts like time."""
    return _time(int(path.partition("/")[0].removeprefix("dt=")) + 1 + zone)


def _time(day: int) -> str:
    return f"9000-{day:06d}"


class CompactingCaller(LedgerCaller):
    """A LedgerCaller whose partitions begin early and move once they are complete."""

    _compacts = False
    has_compact, zone = True, 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.metastore.is_fenced = self._is_fenced
        self._checked: frozenset[HivePartition] = frozenset()

    def _is_fenced(self) -> bool:
        return self.owned is not None and self.owned.directory not in self.world.namenode.directories

    def start(self) -> None:
        """Start the table as before, often with another map, and look at the locations in Hive."""
        self.has_compact, self.zone = self.world.below(4) > 0, self.world.below(ZONES)
        super().start()
        self.keep_locations()

    def epoch(self) -> None:
        """Commit one epoch as before; look at the locations now and then."""
        super().epoch()
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
        """Look at the locations in Hive (K7)."""
        if self.owned is None:
            return
        watched = sorted(watched_partitions(self.owned.state))
        check = self.code.register.keep_locations(self.metastore, watched)
        self.world.count["locations that were put back"] += len(check.corrected)

    def _plan(self) -> Any:
        change = self._planned()
        self._compacts = isinstance(change, Compaction)
        return change

    def _planned(self) -> Any:
        state = self.owned.state
        if self.has_compact and self.world.below(2) == 0:
            complete = may_move(state, self.owned.certified)
            if complete:
                change = self._compact(complete[: 1 + self.world.below(2)])
                if change is not None:
                    return change
        change = super()._plan()
        if not hasattr(change, "closes"):
            return change
        paths = {f.hive_partition.path for f in change.files if f.kind is FileKind.DATA}
        closes = {path: closes_of(path, self.zone) for path in paths if self.has_compact}
        self.world.maps[self.owned.generation.number, self.owned.next_epoch] = (self.has_compact, self.zone)
        self.world.count["epochs without compact in the map"] += not self.has_compact
        placed = with_places(self.files, state, change, closes)
        self.world.count["moved partitions watched again"] += len(placed.moved)
        return placed

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

    def _compact(self, complete: tuple[EarlyPartition, ...]) -> Compaction | None:
        files: list[DataFile] = []
        units: list[CompactionUnit] = []
        for early in complete:
            try:
                sources = self.code.early_files.own_early_files(self.files, self.owned, early)
            except StorageError:
                return None
            except TableError as error:
                raise Violation(str(error)) from error
            for interval in cut(sources, UNIT_BYTES * (1 + self.world.below(4))):
                records: list[str] = []
                for source in interval:
                    try:
                        records += records_in(self.files.read(source.path))
                    except StorageError:
                        return None
                home = replace(
                    early.partition, location=other_place(early.partition.location, early.partition.path)
                )
                state = self.owned.state
                share = Share(
                    len(units), state.ledger_id, self.owned.generation.number, self.owned.next_epoch, ()
                )
                try:
                    files += self.code.tasks.stage_compacted(self.world, self.files, share, home, records)
                except StorageError as error:
                    raise TaskFailed(str(error)) from error
                units.append(
                    CompactionUnit(
                        partition=home,
                        task=share.index,
                        first=interval[0].key,
                        last=interval[-1].key,
                        sources=len(interval),
                        rows=len(records),
                    )
                )
        self.world.count["partitions moved"] += len(complete)
        self.world.count["units"] += len(units)
        return Compaction(
            files=tuple(files),
            units=tuple(units),
            policy="all",
            success_file="_SUCCESS",
            registered=self._registered(),
            most_moved=MOST_MOVED,
        )
