"""Somebody deletes compacted files, and early files beside them; the production's `recover` puts their rows back (K10).

The repair is killed at any of its calls, and run again. The draws come from another source, until the caller sets the former one.
"""

from collections import Counter
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.repair.compacted import DamagedUnit
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.recover.compacted import UnitSources
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoverRequest
from kafka2hive.service.recover.table import recover_table
from kafka2hive.service.start.takeover import RegistrationOutcome
from tests.simulation.metastore import Hive
from tests.simulation.places import LEDGER
from tests.simulation.snapshot_text import SnapshotText, ToldFile
from tests.simulation.tasks import Share, TaskFailed, records_in
from tests.simulation.topic import records_by_place
from tests.simulation.watch import Violation
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.code import Production
    from tests.simulation.compacting_caller import CompactingCaller

ONE_IN = 3
"""In one of so many schedules files are lost."""
KILLS, CALLS = 3, 40


class Killed(BaseException):
    """The command was killed; no handler of the production code catches it."""


def lose_and_repair(world: World, hive: Hive, code: "Production") -> bool:
    """Lose compacted files of one partition in some schedules, and repair them. Return whether anything was lost."""
    draw = Random(world.seed * 7 + 3)
    if draw.randrange(ONE_IN):
        return False
    world.random, world.bits = draw.random, draw.getrandbits
    from tests.simulation.oracle import history  # it imports the code that a mutant changes

    snapshots = history(world, LEDGER, world.rebuilt)
    homes = sorted({unit.partition for snapshot in snapshots for unit in snapshot.units})
    if not homes:
        return False
    home = homes[draw.randrange(len(homes))]
    lost = _lost_files(world, snapshots, home, draw)
    if not lost:
        return False
    early = other_place(home.location, home.path)
    small = [path for path in sorted(world.namenode.files_below(early)) if path in world.namenode.promoted]
    loses_early = not world.replays and draw.randrange(2) == 0
    lost_early = [path for path in small if loses_early and draw.randrange(2)]
    for path in (*lost, *lost_early):
        world.namenode.retire(path)
    world.count["compacted files lost"] += len(lost)
    world.count["early files lost beside them"] += bool(lost_early)
    request = RecoverRequest(refetch=tuple(lost), accept_loss=tuple(lost_early) if draw.randrange(2) else ())
    if not loses_early and draw.randrange(2) and len(small) == len(_sources(snapshots, home)):
        request = RecoverRequest(accept_loss=tuple(lost))
    for number in range(KILLS + 1):
        left = draw.randrange(CALLS) if number < KILLS else -1
        try:
            _Command(world, hive, code, f"repair{number}", left).run(request)
            break
        except Killed:
            world.count["repairs of compacted files killed"] += 1
    return True


def _lost_files(world: World, snapshots: list[SnapshotText], home: HivePartition, draw: Random) -> list[str]:
    files = [
        file.final
        for snapshot in snapshots
        for file in snapshot.files
        if file.kind == "compacted"
        and file.hive_partition == home
        and world.namenode.node(file.final) is not None
    ]
    return draw.sample(files, draw.randrange(1, len(files) + 1)) if files else []


def _sources(snapshots: list[SnapshotText], home: HivePartition) -> list[ToldFile]:
    early = other_place(home.location, home.path)
    return [f for s in snapshots for f in s.files if f.kind == "data" and f.hive_partition.location == early]


class _Command:
    """One process of `recover`, which is killed before its call number `left`; -1: it is not killed."""

    def __init__(self, world: World, hive: Hive, code: "Production", name: str, left: int) -> None:
        self.world, self.code, self.left = world, code, left
        self.process: CompactingCaller = code.compacting_caller.CompactingCaller(
            world, hive, code, name, self._hand_over
        )
        self.wiring = self.process.wiring

    def _hand_over(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    def run(self, request: RecoverRequest) -> None:
        ownership = SimpleNamespace(taking_over=lambda paths, location, announce: lambda: None)
        try:
            recover_table(
                wiring=self.wiring,
                view=look(self.process.files, LEDGER),
                request=request,
                ownership=cast(OwnershipCheck, ownership),
                register=self._register,
                repairs=Repairs(self.wiring, self._no_kafka, partial(_no_refetch), self._rewrite),
            )
        except Kafka2HiveError as error:
            raise Violation(f"lost compacted files cannot be repaired: {error}") from error

    def _register(self, pending: frozenset[HivePartition]) -> RegistrationOutcome:
        result = self.code.register.register(self.process.metastore, pending)
        return RegistrationOutcome(pending - result.registered)

    @staticmethod
    def _no_kafka() -> Any:
        raise AssertionError("no gap was accepted")

    def _rewrite(self, owned: OwnedLedger, unit: DamagedUnit, sources: UnitSources) -> tuple[DataFile, ...]:
        """Stage the records of the unit's lost files, from early files and from Kafka, as `rewrite_unit` does."""
        files = self.process.files
        again = {file.ranges for file in sources.missing}
        records: Counter[str] = Counter()
        for file in sources.present:
            if file.ranges not in again:
                records.update(records_in(files.read(file.final)))
        for ranges in again:
            for place, read in records_by_place(ranges).items():
                if place.path == unit.home.path and place.table == unit.home.table:
                    records.update(read)
        for file in unit.left:
            records -= Counter(records_in(files.read(file.final)))
        share = Share(unit.task, owned.state.ledger_id, owned.generation.number, owned.next_epoch, ())
        try:
            staged = self.code.tasks.stage_compacted(
                self.world, files, share, unit.home, sorted(records.elements())
            )
        except TaskFailed as error:
            raise Violation(f"the repair's files cannot be staged: {error}") from error
        return tuple(staged)


def _no_refetch(_owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
    raise AssertionError(f"{lost.final} was not named")
