"""A process that calls the ledger's public steps as the rules allow: start, epochs, registration; R0 after any surprise.

It tests the ledger as a library, with more freedom than a run has: epochs of any size at any moment, cleanup in between, a
start with or without a check. tests/simulation/service drives the real service loop.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka2hive.ledger.ports import Ports, RetryPolicy
from kafka2hive.ledger.snapshot.change import Completeness, NoTracking
from kafka2hive.ledger.start import Owners
from kafka2hive.model.errors import AmbiguousOutcome, Fenced, ManualActionRequired, TableError, TakeOverLost
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import OffsetRange, Position, RangeAccounting
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import AddedColumn
from kafka2hive.service.tables.read_through import with_expiry
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.metastore import Hive, SimulatedMetastore
from tests.simulation.places import LEDGER, LOCATION, SERVICE
from tests.simulation.tasks import Share, TaskFailed
from tests.simulation.topic import TOPIC_PARTITIONS, account_of
from tests.simulation.watch import Violation
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.code import Production

KEEP = 2


class LedgerCaller:
    """One process, whose memory dies with it. `code` is the production code, or a mutant of it."""

    file_system, metastore_port = SimulatedFileSystem, SimulatedMetastore
    most_offsets = 4
    """How many offsets of a topic partition an epoch reads at most."""

    def __init__(
        self,
        world: World,
        hive: Hive,
        code: "Production",
        name: str,
        hand_over: Callable[[], None] = lambda: None,
        spawn_twin: Callable[[Share], None] = lambda share: None,
    ) -> None:
        self.world = world
        self.code = code
        self.name = name
        self.spawn_twin = spawn_twin
        self.files = self.file_system(world, name, hand_over)
        self.clock = SimulatedClock(hand_over)
        self.metastore = self.metastore_port(world, hive, name, hand_over)
        attempts, blocked = 2 + world.below(3), 1 + world.below(3)
        retry_policy = RetryPolicy(attempts=attempts, blocked_attempts=blocked, denied_attempts=blocked)
        self.ports = Ports(self.files, AnyOrder(world.below), self.clock, world.uuid, retry_policy)
        self.owners = Owners(lambda: f"sim-{1 + world.below(9)}-{world.uuid()}")
        self.owned: Any = None
        self.unregistered: frozenset[HivePartition] = frozenset()

    def serve(self) -> None:
        """Run until it is fenced, has lost or has no retries left. Raises Violation for a ManualActionRequired."""
        try:
            while True:
                try:
                    self.start()
                    while True:
                        self.epoch()
                except (AmbiguousOutcome, TableError, TaskFailed) as surprise:
                    self.world.tell(self.name, f"R0 after {surprise}")
                    self.world.count["fresh starts (R0)"] += 1
                    self.clock.sleep(1.0)
                    if self.world.below(8) == 0:
                        return
        except TakeOverLost as lost:
            if any(name in lost.message for name in self.owners.made):
                raise Violation(f"{self.name} lost against itself: {lost}") from lost
            self.world.count["take-over lost"] += 1
            self.world.tell(self.name, "LOST")
        except Fenced:
            self._count_fenced()
        except ManualActionRequired as stop:
            raise Violation(f"manual intervention would be needed: {stop}") from stop

    def start(self) -> None:
        """Start the table: R1 if it has no ledger, then R2 to R5 and R9."""
        self.owned = None
        code, world = self.code, self.world
        order = code.start.StartRequest(LEDGER, self._check, self.owners, LOCATION, KEEP)
        try:
            started = code.start.start(self.ports, order)
        except code.look.NoLedger:
            self._init()
            started = code.start.start(self.ports, order)
        self.owned = started.owned
        self.unregistered = frozenset(started.owned.state.unregistered)
        self._check_visible()
        if self.unregistered:
            world.count["pending registrations carried"] += 1
        world.tell(self.name, f"started g{self.owned.generation.number} after epoch {self.owned.state.epoch}")

    def epoch(self) -> None:
        """Commit one epoch: first positions, data, or pending registrations alone. Then register before the next epoch."""
        self._commit()
        self.unregistered = self._register()

    def _commit(self) -> None:
        change = replace(self._plan(), completeness=self._complete())
        if self.world.below(4) == 0:
            self._clean_up()
        self._publish(change)

    def _publish(self, change: Any) -> None:
        self.owned = self.code.epoch.publish(self.ports, self.owned, change).owned
        self._check_visible()

    def _clean_up(self) -> None:
        """Do R9 in the middle of a run."""
        self.code.cleanup.clean_up(self.ports, self.owned, LOCATION, KEEP)

    def _register(self) -> frozenset[HivePartition]:
        """Register what is pending. Return what stays pending."""
        unregistered = frozenset(self.owned.state.unregistered)
        registered: frozenset[HivePartition] = self.code.register.register(
            self.metastore, unregistered
        ).registered
        return unregistered - registered

    def _check_visible(self) -> None:
        """Check that everything committed before is visible to an owner that continues."""
        missing = [f.final for f in self.owned.state.files if f.final not in self.world.namenode.promoted]
        if missing:
            raise Violation(f"{self.name} goes on although these are not visible: {missing}")

    def _plan(self) -> Any:
        draft = self.code.draft
        positions = {p.topic_partition: p.end for p in self.owned.state.positions}
        if not positions:
            return draft.FirstPositions(positions=tuple(Position(tp, 0, 0) for tp in TOPIC_PARTITIONS))
        if self.unregistered and self.world.below(3) == 0:
            if self.owned.next_epoch % 2:
                return draft.NewColumns(added=(self._column(),), registered=self._registered())
            return draft.RegistrationUpdate(registered=self._registered())
        shares: list[tuple[OffsetRange, ...]] = []
        for topic_partition, start in positions.items():
            if end := self.world.below(self.most_offsets + 1):
                shares.append((OffsetRange(topic_partition, start, start + end),))
        if len(shares) == 2 and self.world.below(2):
            shares = [shares[0] + shares[1]]
        files: list[DataFile] = []
        for index, ranges in enumerate(shares):
            files += self._run(index, ranges)
        accounts = tuple(
            RangeAccounting(index, r, account_of(r, late_before_ms=self._expired_before_ms))
            for index, ranges in enumerate(shares)
            for r in ranges
        )
        return draft.DataEpoch(
            files=tuple(files),
            accounts=accounts,
            registered=self._registered(),
            bounds=with_expiry(None, self.owned.state),
        )

    @property
    def _expired_before_ms(self) -> int | None:
        """The bound of expired rows for the next epoch's tasks."""
        bounds = with_expiry(None, self.owned.state)
        return None if bounds is None else bounds.expired_before_ms

    def _complete(self) -> Any:
        """Complete the open partitions in every third epoch; nothing is drawn, so that the schedule's other choices stay."""
        state = self.owned.state
        if self.owned.next_epoch % 7 == 6:
            return NoTracking()
        if self.owned.next_epoch % 3:
            return None if self.owned.next_epoch % 2 else Completeness()
        self.world.count["partitions complete"] += len(state.open)
        return Completeness(
            through="2026-11-21T07:00:00Z",
            complete=frozenset(each.partition for each in state.open),
            policy="all",
            success_file="_SUCCESS",
        )

    def _column(self) -> AddedColumn:
        epoch = self.owned.next_epoch
        self.world.count["columns added"] += 1
        return AddedColumn(name=f"c{epoch}", type="int", schema=self.name, added_at="now", epoch=epoch)

    def _registered(self) -> frozenset[HivePartition]:
        """Return the registrations that Hive has confirmed since the newest snapshot."""
        return frozenset(self.owned.state.unregistered) - self.unregistered

    def _run(self, index: int, ranges: tuple[OffsetRange, ...]) -> tuple[DataFile, ...]:
        state, owned = self.owned.state, self.owned
        generation, epoch = owned.generation.number, owned.next_epoch
        expired = self._expired_before_ms
        share = Share(index, state.ledger_id, generation, epoch, ranges, late_before_ms=expired)
        if self.world.random() < self.world.rates.twin:
            self.world.count["twins"] += 1
            self.spawn_twin(share)
        files: tuple[DataFile, ...] = self.code.tasks.run_task(self.world, self.files, share)
        return files

    def _init(self) -> None:
        self.code.location.refuse_vanished_ledger(self.files, LOCATION, LEDGER.table_directory)
        self.code.init.init(self.ports, LEDGER, SERVICE, LOCATION)

    def _check(self) -> Generation | None:
        if self.world.below(2):
            return None
        checked: Generation = self.code.look.look(self.files, LEDGER).generation
        return checked

    def _count_fenced(self) -> None:
        last, count = self.files.last, self.world.count
        self.world.tell(self.name, "FENCED")
        if self.owned is not None and self.owned.generation.number + 2 <= len(
            self.world.namenode.generations
        ):
            count["zombie two generations late"] += 1
        if last.operation == "create":
            count["fenced at C1"] += 1
        elif last.operation == "rename" and last.target.endswith(".pending"):
            count["fenced at C2"] += 1
        elif last.operation == "rename" and DataFileName.parse(base_name(last.path)):
            count["fenced at R6"] += 1
        elif last.operation == "rename":
            count["fenced at R7"] += 1
