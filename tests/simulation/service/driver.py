"""A simulated process of a service: the real EpochLoop, OwnedTables and Registrar, with simulated tasks and without threads.

A mutant gets a copy of this module (variant.py), which must therefore import all production code that it drives.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import Any, TypeVar

from kafka2hive.config.keys import HiveInterfaces, HiveOptions, ServiceMap
from kafka2hive.ledger.condition_files import ConditionFiles
from kafka2hive.ledger.heartbeat import Heartbeat, ProcessIdentity
from kafka2hive.ledger.ports import Ports, RetryPolicy
from kafka2hive.model.errors import (
    ExitCode,
    Fenced,
    Kafka2HiveError,
    ManualActionRequired,
    OwnedByLiveRun,
    ServiceUnavailable,
    TakeOverLost,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.offsets import (
    OffsetRange,
    RangeAccounting,
    TopicPartition,
    name_in_kafka,
    topic_of,
)
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.table_directory import OWNER_MARKER
from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.model.text import utc_text
from kafka2hive.model.window_counts import WindowCount
from kafka2hive.plan.contract import (
    ClientCounts,
    PlannedEpoch,
    TableFailure,
    TableManifest,
    TableTask,
)
from kafka2hive.service.hive.registrar import Registrar
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.hive.table_looks import TableLooks
from kafka2hive.service.inspect.status import StatusResult, status
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.process import is_of_command, process_of
from kafka2hive.service.run.completion import CompletionTracker
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import HiveGate, ask_hive
from kafka2hive.service.run.inbox_watch import InboxWatch
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.result import exit_code, no_table_can_go_on, not_registered
from kafka2hive.service.run.telemetry.liveness import ConditionTeller
from kafka2hive.service.start.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.report import Reporter, TablePublication, TableStart
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.wiring import Wiring
from tests.simulation import tasks
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.metastore import Hive, SimulatedMetastore
from tests.simulation.places import DEAD_LETTER_TABLE, LEDGERS, location_of
from tests.simulation.service.kafka import Cluster, SimulatedKafka
from tests.simulation.service.maps import (
    BY_PATTERN,
    COLUMNS,
    COMPLETED,
    COUNTED,
    RIVALS,
    TABLES,
    columns_text,
    map_of,
)
from tests.simulation.service.reload_watch import ReloadWatch
from tests.simulation.tasks import Share, TaskFailed
from tests.simulation.topic import BEGAN_MS, account_of, windows_of
from tests.simulation.watch import Violation
from tests.simulation.world import World

SLOTS = 3
HIVE = HiveInterfaces(HiveOptions("hive", 10_000, "sim", None, "NONE", 60.0))
"""Runs that reload their maps wait for Hive before a table leaves, if the map has it."""
CONTAINED = ("bug", "ledger.repair_under_way", "ledger.spent", "table.not_owned", "task.wrong_epoch")
BUG_RATES = (0.002, 0.01, 0.03)
EDITS, ASKS, NEW_COLUMNS = 0.1, 0.5, 0.2
"""How often, in a round of a run, an operator changes the map, and asks a run with an older one for a reload."""
Result = TypeVar("Result")
PATIENCE = (0.2, 0.4, 0.8)
"""The waits of the ledger's retries, by which they are recognised; all other waits here are different."""
TOPICS_OF = {table: topics for tables in TABLES.values() for table, topics in tables.items()}
MANY = 5
"""So many take-overs by others also explain a retry: a look never sees the same directory twice."""


@dataclass(slots=True)
class Surroundings:
    """What the processes of one schedule share.

    `damaged` are the damaged tables, `stops` by table the error codes that set it aside. `version` is that of the map with which
    the next process starts. If `shares_time`, all processes have the cluster's clock; otherwise each has its own, and dates stand
    still. If `refuses_late`, late rows of the table with certificates become dead letters. If `waits`, tables wait until their
    records are worth a file. If `completes`, Hive gets partitions of the table with certificates when they are complete.
    `sources` has the topic that the table by a pattern reads, once it is committed. `moved` has the
    locations of tables whose map has another one than at the beginning, `moved_partitions` the locations that somebody has
    changed in Hive. `clusters` has the tables whose map names their Kafka cluster otherwise than at the beginning.
    If `has_bugs`, unexpected errors stop the work on tables. If `tables_vanish`, others drop tables in Hive, and runs look for
    theirs. If `takes_orders`, runs look into their inboxes. `versions` has each process's owner names and the version of its map,
    `tried` the files of letters that a process has decoded, each with the process.
    If `reloads`, runs take the newest map while they are alive; `absent` are the tables that it lacks, and if `edits`, operators
    go on changing it.
    """

    world: World
    hive: Hive
    cluster: Cluster
    damaged: frozenset[str] = frozenset()
    stops: dict[str, set[str]] = field(default_factory=dict)
    version: int = 0
    shares_time: bool = False
    refuses_late: bool = False
    waits: bool = False
    completes: bool = False
    tables_vanish: bool = False
    sources: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)
    moved_partitions: dict[str, str] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    takes_orders: bool = False
    has_bugs: bool = False
    absent: frozenset[str] = frozenset()
    reloads: bool = False
    edits: bool = False
    versions: list[tuple[set[str], int]] = field(default_factory=list)
    tried: set[tuple[str, str]] = field(default_factory=set)

    def version_of(self, owner: str) -> int:
        """Return the version of the map of the process with this owner name."""
        return next(version for names, version in self.versions if owner in names)

    def newest_map(self, service: str) -> ServiceMap:
        """Return what a service's file of the map holds now."""
        newest = map_of(
            service,
            self.version,
            tuple(self.moved.items()),
            self.refuses_late,
            self.waits,
            self.completes,
            tuple(self.clusters.items()),
        )
        tables = tuple(rule for rule in newest.tables if rule.table not in self.absent)
        hive = HIVE if self.reloads else None
        return replace(
            newest, tables=tables, hive=hive, fingerprint=f"{self.version}-{','.join(sorted(self.absent))}"
        )

    def edit(self, dice: Random) -> None:
        """Change the map of the service with two tables: its columns, or whether it has one of them."""
        tables = sorted(TABLES["sim"])
        if self.version + 1 < len(COLUMNS) and dice.random() < NEW_COLUMNS:
            self.version += 1
            self.world.tell("(event)", f"the maps have version {self.version}")
            return
        for topic_partition in self.cluster.topic_partitions(TOPICS_OF[dice.choice(tables)]):
            self.cluster.grow(topic_partition, dice.randrange(3))
        self.absent = frozenset() if self.absent else frozenset({dice.choice(tables)})
        self.world.tell("(event)", f"the map of sim lacks {sorted(self.absent)}")

    def location(self, table: str) -> str:
        """Return the table's location in the map."""
        return self.moved.get(table, location_of(table))


class WatchedClock(SimulatedClock):
    """The clock of a process, which checks each retry of a ledger step. Its wall clock is Kafka's."""

    process: "Process"

    def now(self) -> str:
        return utc_text(self.epoch_ms() / 1000) if self.process.around.shares_time else super().now()

    def monotonic(self) -> float:
        around = self.process.around
        return around.cluster.now_ms / 1000 if around.shares_time else super().monotonic()

    def epoch_ms(self) -> int:
        return BEGAN_MS + self.process.around.cluster.now_ms

    def passes(self, ms: int) -> None:
        """Let a call take time."""
        self._seconds += ms / 1000
        self.process.around.cluster.pass_time(ms)

    def sleep(self, seconds: float) -> None:
        if seconds in PATIENCE:
            self.process.check_retry()
        self.process.around.cluster.pass_time(round(seconds * 1000))
        super().sleep(seconds)


class WatchedFiles(SimulatedFileSystem):
    """A file system that checks what a take-over fences."""

    process: "Process"

    def rename(self, source: str, target: str) -> None:
        if source.startswith(LEDGERS):
            self.process.check_fence(source)
        super().rename(source, target)
        self.process.bugs.strike_at(target)

    def list(self, path: str) -> Any:
        self.process.bugs.strike_at(path)
        return super().list(path)

    def create(self, path: str) -> Any:
        self.process.bugs.strike_at(path)
        return super().create(path)


class WatchedOwnershipCheck(OwnershipCheck):
    """An ownership check that remembers the generation that it has approved."""

    process: "Process"

    def check(self, paths: LedgerPaths, location: str | None) -> Generation:
        judged = super().check(paths, location)
        self.process.judged[paths.table_directory] = judged.name
        return judged


class InjectedBug(Exception):
    """An unexpected error in the work on one table."""


class Bugs:
    """Raises InjectedBug at random calls of a process's work on a table, while the loop works and `rate` is not 0.

    The dice are not the world's, so that a schedule without bugs stays as it was. `pending` is the table whose work the last
    bug stopped, until the loop has set it aside.
    """

    def __init__(self, process: "Process", rate: float) -> None:
        self.rate = rate
        self.pending = ""
        self.raised = 0
        self.is_active = False
        self._process = process
        self._random = Random(f"bugs of {process.name} of {process.world.seed}")
        bugs = self

        class BuggyTable(Table):
            __slots__ = ()

            @property
            def owned(self) -> Owned:
                bugs.strike(self.name)
                return super().owned

        self.table_class = BuggyTable

    def strike(self, table: str) -> None:
        around = self._process.around
        if not self.is_active or not around.has_bugs or self._random.random() >= self.rate:
            return
        self.raised += 1
        self.pending = table
        self._process.world.count["bugs in a table's step"] += 1
        self._process.world.tell(self._process.name, f"a bug in the work on {table}")
        raise InjectedBug(table)

    def strike_at(self, path: str) -> None:
        """Raise if the path is of a table's ledger or files, whose step this must be."""
        if not self.is_active:
            return
        for table in self._process.tables.tables:
            location = self._process.around.location(table)
            if path.startswith((f"{LEDGERS}/{table}/", location + "/")) or path == f"{LEDGERS}/{table}":
                self.strike(table)

    def during(self, work: Callable[[], Result]) -> Result:
        self.is_active = True
        try:
            return work()
        finally:
            self.is_active = False
            self.pending = ""


class NoLock:
    """A lock that is always free: each process has one greenlet."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        return


class SimulatedProcesses:
    """The Processes port: each process has its own host, so no process knows that another is gone."""

    def __init__(self, name: str) -> None:
        self._me = ProcessIdentity(name, "boot", 1, 1)

    def me(self) -> ProcessIdentity:
        return self._me

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return False


class WatchedTables(OwnedTables):
    """OwnedTables that check why a table is set aside, and that it does not continue too early."""

    process: "Process"

    def refresh(self, topics: Collection[str]) -> None:
        super().refresh(topics)
        for table in self.tables.values():
            table.__class__ = self.process.bugs.table_class

    def set_aside(self, table: Table, error: Kafka2HiveError, until: str | None = None) -> None:
        bugs = self.process.bugs
        was_active, bugs.is_active = bugs.is_active, False
        self.process.check_cause(table, error)
        super().set_aside(table, error, until)
        bugs.is_active = was_active

    def take_over(self, table: Table) -> TableStart:
        started = super().take_over(table)
        self.process.check_visible(table.owned)
        if table.owned.state.unregistered:
            self.process.world.count["pending registrations carried"] += 1
        return started

    def carry_out(self, table: Table, order: Any, result: str = "done") -> Any:
        before = table.aside is not None and not table.hive.refusals
        published = super().carry_out(table, order, result)
        if before and table.aside is None:
            raise Violation(f"{table.name} was set aside, and an order has ended that")
        self.process.check_visible(table.owned)
        self.process.finished += 1
        return published

    def publish(self, table: Table, change: Any) -> TablePublication:
        self.process.check_entry(table)
        published = super().publish(table, change)
        self.process.check_topics(table)
        self.process.check_compared(table)
        self.process.check_visible(table.owned)
        self.process.check_certified(table.owned)
        self.process.finished += 1
        return published


@dataclass(slots=True)
class EveryOther:
    """A policy for completeness: open partitions are complete during half of the seconds, so that some records come late.

    Once nobody produces any more, all are complete, unless the cluster is hesitant.
    """

    cluster: Cluster
    name: str = "every other"

    def complete(self, partitions: Sequence[OpenPartition], through_ms: int) -> frozenset[HivePartition]:
        if through_ms // 1000 % 2 or not (self.cluster.growing or self.cluster.hesitant):
            return frozenset(each.partition for each in partitions)
        return frozenset()


@dataclass(frozen=True, slots=True)
class Order:
    """How a process is started."""

    service: str = "sim"
    once: bool = False
    take_over: bool = False
    beats: bool = False


class Process:
    """One process. It is `settled` once a plan finds nothing to do while it owns every table."""

    def __init__(
        self,
        around: Surroundings,
        name: str,
        order: Order,
        hand_over: Callable[[], None] = lambda: None,
        spawn_twin: Callable[[Share], None] = lambda share: None,
    ) -> None:
        world = around.world
        self.around = around
        self.world = world
        self.name = name
        self.order = order
        self.spawn_twin = spawn_twin

        def a_call() -> None:
            self.clock.passes(around.cluster.a_call())
            hand_over()

        self.files = WatchedFiles(world, name, a_call)
        self.files.process = self
        self.bugs = Bugs(self, BUG_RATES[len(name) % len(BUG_RATES)])
        self.judged: dict[str, str] = {}
        self.clock = WatchedClock(hand_over)
        self.clock.process = self
        self.born = len(world.namenode.generations)
        self.finished = 0
        self.settled = False
        self.troubles: tuple[tuple[str, Kafka2HiveError], ...] = ()
        self._seen = (0, world.arrived, self.born)
        self._hive_seen = 0
        self._hive_changes = around.hive.ddl.changes
        self._retries = 0
        self._round_began_ms = 0
        attempts, blocked = 2 + world.below(3), 1 + world.below(3)
        retry_policy = RetryPolicy(attempts=attempts, blocked_attempts=blocked, denied_attempts=blocked)
        ports = Ports(self.files, AnyOrder(world.below), self.clock, world.uuid, retry_policy)
        self.dice_of_reloads = Random(f"reloads of {name} of {world.seed}")
        self.wiring = Wiring(
            around.newest_map(order.service),
            ports,
            SimulatedProcesses(name),
            AnyOrder(world.below),
            new_lock=NoLock,
        )
        around.versions.append((self.wiring.owner_names, self.version))
        owner = self.wiring.new_owner()
        self.me = process_of(owner)
        root = self.wiring.map.storage.ledger_root
        self.kafka = kafka = SimulatedKafka(world, around.cluster, self.files.failed, self.clock.passes)
        self.beat = Heartbeat(ports, root, order.service, owner, self.wiring.processes.me())
        self.ownership = WatchedOwnershipCheck(ports, root, self.wiring.processes, take_over=order.take_over)
        self.ownership.process = self
        self.metastore = SimulatedMetastore(world, around.hive, name, hand_over)
        catalogue = Catalogue(self.wiring.map, self.metastore)
        self.tables = WatchedTables(
            self.wiring,
            self.ownership,
            LostLedgerCheck(kafka, None, self.wiring),
            catalogue,
            CompletionTracker(self.clock, True, lambda rule, table: EveryOther(around.cluster)),
            HiveGate(
                catalogue.spec,
                lambda question: ask_hive(self.metastore.tables, catalogue, question),
                lambda table: None,
                DEAD_LETTER_TABLE,
            ),
        )
        self.tables.process = self
        self.view = KafkaView(kafka, self.clock)
        looks = TableLooks(catalogue, self.metastore.tables, self.clock) if around.tables_vanish else None
        self.registrar = Registrar(
            self.metastore, catalogue.ensure, self.wiring.background, self.clock, tables=looks
        )
        self.loop = EpochLoop(
            self.wiring,
            self.view,
            self.tables,
            self.registrar,
            Reporter(),
            slots=lambda: SLOTS,
            once=order.once,
            orders=InboxWatch(self.wiring) if around.takes_orders else None,
        )
        self.reloads = ReloadWatch(self)

    @property
    def version(self) -> int:
        """The version of the process's map."""
        return int(self.wiring.map.fingerprint.partition("-")[0])

    @property
    def has_newest_map(self) -> bool:
        return self.wiring.map.fingerprint == self.around.newest_map(self.order.service).fingerprint

    def _live_with_the_map(self) -> None:
        """Let an operator change the map's file, or ask this run to take it."""
        dice = self.dice_of_reloads
        if self.around.edits and dice.random() < EDITS:
            self.around.edit(dice)
        if not self.order.once and not self.has_newest_map and dice.random() < ASKS:
            self.loop.reload.ask_by_signal()

    def check_entry(self, table: Table) -> None:
        """Check that the table's entry is that of the process's map. Raises Violation."""
        rules = {rule.table: rule for rule in self.wiring.map.tables}
        if table.name != BY_PATTERN and rules.get(table.name) != table.rule:
            raise Violation(
                f"{self.name} works on {table.name}, which its map has as {rules.get(table.name)}"
            )

    def run(self) -> ExitCode:
        """Run until the process ends, with production's exit code. Raises Violation if it ends without a reason."""
        error: Kafka2HiveError | None = None
        unregistered: ServiceUnavailable | None = None
        try:
            unregistered = self._run()
        except (Fenced, TakeOverLost, OwnedByLiveRun, ServiceUnavailable) as ended:
            error = ended
        self.troubles = self.tables.troubles()
        errors = [trouble for _, trouble in self.troubles]
        code = exit_code(error, None, errors, unregistered)
        self.world.tell(self.name, f"ends with {int(code)}: {error or unregistered or errors}")
        self.world.count[f"ended with {int(code)}"] += 1
        self._check_end(code, error, errors)
        return code

    def status(self) -> StatusResult:
        """Return what `status` shows while no run is alive."""
        return status(self.wiring, self.kafka)

    def _check_end(
        self, code: ExitCode, error: Kafka2HiveError | None, set_aside: Sequence[Kafka2HiveError]
    ) -> None:
        """Check that the exit code is that of docs/operations.md, and that it has a cause. Raises Violation."""
        number = int(code)
        if number == 73:
            self._check_lost(error)
        elif number == 72:
            if not isinstance(error, OwnedByLiveRun) or self.world.count["beats"] == 0:
                raise Violation(f"{self.name} ends with 72 though nobody beats: {error}")
        elif number == 69:
            lost = self.around.hive.ddl.vanished  # a table that was dropped after its partition was added
            if self.files.faults == 0 and self.metastore.failures == 0 and not lost:
                raise Violation(f"{self.name} ends with 69 though everything answered: {error}")
        elif error is not None:
            raise Violation(f"{self.name} ends with {number} after {error}")
        else:
            stopped = any(isinstance(one, ManualActionRequired) for one in set_aside)
            if number != (76 if stopped else 75 if set_aside else 0):
                raise Violation(f"{self.name} ends with {number}, set aside are {set_aside}")
            if number == 0:
                self._check_drained()
                self._check_no_rivals()

    def _run(self) -> ServiceUnavailable | None:
        """Run the loop. Return why a run of `--once` could not register everything, None if it did."""
        self.tables.refresh(self.view.cluster().topics)
        self.tables.check_all()
        self._beat()
        self.bugs.during(self.loop.start_tables)
        self.ownership.end_take_over()
        while True:
            self._mark()
            if self.around.reloads:
                self._live_with_the_map()
            self.reloads.note_round()
            epoch = self.bugs.during(self.loop.plan)
            self._beat()
            if epoch is not None:
                self.reloads.check_plan(epoch)
                self._work(epoch)
                if self.world.below(2):
                    self._register()
                continue
            tables = self.tables.tables.values()
            self.world.count["a table waits for more records"] += any(
                isinstance(t.state, Owned) and t.lag for t in tables
            )
            is_whole = len(tables) == len(self.wiring.map.tables)
            has_map = self.has_newest_map or not self.around.reloads
            self.settled = (
                is_whole
                and has_map
                and all(isinstance(t.state, Owned) and not t.lag and self._is_certified(t) for t in tables)
            )
            if self.order.once:
                return self._drained()
            self._register()
            if no_table_can_go_on(tables):
                return None
            self.clock.sleep(1.0 + self.world.below(20))

    def _is_certified(self, table: Table) -> bool:
        """Return whether each of the table's partitions is certified, and in Hive if it waited for that.

        What can never be certified is not awaited.
        """
        if table.rule.completion is None or self.world.uncertifiable == table.location:
            return True
        ledger = table.owned.ledger
        is_told = not ledger.released & table.open_registrations
        return is_told and not ledger.state.open and len(ledger.certified) == len(ledger.state.certificates)

    @property
    def has_snapshots_left(self) -> bool:
        """Return whether the table with certificates will have another snapshot, with which they would be written anyway."""
        table = self.tables.tables.get(COMPLETED)
        if table is None or not isinstance(table.ownership, Owned):
            return False
        return bool(table.ownership.state.open or table.ownership.state.unregistered)

    @property
    def is_fenced(self) -> bool:
        """Return whether another process owns a table that this one considers its own."""
        owned = [t.ownership.ledger for t in self.tables.tables.values() if isinstance(t.ownership, Owned)]
        return any(self.world.namenode.directory(ledger.directory) is None for ledger in owned)

    def _beat(self) -> None:
        if self.order.beats:
            self.world.count["beats"] += 1
            self.beat.send()

    def _work(self, epoch: PlannedEpoch) -> None:
        self.settled = False
        manifests: list[TableManifest] = []
        for plan in epoch.tasks:
            for t in plan.tables:
                location = self.tables.tables[t.table].location
                if t.replay is not None:
                    try:
                        manifests.append(self._replayed(plan.index, t, location))
                    except TaskFailed as failed:
                        self.loop.on_failed(epoch.number, str(failed))
                        return
                    continue
                closed = None if t.bounds is None else t.bounds.late_before_ms
                names = (t.ledger_id, t.generation, t.epoch)
                share = Share(plan.index, *names, t.ranges, t.table, location, closed)
                if self.world.random() < self.world.rates.twin:
                    self.world.count["twins"] += 1
                    self.spawn_twin(share)
                try:
                    staged = tasks.run_task(self.world, self.files, share)
                except TaskFailed as failed:
                    if self.world.below(2):
                        self.world.tell(self.name, f"epoch {epoch.number} fails: {failed}")
                        self.loop.on_failed(epoch.number, str(failed))
                        return
                    failure = TableFailure("task.storage", str(failed))
                    manifests.append(
                        TableManifest(
                            table=t.table,
                            task=plan.index,
                            generation=t.generation,
                            epoch=t.epoch,
                            failure=failure,
                        )
                    )
                    continue
                accounts = tuple(
                    RangeAccounting(plan.index, r, account_of(r, t.table, closed)) for r in t.ranges
                )
                epochs = tuple((r.topic_partition, 0) for r in t.ranges)
                manifests.append(
                    TableManifest(
                        table=t.table,
                        task=plan.index,
                        generation=t.generation,
                        epoch=t.epoch,
                        files=staged,
                        accounts=accounts,
                        delivered=tuple(map(_delivered, accounts)),
                        leader_epochs=epochs,
                        windows=_windows(t.ranges, t.table, closed) if t.table in COUNTED else None,
                    )
                )
        self.bugs.during(lambda: self.loop.on_epoch(epoch.number, manifests))

    def _replayed(self, index: int, t: TableTask, location: str) -> TableManifest:
        """Decode the letters of a file, and note that. Raises TaskFailed."""
        assert t.replay is not None
        self.around.tried.add((self.name, t.replay.path))
        return tasks.decode_letters(self.world, self.files, index, t, location)

    def _register(self) -> None:
        """Do the work of the registrar's thread, while the main greenlet rests."""
        self.registrar.register_pending()
        while self.registrar.keep_tables():
            pass

    def _drained(self) -> ServiceUnavailable | None:
        """End `--once` in order: certify, register with Hive, and record pending registrations."""
        self.bugs.during(self.loop.release_complete)
        self._register()
        self.bugs.during(self.loop.record_registrations)
        if self.order.beats:
            self.beat.end()
        unanswered = self.registrar.unanswered
        why = self.registrar.no_answer or MetastoreUnavailable("no answer yet")
        return not_registered(unanswered, why) if unanswered else None

    def _check_drained(self) -> None:
        """Check that everything that Kafka held at the start is dumped. Raises Violation."""
        first = self.kafka.first_view
        assert first is not None
        for table in self.tables.tables.values() if self.order.once else ():
            for tp in first.topic_partitions(table.topics):
                position = table.owned.state.position(tp)
                wanted = self.kafka.first_ends.get(tp)
                if position is None or wanted is None or position.end < wanted:
                    raise Violation(f"{self.name} ends with 0, {table.name} lacks {tp} up to {wanted}")

    def _check_no_rivals(self) -> None:
        """Check that of two topics with the same table name one is not read and is an error. Raises Violation."""
        first, last = self.kafka.first_view, self.kafka.last_view
        assert first is not None and last is not None
        asked = self.order.once and BY_PATTERN in TABLES[self.order.service]
        if asked and first.topics.keys() & last.topics.keys() >= RIVALS:
            raise Violation(f"{self.name} ends with 0, and one of {sorted(RIVALS)} is not read")

    def check_topics(self, table: Table) -> None:
        """Check that a table reads its topics, and of topics with the same table name always the same one. Raises Violation."""
        topics = frozenset(map(name_in_kafka, table.owned.state.topics))
        if topics - set(TOPICS_OF[table.name]) - RIVALS or (
            table.name == BY_PATTERN and not self._known_sources(topics)
        ):
            raise Violation(f"{self.name} reads {sorted(topics)} into {table.name}")

    def _known_sources(self, topics: frozenset[str]) -> bool:
        """Note the topics, and return whether there is at most one, always the same, that had no rival in some answer."""
        sources = self.around.sources
        if not sources and topics and not any(view & RIVALS == topics for view in self.around.cluster.shown):
            return False
        sources |= topics
        return len(sources) <= 1

    def check_cause(self, table: Table, error: Kafka2HiveError) -> None:
        """Check that a table was set aside for a fault of this round or for damage. Raises Violation."""
        self.world.tell(self.name, f"{table.name} is set aside: {error}")
        self.world.count["tables set aside"] += 1
        self.around.stops.setdefault(table.name, set()).add(error.code)
        if error.code in CONTAINED:
            self._check_contained(table, error)
        elif isinstance(error, ManualActionRequired):
            if table.name not in self.around.damaged:
                raise Violation(f"manual intervention would be needed: {error}")
            self.world.count["STOP of a damaged table"] += 1
        elif error.code == "route.conflict":
            self.world.count["a table that two new topics claim"] += 1
            if not self.kafka.seen | self.around.sources >= RIVALS:
                raise Violation(f"{self.name} has seen one topic for {table.name}: {error}")
        elif error.code == "kafka.unknown_topic":
            self.world.count["a topic of the map is not there"] += 1
            if not self.kafka.lacked.intersection({*TOPICS_OF[table.name], *table.topics, *table.vanished}):
                raise Violation(f"{self.name} misses a topic of {table.name} that is there: {error}")
        elif error.code == "table.paused":
            self.world.count["ended beside a paused table"] += 1
            if table.owned.state.paused is None:
                raise Violation(f"{self.name} says that {table.name} is paused: {error}")
        elif error.code == "kafka.open_transaction":
            self.world.count["ended behind an open transaction"] += 1
            if self.around.cluster.held_until_ms < self._round_began_ms:
                raise Violation(
                    f"{self.name} sets {table.name} aside though no transaction was open: {error}"
                )
        elif table.name not in self.around.damaged and not (self.causes() or self._hive_causes(error)):
            raise Violation(f"{self.name} sets {table.name} aside though nothing went wrong: {error}")

    def _check_contained(self, table: Table, error: Kafka2HiveError) -> None:
        if error.code == "bug":
            if self.bugs.pending != table.name:
                raise Violation(
                    f"{self.name} sets {table.name} aside for a bug of '{self.bugs.pending}': {error}"
                )
            self.bugs.pending = ""
            return
        if error.code != "ledger.repair_under_way":
            raise Violation(f"{self.name}: a bug that the run notices: {error}")
        self.world.count["a table waits for a command"] += 1
        if not any(owner is not None and is_of_command(owner) for owner in self._takers([table.name])):
            raise Violation(f"{self.name} waits for a command that has never taken {table.name}: {error}")

    def _hive_causes(self, error: Kafka2HiveError) -> bool:
        """Return whether Hive explains the error.

        Hive gave no answer since the round began, or another process has the table by a newer map, or has created or altered it
        since this process began: the registrar's errors arrive one round later.
        """
        ddl = self.around.hive.ddl
        if error.code in ("hive.refused", "hive.not_compared") and ddl.changes > self._hive_changes:
            self.world.count["two processes change a table in Hive"] += 1
            return True
        newer = self.version < self.around.version and error.code in ("hive.columns", "hive.partition")
        self.world.count["Hive's table is a newer map's"] += newer
        return newer or self.metastore.failures > self._hive_seen

    def check_compared(self, table: Table) -> None:
        """Check that the table that Hive last described to this process matches the map. Raises Violation.

        If Hive described none, the ledger must say that this table was compared, perhaps by another process.
        """
        columns, location = COLUMNS[self.version], self.around.location(table.name)
        seen = self.metastore.session.seen.get(table.name)
        if seen is not None and seen.fits(columns, location):
            return
        if seen is not None:
            raise Violation(f"{self.name} commits to {table.name}, which Hive has as {seen}")
        if (columns_text(self.version), location) not in {
            (c.columns, c.location) for c in table.owned.state.compared if c.table == table.name
        }:
            raise Violation(f"{self.name} commits to {table.name}, which was never compared with Hive's")
        self.world.count["dumped without Hive"] += 1

    def check_fence(self, source: str) -> None:
        """Check that only the owner that was judged is fenced. Raises Violation."""
        directory, _, name = source.rpartition("/")
        if Generation.parse(name) and self.judged.get(directory, name) != name:
            raise Violation(f"{self.name} fences {name}, which it has not judged")

    def check_retry(self) -> None:
        """Check that there is one retry or new take-over for each fault or late RPC. Raises Violation.

        Retries may come late: an error of one file waits for the other files of its epoch.
        """
        self.world.count["retries"] += 1
        if self.files.last.target.endswith("/" + OWNER_MARKER):
            return  # another process may have been faster, which is not a fault and explains no later retry
        self._retries += 1
        if self._retries > self.causes():
            raise Violation(f"{self.name} tries again though nothing went wrong, after {self.files.last}")

    def _mark(self) -> None:
        """Begin a new round: earlier faults explain nothing any more."""
        self._retries = 0
        self._seen = self._now()
        self._hive_seen = self.metastore.failures
        self._round_began_ms = self.around.cluster.now_ms

    def _now(self) -> tuple[int, int, int]:
        return self.files.faults, self.world.arrived, len(self.world.namenode.generations)

    def causes(self) -> int:
        """Count the faults of this process, the late RPCs of all, and series of take-overs by others."""
        faults, arrived, generations = (now - seen for now, seen in zip(self._now(), self._seen, strict=True))
        return faults + arrived + generations // MANY + self.bugs.raised

    def check_visible(self, owned: Any) -> None:
        """Check that everything committed before is visible to a process that continues. Raises Violation."""
        promoted = self.world.namenode.promoted
        lost = {loss.path for loss in owned.state.losses}
        missing = [f.final for f in owned.state.files if f.final not in promoted and f.final not in lost]
        if missing:
            raise Violation(f"{self.name} goes on although these are not visible: {missing}")

    def check_certified(self, owned: Any) -> None:
        """Check that certified partitions are registered, and read up to the time that they name. Raises Violation."""
        certificates = owned.state.certificates
        self.world.count["partitions complete"] += len(certificates)
        for each in certificates:
            place = each.partition
            known = self.around.moved_partitions.get(place.location, place.location)
            hive = self.around.hive
            if place.name in {waiting.name for waiting in owned.state.withheld}:
                continue
            is_shown = hive.registered.get((place.table, place.path)) in (place.location, known)
            if not is_shown and place.table in hive.ddl.vanished:
                self.world.count["certified while somebody dropped the table"] += 1
            elif not is_shown:
                raise Violation(f"{place} is certified and Hive does not have it")
            through_ms = int(datetime.fromisoformat(each.through).timestamp()) * 1000 - BEGAN_MS
            for tp in self.around.cluster.topic_partitions(TOPICS_OF[place.table]):
                topic = topic_of(self.around.clusters.get(place.table, ""), tp.topic)
                position = owned.state.position(TopicPartition(topic, tp.number))
                wanted = self.around.cluster.end_at(tp, through_ms)
                if (0 if position is None else position.end) < wanted:
                    raise Violation(f"{each} is certified, and {tp} not read up to {wanted}: {position}")

    def _check_lost(self, error: Kafka2HiveError | None) -> None:
        """Check that exit code 73 comes only after another process has taken over a table of this service. Raises Violation."""
        self.world.count["take-over lost" if isinstance(error, TakeOverLost) else "fenced"] += 1
        if isinstance(error, Fenced):
            directory, is_gone, _ = error.message.partition(" is gone: ")
            if not is_gone or self.world.namenode.directory(directory) is not None:
                raise Violation(f"{self.name} is fenced though its directory is there: {error}")
        takers = self._takers(TABLES[self.order.service])
        if not any(owner is None or not is_of_command(owner) for owner in takers):
            raise Violation(f"{self.name} ends with 73 though no other run has taken a table over: {error}")

    def _takers(self, tables: Iterable[str]) -> list[str | None]:
        """Return the owners that have taken one of these tables over since this process began, without this process."""
        takers = []
        for path in self.world.namenode.generations[self.born :]:
            directory, _, name = path.rpartition("/")
            generation = Generation.parse(name)
            assert generation is not None
            mine = generation.owner is not None and process_of(generation.owner) == self.me
            if not mine and any(directory.endswith("/" + table) for table in tables):
                takers.append(generation.owner)
        return takers


class Presence:
    """A run's heartbeat and the conditions of its tables, which take no simulated time."""

    def __init__(self, process: Process) -> None:
        wiring = process.wiring
        root, service, owner = wiring.map.storage.ledger_root, wiring.map.service, wiring.new_owner()
        ports = replace(wiring.ports, files=SimulatedFileSystem(process.world, f"{process.name}'s beat"))
        self._tables = process.tables
        self._beat = Heartbeat(ports, root, service, owner, wiring.processes.me())
        self._teller = ConditionTeller(ConditionFiles(ports, root, service, owner), process.clock)

    def show(self) -> None:
        self._beat.send()
        self._teller.note(list(self._tables.tables.values()))
        self._teller.write()

    def end(self) -> None:
        self._beat.end()


def _windows(ranges: Iterable[OffsetRange], table: str, closed: int | None) -> tuple[WindowCount, ...]:
    """Return the counts of the ranges' records by time."""
    return tuple(
        WindowCount(
            topic_partition=TopicPartition(topic, number),
            start=start,
            seconds=seconds,
            records=records,
            dead_lettered=dead,
            bytes=size,
            first=first,
            last=last,
        )
        for r in ranges
        for topic, number, start, seconds, records, dead, size, first, last in windows_of(r, table, closed)
    )


def _delivered(account: RangeAccounting) -> ClientCounts:
    """Return the client's counts, which equal the account."""
    r, counts = account.range, account.account
    return ClientCounts(
        range=r, begun=r.start, records=counts.read, absent=counts.absent, position=r.end, log_end=r.end
    )
