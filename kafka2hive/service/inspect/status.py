"""`kafka2hive status`: the state of every table, from its ledger, its run's reports and Kafka. Only reads."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from kafka2hive.config.keys import TableRule
from kafka2hive.kafka.port import Kafka, Watermark
from kafka2hive.ledger.condition_files import read_conditions, read_outcomes
from kafka2hive.ledger.heartbeat import HeartbeatWatch, live_owners
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.inbox import Inbox, Order
from kafka2hive.ledger.look import View
from kafka2hive.ledger.retention import is_own
from kafka2hive.ledger.snapshot.expiry import reasons_to_keep
from kafka2hive.ledger.staged_files import StagedFiles, staged_files
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ServiceUnavailable, worst
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, Position, TopicPartition
from kafka2hive.model.paths.ledger import heartbeat_root
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import utc_text
from kafka2hive.service.inspect.state import (
    LastOutcome,
    NotRunning,
    OwnerLife,
    Runs,
    TableState,
    exit_code_of,
    state_of,
)
from kafka2hive.service.inspect.where import PartitionDrop
from kafka2hive.service.process import process_of
from kafka2hive.service.start.preview import KafkaLook, StartPreview, look_at_kafka
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.condition import Retrying, RunConditions, Stopped, TableCondition, decode
from kafka2hive.service.tables.ledgers import (
    apart,
    attempt,
    each_ledger,
    ledger_tables,
    literal_rules,
    no_answer_about,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.tables.read_through import expired_among
from kafka2hive.service.topics.routes import known_routes, routed_by_ledgers
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError, children

LAST_EPOCHS = 5
NO_RUNS = Runs(frozenset(), {})
First = TypeVar("First")
Second = TypeVar("Second")


@dataclass(frozen=True, slots=True)
class EpochStatus:
    """One of a table's last epochs; `written_at` is ISO 8601 UTC, by the writer's clock."""

    epoch: int
    written_at: str
    files: int
    rows: int
    account: OffsetAccounting


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    """A dropped Hive partition whose files are not known to be deleted. `files` and `length` (bytes): None if not counted."""

    partition: HivePartition
    drop: PartitionDrop
    files: int | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class RetentionStatus:
    """What has expired in a table: periods that ended at or before `expired_before` (ISO 8601 UTC, "" if none have).

    `retain_seconds` is the map's `retain`, None if it has none. `waits` has the paths of expired partitions that must not be
    dropped yet, and why, as far as the ledger knows it: `retain --plan` also looks for foreign files.
    """

    retain_seconds: float | None
    expired_before: str = ""
    dropped: tuple[DroppedFiles, ...] = ()
    waits: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table: its ledger (`view`), the `warnings` of its live run, and the `ends` of its topic partitions' logs.

    `ends` leaves out topic partitions for which Kafka did not answer. `last` is what the last run reported; None if a live
    run owns the table, or if the table was taken over after that report. `retention` is None if partitions stay forever.
    `longest_interval` is the most seconds between two epochs while records wait; None if the map does not have the table.
    `staged` are the files in the staging directory; None if they were not listed. `in_hive` are partitions that
    Hive is known to have by the last epochs, although their registrations are pending again.
    """

    view: View
    state: TableState
    owner_life: OwnerLife
    warnings: tuple[str, ...]
    ends: Mapping[TopicPartition, Watermark]
    last_epochs: tuple[EpochStatus, ...]
    last: LastOutcome | None = None
    retention: RetentionStatus | None = None
    longest_interval: float | None = None
    staged: StagedFiles | None = None
    in_hive: frozenset[HivePartition] = frozenset()
    attainment: Attainment | None = None
    """How long the table met its objective, as its live or last run reported it."""

    @property
    def not_in_hive(self) -> tuple[HivePartition, ...]:
        """The pending registrations of partitions that Hive is not known to have."""
        return tuple(each for each in self.view.state.unregistered if each not in self.in_hive)

    @property
    def name(self) -> str:
        return self.view.paths.table

    def lag_of(self, position: Position) -> int | None:
        """Return the topic partition's lag in offsets; None if Kafka did not answer."""
        end = self.ends.get(position.topic_partition)
        return None if end is None else max(end.offset - position.end, 0)

    @property
    def lag(self) -> int | None:
        """The table's lag in offsets; None if Kafka did not answer, or if the table has no positions yet."""
        lags = [lag for p in self.view.state.positions if (lag := self.lag_of(p)) is not None]
        return sum(lags) if lags else None


@dataclass(frozen=True, slots=True)
class TableWithoutLedger:
    """A table that has no ledger yet; `condition` is what a live run reports of it, `last` what the last run reported."""

    table: str
    condition: TableCondition | None = None
    last: LastOutcome | None = None

    @property
    def state(self) -> TableState:
        return NotRunning() if self.condition is None else self.condition.state

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self.state, self.last)


@dataclass(frozen=True, slots=True)
class StatusResult:
    """All tables of a service, and its runs.

    `errors` has the tables whose ledger cannot be read or is gone. `kafka_error` says why no lag is known, `storage_error` why
    the tables, or the runs' heartbeats and reports, could not be read.
    `last_run` is None while a run is alive. `most_tasks` is the maximum number of tasks in an epoch of the live run.
    `map_differs` is true if a live run has loaded another map. `decoder` is empty if no run has reported it.
    `waiting_orders` are in the service's inbox: no owner has answered them yet. `runs` has what the service's runs report,
    also about tables that were not asked for.
    """

    tables: tuple[TableStatus, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...]
    kafka_error: str | None
    not_begun: tuple[TableWithoutLedger, ...] = ()
    last_run: RunConditions | None = None
    most_tasks: int | None = None
    map_differs: bool = False
    decoder: str = ""
    waiting_orders: tuple[Order, ...] = ()
    runs: Runs = NO_RUNS
    other_services: tuple[tuple[str, str], ...] = ()
    """Tables of the map whose ledgers belong to another service, and that service's name."""
    storage_error: Kafka2HiveError | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The worst one: STOP, then a service that does not answer, then a wrong name, then a table that is retried."""
        codes = {error.exit_code for _, error in self.errors}
        codes |= {exit_code_of(t.state, t.last) for t in self.tables} | {t.exit_code for t in self.not_begun}
        if self.storage_error is not None:
            codes.add(self.storage_error.exit_code)
        if self.kafka_error is not None:
            codes.add(ExitCode.UNAVAILABLE)
        if self.last_run is not None and self.last_run.end is not None and self.last_run.end.trouble:
            codes.add(ExitCode(self.last_run.end.exit_code))
        return worst(codes)


def status_or_storage_error(
    wiring: Wiring, kafka: Kafka | None, wanted: Collection[str] = (), *, count_files: bool = False
) -> StatusResult:
    """Return what `status` does; if the ledgers cannot be listed, a result without tables that says why."""
    try:
        return status(wiring, kafka, wanted, count_files=count_files)
    except ServiceUnavailable as error:
        return StatusResult((), (), None, storage_error=error)


def status(
    wiring: Wiring,
    kafka: Kafka | None,
    wanted: Collection[str] = (),
    heartbeats: HeartbeatWatch | None = None,
    *,
    count_files: bool = False,
) -> StatusResult:
    """Read every ledger of the map's service, or the ledgers of the `wanted` tables, which may belong to another service.

    With `count_files`, the directories of dropped Hive partitions and all staging directories are listed, too. Otherwise only
    the staging directories of tables that have a pending epoch or are not served are.

    Waits a few heartbeats to see whether a run on another host is alive; with `heartbeats`, a watch that the caller keeps
    from one call to the next, it does not wait. Raises ServiceUnavailable if the file system does not answer.
    """
    ledgers = ledger_tables(wiring)
    names = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, wanted, names):
        return StatusResult((), tuple(unknown), None)
    vanished = vanished_ledgers(wiring, wanted, names)
    selected = [paths for paths in ledgers if not wanted or paths.table in wanted]
    readable, unreadable = apart(each_ledger(wiring, selected, lambda view: [view]))
    views = [view for view in readable if wanted or view.state.service == wiring.map.service]
    routed = routed_by_ledgers(wiring, (view.state for view in views))
    asked = {name: table for name, table in routed.items() if not wanted or name in wanted}
    patterns = any(rule.pattern is not None for rule in wiring.map.tables)
    kafka_look, runs = _both(
        wiring,
        lambda: look_at_kafka(kafka, views, asked, patterns=patterns),
        lambda: known_runs(wiring, views, heartbeats),
    )
    starts = StartPreview(wiring, kafka, kafka_look, routed)

    def table_status(view: View) -> list[TableStatus]:
        name = view.paths.table
        rule = routed[name].rule if name in routed else None
        table = _table(
            wiring=wiring,
            view=view,
            runs=runs,
            rule=rule,
            starts=starts,
            kafka_look=kafka_look,
        )
        retention = _retention(wiring, view.state, rule, count_files=count_files)
        staged = _staged(wiring, table) if count_files or _may_have_leftovers(table) else None
        return [replace(table, retention=retention, staged=staged)]

    attempts = (attempt(view.paths.table, partial(table_status, view)) for view in views)
    tables, failed = apart(chain.from_iterable(attempts))
    errors = [*vanished, *unreadable, *failed]
    not_begun = _not_begun(wiring, runs, wanted, names | {name for name, _ in errors})
    topics = kafka_look.logs.cluster.topics if kafka_look.logs else ()
    routing = known_routes(wiring, (view.state for view in views), topics, (name for name, _ in unreadable))
    errors += ((c.table, c.error) for c in routing.conflicts if not wanted or c.table in wanted)
    return StatusResult(
        tables=tuple(tables),
        errors=tuple(errors),
        kafka_error=kafka_look.error,
        not_begun=not_begun,
        other_services=_of_other_services(wiring, () if wanted else readable),
        last_run=runs.last,
        most_tasks=runs.most_tasks,
        map_differs=runs.has_other_map(wiring.map.fingerprint),
        decoder=runs.decoder,
        waiting_orders=_waiting_orders(wiring, wanted),
        runs=runs,
        storage_error=_heartbeats_error(wiring),
    )


def _heartbeats_error(wiring: Wiring) -> ServiceUnavailable | None:
    """Return why it is unknown which runs are alive, None if their heartbeats can be listed.

    Heartbeats that cannot be read count as none where they are only a hint.
    """
    try:
        children(wiring.ports.files, heartbeat_root(wiring.map.storage.ledger_root))
    except StorageError as error:
        return no_answer_about("it is unknown which runs are alive", error)
    return None


def _waiting_orders(wiring: Wiring, wanted: Collection[str]) -> tuple[Order, ...]:
    """Return the orders in the service's inbox; none if it cannot be read, because its orders can be given all the same."""
    inbox = Inbox(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service)
    try:
        orders, _, _ = inbox.look()
    except StorageError:
        return ()
    return tuple(order for order in orders if not wanted or order.table in wanted)


def _both(wiring: Wiring, first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Run both calls concurrently, because each takes long if it gets no answer."""
    firsts: list[First] = []
    seconds: list[Second] = []
    calls: list[Callable[[], None]] = [lambda: firsts.append(first()), lambda: seconds.append(second())]
    wiring.side_by_side.map(lambda call: call(), calls)
    return firsts[0], seconds[0]


def known_runs(wiring: Wiring, views: Collection[View], heartbeats: HeartbeatWatch | None) -> Runs:
    """Return the service's live runs and repairs, any live owner of these tables, and the reports of all its runs.

    Heartbeats are watched (see `status`) before the reports are read: a run that ends in between has reported its end.
    """
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    owners = {process_of(view.generation.owner) for view in views if view.generation.owner}

    def is_wanted(sender_service: str, owner: str) -> bool:
        return sender_service == service or process_of(owner) in owners

    if heartbeats is None:
        live = live_owners(wiring.ports, root, wiring.processes, is_wanted)
    else:
        live = {o: one for o, one in heartbeats.look().items() if is_wanted(one.service, o)}
    conditions = read_conditions(wiring.ports, root, service, decode)
    outcomes = read_outcomes(wiring.ports, root, service, decode)
    runs = frozenset(owner for owner, heartbeat in live.items() if not heartbeat.repairs)
    return Runs(runs - outcomes.keys(), conditions | outcomes, frozenset(live) - runs)


def _of_other_services(wiring: Wiring, views: Iterable[View]) -> tuple[tuple[str, str], ...]:
    """Return the tables that the map names and another service feeds, or fed before the map's service got a new name."""
    rules, service = literal_rules(wiring), wiring.map.service
    return tuple(
        (view.paths.table, view.state.service)
        for view in views
        if view.state.service != service and view.paths.table in rules
    )


def _not_begun(
    wiring: Wiring, runs: Runs, wanted: Collection[str], known: Collection[str]
) -> tuple[TableWithoutLedger, ...]:
    """Return the tables without a ledger: those that the map names, and those that a run reports from a pattern."""
    names = set(literal_rules(wiring))
    if any(rule.pattern is not None for rule in wiring.map.tables):
        names |= {condition.table for run in runs.reports.values() for condition in run.tables}
    selected = (names & set(wanted) if wanted else names) - set(known)
    conditions = ((name, runs.condition(name, None)) for name in sorted(selected))
    return tuple(
        TableWithoutLedger(name, live, runs.last_outcome(name, None) if live is None else None)
        for name, live in conditions
    )


def _table(
    wiring: Wiring,
    view: View,
    runs: Runs,
    rule: TableRule | None,
    starts: StartPreview,
    kafka_look: KafkaLook,
) -> TableStatus:
    owner = view.generation.owner
    is_owned = runs.of(owner) is not None and not runs.has_released(view)
    life = OwnerLife.ALIVE if is_owned else OwnerLife.DEAD
    if owner is None:
        life = OwnerLife.NOBODY
    condition = runs.condition(view.paths.table, owner)
    repair = runs.repair(view.generation, condition)
    is_unattended = condition is None and repair is None and life is not OwnerLife.ALIVE
    stop = starts.of(view).stop if is_unattended else None
    last = runs.last_outcome(view.paths.table, view.generation) if is_unattended else None
    reported = condition or (last.condition if last is not None else None)
    newest = tuple(islice(final_snapshots(wiring.ports.files, view.paths, view.directory), LAST_EPOCHS))
    return TableStatus(
        view=view,
        state=repair
        or state_of(
            condition=condition,
            life=life,
            in_map=rule is not None,
            stop=stop,
            table=view.paths.table,
            is_paused=view.state.paused is not None,
        ),
        owner_life=life,
        warnings=condition.warnings if condition is not None else (),
        ends=kafka_look.logs.high if kafka_look.logs else {},
        last_epochs=tuple(map(_epoch_status, newest)),
        last=last,
        longest_interval=None if rule is None else rule.flush.longest_seconds,
        in_hive=partitions_in_hive((view.state, *newest)),
        attainment=reported.attainment if reported is not None else None,
    )


def _may_have_leftovers(table: TableStatus) -> bool:
    """Return whether a failed epoch may have left staged files, or a committed one has not moved them yet."""
    troubled = table.last is not None and table.last.trouble is not None
    return troubled or table.view.newest.pending or isinstance(table.state, Retrying | Stopped)


def _staged(wiring: Wiring, table: TableStatus) -> StagedFiles | None:
    try:
        return staged_files(wiring.ports.files, table.view.state, pending=table.view.newest.pending)
    except StorageError:
        return None


def _epoch_status(snapshot: Snapshot) -> EpochStatus:
    return EpochStatus(
        epoch=snapshot.epoch,
        written_at=snapshot.written_at,
        files=len(snapshot.files),
        rows=sum(f.rows for f in snapshot.files if f.kind is not FileKind.COMPACTED),
        account=sum((a.account for a in snapshot.accounts), OffsetAccounting()),
    )


def partitions_in_hive(snapshots: Iterable[Snapshot]) -> frozenset[HivePartition]:
    """Return the partitions that Hive has confirmed and not lost since, by a table's newest snapshots, the newest first.

    A partition that gets files in each epoch always has a pending registration, but Hive has it from the first one on.
    """
    known: set[HivePartition] = set()
    lost: set[HivePartition] = set()
    for snapshot in snapshots:
        lost |= {*snapshot.lapsed, *(each.partition for each in snapshot.dropped)}
        known |= set(snapshot.registered) - lost
    return frozenset(known)


def _retention(
    wiring: Wiring, state: Snapshot, rule: TableRule | None, *, count_files: bool
) -> RetentionStatus | None:
    retain = None if rule is None else rule.retain
    if retain is None and not state.expired_before_ms:
        return None
    names = {each.partition.name for each in state.dropped}
    kept = reasons_to_keep(state, has_hive=wiring.map.hive is not None)
    reasons = {name: why for name, why in kept.items() if name not in names}
    expired = [] if rule is None else expired_among(rule, state, sorted(reasons))
    dropped = tuple(
        DroppedFiles(line.partition, PartitionDrop(line.epoch, line.gone_since)) for line in state.dropped
    )
    return RetentionStatus(
        retain_seconds=retain,
        expired_before=utc_text(state.expired_before_ms // 1000) if state.expired_before_ms else "",
        dropped=tuple(wiring.ports.concurrency.map(partial(_counted, wiring, state), dropped))
        if count_files
        else dropped,
        waits=tuple((name[1], reasons[name]) for name in expired),
    )


def _counted(wiring: Wiring, state: Snapshot, dropped: DroppedFiles) -> DroppedFiles:
    """Count the ledger's files at both places of a dropped partition; not if the file system refuses to list them."""
    home = dropped.partition
    try:
        files = [
            child
            for place in (home.location, other_place(home.location, home.path))
            for child in children(wiring.ports.files, place)
            if is_own(child, state, dropped.drop.epoch)
        ]
    except StorageError:
        return dropped
    return replace(dropped, files=len(files), length=sum(file.length for file in files))
