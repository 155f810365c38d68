"""The units of an early partition while they are written, in the memory of one process: rule K3 of docs/protocol.md.

It also has what else a run and `kafka2hive compact` share: the options of a table, and the result of an order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import orjson

from kafka2hive.config.keys import CompactOptions, TableRule
from kafka2hive.ledger.early_files import EarlyFile, cut, own_early_files
from kafka2hive.ledger.inbox import Order
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Compaction
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, TableError
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import ORDER_DONE, CompactionUnit, EarlyPartition, Snapshot
from kafka2hive.plan.contract import UnitAssignment, WrittenUnit
from kafka2hive.storage.port import FileSystem

_MOST_NAMED = 10
"""Maximum number of partitions that an order's result names."""


def options_for(rule: TableRule, state: Snapshot, *, has_hive: bool) -> CompactOptions:
    """Return how an operator's command compacts the table: as the map says, or by the defaults if partitions are still early.

    Partitions stay early if the map has lost `compact`. Raises ConfigError (`compact.not_in_map`).
    """
    if rule.completion is None or not has_hive or (rule.compact is None and not state.early):
        raise not_in_map(state.table)
    return rule.compact or CompactOptions()


def not_in_map(table: str) -> ConfigError:
    return ConfigError(
        "compact.not_in_map",
        f"{table} has no `compact` section in the map: its partitions begin at their homes",
        "give the table `completion` and `compact`; partitions that begin after that can be compacted",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCounts:
    """The result of a compaction by order: how many partitions its owner has `moved`, and how many failed.

    `failed` has the errors of the first partitions that failed, by path.
    """

    moved: int
    failed_partitions: int
    failed: Mapping[str, str]

    @staticmethod
    def of(moved: int, errors: Mapping[str, str]) -> "CompactionCounts":
        named = dict(islice(sorted(errors.items()), _MOST_NAMED))
        return CompactionCounts(moved=moved, failed_partitions=len(errors), failed=named)

    @property
    def result(self) -> str:
        """The counts as text for the order's line in the ledger."""
        counts = {"moved": self.moved, "failed_partitions": self.failed_partitions, "failed": self.failed}
        return f"{ORDER_DONE} {orjson.dumps(counts).decode()}"

    @staticmethod
    def parse(result: str) -> "CompactionCounts":
        """Return the counts in the result of an order that was carried out."""
        return CompactionCounts(**orjson.loads(result.removeprefix(ORDER_DONE)))


@dataclass(slots=True)
class OrderedCompaction:
    """An order that a run is carrying out: the paths of the partitions `left` to move, and the errors of others by path."""

    order: Order
    options: CompactOptions
    left: set[str]
    moved: int = 0
    errors: dict[str, str] = field(default_factory=dict)

    def note_failed(self, path: str, error: Kafka2HiveError) -> None:
        if path in self.left:
            self.left.remove(path)
            self.errors[path] = str(error)

    def note(self, state: Snapshot) -> None:
        """Note which partitions have moved. One that is open again, or whose registration was given up, is not waited for."""
        early = {each.partition.path for each in state.early}
        stay = {e.partition.path for e in state.open} | {e.partition.path for e in state.forgotten}
        self.moved += len((self.left - early) & {each.partition.path for each in state.moved})
        self.left &= early - stay

    @property
    def result(self) -> str:
        return CompactionCounts.of(self.moved, self.errors).result


class PartitionUnits:
    """The units of one early partition: assigned to tasks, written, and still to be assigned.

    `since` is the lowest epoch in the names of their staged files. A crash leaves those files as orphans.
    """

    def __init__(self, owned: OwnedLedger, early: EarlyPartition, target_bytes: int) -> None:
        self.partition = early.partition
        self.since = owned.next_epoch
        self._generation = owned.generation.number
        self._ledger_id = owned.state.ledger_id
        self._target_bytes = target_bytes
        self._sources: list[EarlyFile] = []
        self._waiting: list[tuple[EarlyFile, ...]] = []
        self._assigned: dict[int, tuple[EarlyFile, ...]] = {}
        self._written: list[tuple[CompactionUnit, tuple[DataFile, ...]]] = []
        self._tasks = 0

    def is_of(self, owned: OwnedLedger) -> bool:
        """Return whether the units may still be committed.

        They must not after a start of the table, which deletes their files (R9), after a reset, which replaces their ledger,
        or once the partition's registration was given up.
        """
        if owned.state.ledger_id != self._ledger_id:  # after a reset, the numbers of generations begin again
            return False
        given_up = {each.partition for each in owned.state.forgotten}
        return owned.generation.number == self._generation and self.partition not in given_up

    @property
    def is_waiting(self) -> bool:
        """Return whether there are files that no unit has been assigned for."""
        return bool(self._waiting)

    @property
    def length(self) -> int:
        """The bytes of all known files."""
        return sum(file.length for file in self._sources)

    def move(
        self, files: FileSystem, owned: OwnedLedger, ready: Iterable[EarlyPartition], success_file: str
    ) -> Compaction | None:
        """List the early files that are not known yet, and return the partition's move if all units are written.

        `ready` are the partitions that may move. None: units wait or are under way, or new data has opened the partition.
        Raises TableError (`compact.sources`, `compact.home`), StorageError, Fenced, StateUnknown.
        """
        early = next((each for each in ready if each.partition == self.partition), None)
        if early is None:
            return None
        if len(self._sources) != early.files:
            self._add_sources(own_early_files(files, owned, early))
        if self._waiting or self._assigned:
            return None
        return self._change(early, success_file)

    def _add_sources(self, listed: Sequence[EarlyFile]) -> None:
        """Let new files wait for a unit. Later epochs have later names, so the known files are the first ones."""
        known = len(self._sources)
        if list(listed[:known]) != self._sources:
            raise TableError(
                "compact.sources",
                f"{self.partition.location} has other files than the {known} that are being compacted",
                "`kafka2hive verify -c MAP` names missing files; nothing was changed",
            )
        self._waiting += cut(listed[known:], self._target_bytes)
        self._sources = list(listed)

    def assign(self, most: int, epoch: int, planned_at_ms: int) -> list[UnitAssignment]:
        """Assign up to `most` units to tasks. `epoch` is the table's next one, which their staged files name."""
        home = replace(self.partition, location=other_place(self.partition.location, self.partition.path))
        assignments = []
        for interval in self._waiting[:most]:
            assignments.append(
                UnitAssignment(
                    sources=[file.path for file in interval],
                    home=home,
                    table_location=home.location.removesuffix("/" + home.path),
                    ledger_id=self._ledger_id,
                    generation=self._generation,
                    epoch=epoch,
                    task=self._tasks,
                    planned_at_ms=planned_at_ms,
                    target_bytes=self._target_bytes,
                )
            )
            self._assigned[self._tasks] = interval
            self._tasks += 1
        del self._waiting[:most]
        return assignments

    def note_written(self, assignment: UnitAssignment, written: WrittenUnit) -> None:
        """Note the files of a unit. Sources that it left out, because their columns differ, wait for another one."""
        interval = self._assigned.pop(assignment.task)
        if len(interval) > written.sources:
            self._waiting.insert(0, interval[written.sources :])
        unit = CompactionUnit(
            partition=assignment.home,
            task=assignment.task,
            first=interval[0].key,
            last=interval[written.sources - 1].key,
            sources=written.sources,
            rows=written.rows,
        )
        self._written.append((unit, written.files))

    def _change(self, early: EarlyPartition, success_file: str) -> Compaction:
        """Return the move. Raises TableError if the files' number of rows differs from the ledger's."""
        rows = sum(unit.rows for unit, _ in self._written)
        if rows != early.rows:
            raise TableError(
                "compact.sources",
                f"the files in {self.partition.location} hold {rows} rows, the ledger has {early.rows}",
                "`kafka2hive verify --contents -c MAP` names the file that was changed; nothing was changed",
            )
        return Compaction(
            files=tuple(file for _, files in self._written for file in files),
            units=tuple(unit for unit, _ in self._written),
            policy="compaction",
            success_file=success_file,
        )
