"""A process whose table has the chores of a run: production's own, in production's order, with production's registrar.

Between its epochs, which are those of a LedgerCaller, it lets the chores do their steps, as the epoch loop does. A mutant gets a
copy of this module (variant.py), which must therefore import all production code that it drives.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from kafka2hive.config.keys import (
    Bucketing,
    CompletionOptions,
    DeadLetterOptions,
    HiveInterfaces,
    HiveOptions,
    KafkaOptions,
    Limits,
    Metrics,
    ServiceMap,
    SparkOptions,
    StorageOptions,
    TableRule,
)
from kafka2hive.ledger.snapshot.change import Compaction, DataEpoch
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.path import parent
from kafka2hive.model.snapshot import ComparedTable, Snapshot
from kafka2hive.service.hive.dropped import DropLookResult
from kafka2hive.service.hive.places import LocationCorrection, LocationLook
from kafka2hive.service.hive.registrar import LOOK_SECONDS, NoRegistrar, RegisteredInHive, Registrar
from kafka2hive.service.news.outbox import Outbox
from kafka2hive.service.run.chores import chores_of_a_run
from kafka2hive.service.run.inbox_watch import NoInbox, OrderSource
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import MapTable, Owned, Table, Unowned
from kafka2hive.service.wiring import Wiring
from tests.simulation.clock import SimulatedClock
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.ledger_caller import KEEP, LedgerCaller
from tests.simulation.metastore import SimulatedMetastore
from tests.simulation.namenode import FileNode
from tests.simulation.places import (
    DEAD_LETTER_LOCATION,
    DEAD_LETTER_TABLE,
    LEDGER,
    LEDGERS,
    SERVICE,
    TABLE,
    WAREHOUSE,
)
from tests.simulation.receivers import NAMES, SimulatedReceiver
from tests.simulation.service.driver import NoLock, SimulatedProcesses
from tests.simulation.service.maps import rule_of
from tests.simulation.snapshot_text import read_snapshot
from tests.simulation.topic import BUCKET_PATH, newest_ms
from tests.simulation.watch import EARLY, HIDDEN, VISIBLE, Violation, epoch_of
from tests.simulation.world import World

HIVE = HiveInterfaces(HiveOptions("hive", 10_000, "sim", None, "NONE", 60.0))
DELAY_SECONDS = 86_400.0
"""The map's `completion.delay`."""
DROPPED_SECONDS, FRESH_SECONDS = 86_400.0, 600.0
"""How long files stay after Hive has dropped their partition, and how long a look counts that has not found it (E4)."""
NIGHTS, NIGHT = 6, 90_000
"""Before one of so many epochs, and in pauses, up to so many seconds pass, because retention's times are hours and days."""
SLOW = 12
"""One of so many answers of Hive takes hours."""
Result = TypeVar("Result")


def table_rule() -> TableRule:
    """Return the table's rule in the map, with certificates, and without `retain` and `compact`."""
    return replace(
        rule_of(TABLE, ("flights",)),
        bucketing=Bucketing(path=BUCKET_PATH),
        completion=CompletionOptions(DELAY_SECONDS),
    )


def night_passes(world: World) -> None:
    """Let any part of a day pass."""
    world.later += int(world.below(NIGHT) / world.step_seconds)
    world.tell("(event)", "hours pass")


class CommandEnded(Exception):
    """A command has done its work."""


class WatchedFiles(SimulatedFileSystem):
    """A file system whose process checks each commit and each delete first."""

    process: "ChoreCaller"

    def rename(self, source: str, target: str) -> None:
        node = self.world.namenode.node(source)
        if target.endswith(".pending") and isinstance(node, FileNode):
            self.process.check_commit(parent(source), node.content)
        super().rename(source, target)

    def delete(self, path: str) -> bool:
        self.process.check_delete(path)
        return super().delete(path)


class SlowMetastore(SimulatedMetastore):
    """A metastore some of whose answers take hours if partitions expire, because the machine of the process was suspended."""

    def location(self, partition: HivePartition) -> str | None:
        if self._world.retains and self._world.rates.mutation and self._world.below(SLOW) == 0:
            night_passes(self._world)
        return super().location(partition)


class CountedOutbox(Outbox):
    """An outbox that counts how often a receiver is so far behind that a history is read for it, in small pieces."""

    world: World
    most_recent, most_read = 4, 3

    def _read_history(self, *arguments: Any) -> bool:
        self.world.count["snapshots of a history read for receivers"] += 1
        return super()._read_history(*arguments)


class WorldClock(SimulatedClock):
    """The clock of a process whose time is the world's. `now` stays constant, as in every SimulatedClock."""

    def __init__(self, world: World, hand_over: Callable[[], object]) -> None:
        super().__init__(hand_over)
        self._world = world

    def epoch_ms(self) -> int:
        return round(self._world.now * 1000)

    def monotonic(self) -> float:
        return self._world.now


class ChoreCaller(LedgerCaller):
    """A LedgerCaller that is the TableOwner of its table. `rule` is the table's in this process's map; `once` is as in a run."""

    file_system, metastore_port = WatchedFiles, SlowMetastore

    def __init__(self, *arguments: Any, rule: TableRule, has_hive: bool = True, once: bool = False) -> None:
        self.table = Table(MapTable(rule, LEDGER, topics=()))
        self.has_hive = has_hive
        super().__init__(*arguments)
        self.hive = arguments[1]
        assert isinstance(self.files, WatchedFiles)
        self.files.process = self
        self.stepped_at = self.world.now
        self.clock = WorldClock(self.world, self.files.hand_over)
        self.ports = replace(self.ports, clock=self.clock)
        self.metastore.is_fenced = self._is_fenced
        self.wiring = Wiring(
            ServiceMap(
                service=SERVICE,
                kafka=KafkaOptions((), "group", commit_group=False),
                storage=StorageOptions("sim://namenode", LEDGER.root, WAREHOUSE),
                hive=HIVE if has_hive else None,
                spark=SparkOptions(),
                limits=Limits(keep_snapshots=KEEP),
                dead_letters=DeadLetterOptions(DEAD_LETTER_TABLE, DEAD_LETTER_LOCATION),
                metrics=Metrics(),
                tables=(rule,),
                run_directory="-",
            ),
            self.ports,
            SimulatedProcesses(self.name),
            self.ports.concurrency,
            new_lock=NoLock,
        )
        self.registrar: Registrar | NoRegistrar = NoRegistrar()
        if has_hive:
            self.registrar = Registrar(self.metastore, lambda table: None, self.wiring.background, self.clock)
        self.chores = chores_of_a_run(self.wiring, self, self.registrar, Reporter(), once=once)
        self.orders: OrderSource = NoInbox()
        names = NAMES if self.world.mailboxes is not None else ()
        receivers = [SimulatedReceiver(self.world, name, self.files.hand_over) for name in names]
        self.news = CountedOutbox(
            receivers, self.files, self.wiring.background, self.clock, has_hive=has_hive
        )
        self.news.world = self.world

    @property
    def owned(self) -> Any:
        """The ledger that this process owns, None if it owns none."""
        ownership = self.table.ownership
        return ownership.ledger if isinstance(ownership, Owned) else None

    @owned.setter
    def owned(self, ledger: Any) -> None:
        rule = self.table.rule
        self.table.state = (
            Unowned(self.table.last_state)
            if ledger is None
            else Owned(ledger, rule.settings(rule.columns), admitted=True)
        )

    def _is_fenced(self) -> bool:
        return self.owned is not None and self.owned.directory not in self.world.namenode.directories

    # what the protocol says about each call

    def check_commit(self, directory: str, content: bytes) -> None:
        """Note what is dropped without Hive. Where early places retire, locations must have been right for long enough (K8)."""
        if b"\ndropped " not in content and b"\nretired " not in content:
            return
        snapshot, now = read_snapshot(content), self.world.now
        for line in snapshot.dropped:
            if line.epoch == snapshot.epoch and line.gone_since:
                self.world.drops.setdefault(line.partition, self.stepped_at)
        for new in (each for each in snapshot.retired if each.epoch == snapshot.epoch):
            before = read_snapshot(self.world.namenode.read(f"{directory}/e{snapshot.epoch - 1:06d}.final"))
            if new in before.retired:
                continue  # of a ledger that was rebuilt: its epochs count anew
            (right_since,) = (each.right_since for each in before.moved if each.partition == new.partition)
            met = max(self.metastore.put_back(new.partition), datetime.fromisoformat(right_since).timestamp())
            if now - met < self.world.keep_seconds and not self._is_fenced():
                raise Violation(f"{new} is retired {now - met:.0f} s after it may have been put back")

    def check_delete(self, path: str) -> None:
        """Check that looks have met the partition of a visible or hidden file absent for long enough (E4).

        A fenced process is left out: it does not know the looks of the owner. The last look must be fresh when the step begins
        that deletes.
        """
        if self._is_fenced() or path.startswith((LEDGERS, EARLY)) or not path.endswith((*VISIBLE, HIDDEN)):
            return
        place, now = parent(path), self.world.now
        table = DEAD_LETTER_TABLE if place.startswith(DEAD_LETTER_LOCATION) else TABLE
        home = HivePartition(table, "/".join(place.split("/")[-2:]), place)
        needs_look = self.has_hive or table in {each.table for each in self.owned.state.compared}
        if needs_look and self.stepped_at - self.metastore.missed.get(home.name, 0.0) > FRESH_SECONDS:
            raise Violation(f"{path} is deleted, but no look has just met its partition absent")
        for since in (self.world.drops.get(home, 0.0), self.hive.met.get(home.name, 0.0)):
            if now - since < DROPPED_SECONDS:
                raise Violation(
                    f"{path} is deleted {now - since:.0f} s after its partition was in Hive or dropped"
                )

    # TableOwner

    @property
    def tables(self) -> Mapping[str, Table]:
        return {self.table.name: self.table}

    def serving(self) -> list[Table]:
        return [self.table]

    def attempt(self, table: Table, work: Callable[[Table], Result]) -> list[Result]:
        return [work(table)]

    def map_tables(self, tables: Iterable[Table], work: Callable[[Table], Result]) -> list[Result]:
        return [work(table) for table in tables]

    def publish(self, table: Table, change: Any) -> None:
        """Publish a change of the epochs or of a chore; the first one says that Hive's tables were compared."""
        if compared := self.compared():
            change = replace(change, compared=compared)
        if isinstance(change, Compaction):
            self._count_move(change)
        change = replace(change, told=self.news.progress(table))
        before = self.owned.state
        self.owned = self.code.epoch.publish(self.ports, self.owned, change).owned
        self._check_visible()
        self._hand_on(before)

    def compared(self) -> tuple[ComparedTable, ...]:
        """Return Hive's tables, which match the map; none without Hive."""
        described = {"location": "", "format": "", "columns": "", "partition_columns": ""}
        names = (TABLE, DEAD_LETTER_TABLE) if self.has_hive else ()
        return tuple(ComparedTable(table=name, **described) for name in names)

    def _count_move(self, change: Compaction) -> None:
        count = self.world.count
        count["partitions moved"] += len({unit.partition for unit in change.units})
        first = min(epoch_of(file.staged) for file in change.files)
        count["units written during earlier epochs"] += first < self.owned.next_epoch
        came = [unit for unit in change.units if int(unit.last.split("-")[0][1:]) >= first]
        count["files that came while units were written"] += bool(came)

    def carry_out(self, table: Table, order: Any, result: Any = None) -> None:
        raise AssertionError("no orders are given")

    # a run's loop

    def start(self) -> None:
        """Start the table as before, and hand on what the ledger says, as a run does."""
        self.chores.forget(self.table)
        self.news.forget(self.table)
        last = self.table.last_state
        super().start()
        self._hand_on(last)

    def epoch(self) -> None:
        """Let the chores do their steps, then commit one epoch as before; some are the first after hours."""
        if self.world.retains and self.world.below(NIGHTS) == 0:
            night_passes(self.world)
        self.do_chores(is_idle=self.world.below(4) == 0)
        if self.world.mailboxes is not None:
            self.tell(most=self.world.below(3))
        super().epoch()
        if self.world.mailboxes is not None:
            self.tell(most=self.world.below(6))

    def tell(self, most: int) -> None:
        """Do what the threads of the receivers may do until the next epoch: at most so many steps for each of them."""
        self._apply_answers()
        for name in NAMES:
            for _ in range(most):
                if not self.news.tell_next(name):
                    break

    def do_chores(self, *, is_idle: bool) -> None:
        """Apply Hive's answers, then let the chores do their steps, as before each plan of a run."""
        self.stepped_at = self.world.now
        self._apply_answers()
        self.orders.take(self, self.chores)
        for order in self.chores.step(is_idle=is_idle):
            self.orders.done(order)
        for text in self.table.warnings.get("compaction", ()):
            if "[compact.sources]" in text or "[compact.home]" in text:
                raise Violation(f"nobody has touched the files of the table: {text}")

    def look(self) -> None:
        """Let all looks in Hive that are due be made and recorded; what was put back is set right by a second one."""
        assert isinstance(self.registrar, Registrar)
        self.world.later += int(LOOK_SECONDS / self.world.step_seconds) + 1
        for _ in range(2):
            while self.registrar.keep_locations():
                pass
            self.registrar.keep_dropped()
            self.do_chores(is_idle=True)
            self.registrar.register_pending()

    def rest(self) -> None:
        """Do what an idle run does: chores, their jobs, and the registrar's work."""
        self.do_chores(is_idle=True)
        self.chores.begin_jobs((), {})
        self.unregistered = self._register()

    def record(self) -> None:
        """Commit what Hive has confirmed, as an idle table does."""
        self._publish(self.code.draft.RegistrationUpdate(registered=self._registered()))

    def _publish(self, change: Any) -> None:
        self._apply_answers()
        if isinstance(change, DataEpoch):
            ends = {p.topic_partition: p.end for p in self.owned.state.positions}
            for each in change.accounts:
                ends[each.range.topic_partition] = max(ends[each.range.topic_partition], each.range.end)
            change = replace(change, newest_ms=newest_ms(min(ends.values())))
        self.publish(self.table, change)

    def _hand_on(self, before: Snapshot | None) -> None:
        known = () if before is None else (*before.unregistered, *before.withheld)
        self.registrar.enqueue(self.table.open_registrations, known)
        self.chores.watch(self.table)
        self.news.watch(self.table)

    def _apply_answers(self) -> None:
        self.chores.release()
        for event in self.registrar.take_events():
            match event:
                case RegisteredInHive(partitions):
                    owned = self.table.owned
                    confirmed = partitions & self.table.open_registrations
                    self.table.state = replace(owned, registered=owned.registered | confirmed)
                    self.news.watch(self.table)
                case LocationCorrection(partitions):
                    self.world.count["locations that were put back"] += len(partitions)
                case LocationLook() | DropLookResult():
                    if isinstance(event, LocationLook):
                        self.world.count["locations put back whose time ran"] += len(event.put_back)
                    self.chores.note(event)

    def _register(self) -> frozenset[HivePartition]:
        """Do what the registrar's thread may do until the next epoch."""
        if isinstance(self.registrar, Registrar):
            self.registrar.register_pending()
            if self.world.below(2):
                self.registrar.keep_locations()
            self.registrar.keep_dropped()
        return self.table.open_registrations

    def _registered(self) -> frozenset[HivePartition]:
        return self.table.owned.registered
