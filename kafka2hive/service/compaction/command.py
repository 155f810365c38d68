"""`kafka2hive compact` rewrites the small files of complete partitions and moves the partitions to their homes.

If a live run owns the table, the run gets an order to do it. Otherwise the command does it itself, without Spark and a JVM.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kafka2hive.config.keys import CompactOptions, TableRule
from kafka2hive.hive.port import Hive
from kafka2hive.ledger.early_files import cut, early_files
from kafka2hive.ledger.inbox import CompactPartitions
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.retire import RetirementResult, compacted_files, own_files, snapshot_of_move
from kafka2hive.ledger.snapshot.change import Change, Compaction, PlaceUpdate, RegistrationUpdate
from kafka2hive.ledger.snapshot.compaction import may_move, over_partitions
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, OwnedByLiveRun, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.progress import Advance
from kafka2hive.model.snapshot import (
    UNKNOWN_END,
    ComparedTable,
    EarlyPartition,
    MovedPartition,
    RecordedOrder,
    Snapshot,
)
from kafka2hive.plan.contract import TaskSettings, UnitAssignment, UnitResult
from kafka2hive.service.chores.command_owner import CommandOwner, LooksOfCommand
from kafka2hive.service.compaction.chore import CompactionChore
from kafka2hive.service.compaction.retirement import RetirementChore
from kafka2hive.service.compaction.units import CompactionCounts, PartitionUnits, not_in_map, options_for
from kafka2hive.service.orders.delivery import (
    ANSWER_SECONDS,
    Note,
    give_order,
    here_or_by_order,
    order_of_user,
    parse_error,
)
from kafka2hive.service.start.takeover import (
    Announce,
    TablesInHive,
    known_ledger,
    on_ledger,
    register_released,
    take_over,
)
from kafka2hive.service.tables.ledgers import UnreadableLedger, literal_rules, no_answer_about
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem, StorageError, children
from kafka2hive.task.compaction import UNIT_DIFFERS, UnitDiffers, write_unit


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """The options of `compact`. `take_over`: a live owner is fenced."""

    table: str
    plan_only: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class CompactedPartition:
    """One early partition: the number of its early `files`, their `rows`, and their `length` in bytes, cut into `units`.

    `written_files` and `written_length` describe the files that replace them; they are 0 unless the partition was compacted.
    `waits` says why it cannot be compacted yet; empty if it can. `error` is why its compaction failed.
    """

    partition: HivePartition
    files: int
    rows: int
    length: int = 0
    units: int = 0
    written_files: int = 0
    written_length: int = 0
    waits: str = ""
    error: TableError | UnitDiffers | None = None


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The outcome for the table's early partitions, and for moved partitions whose early places are not deleted yet.

    - `corrected`: partitions that somebody had put back to their early places in Hive, and that this command set right.
    - `refused`: partitions that somebody had put back and that Hive refuses to set right, each with Hive's reason.
    - `unregistered`: moved partitions that Hive does not show at their homes yet; the next run or `compact` registers them.
    - `retired`: partitions whose early places this command retired, so that their early files may be deleted.
    - `deleted`: the number of early files of retired partitions that this command deleted.
    - `problems`: why partitions whose time at the early place is over are not retired.
    - `order`: the ledger's line about the order, if a live run did it; the run looks at Hive's locations and retires by itself.
    """

    table: str
    partitions: tuple[CompactedPartition, ...]
    corrected: tuple[HivePartition, ...] = ()
    unregistered: tuple[HivePartition, ...] = ()
    refused: tuple[tuple[HivePartition, str], ...] = ()
    retired: tuple[HivePartition, ...] = ()
    deleted: int = 0
    problems: tuple[TableError, ...] = ()
    error: Kafka2HiveError | None = None
    order: RecordedOrder | None = None

    @property
    def exit_code(self) -> ExitCode:
        all_errors = (*(each.error for each in self.partitions), *self.problems, self.error)
        errors = [error for error in all_errors if error is not None]
        for error in errors:
            if not isinstance(error, TableError):
                return error.exit_code
        is_left = self.order is None and self.unregistered  # a run registers them
        return ExitCode.SET_ASIDE if errors or is_left or self.refused else ExitCode.DONE


def compact(
    wiring: Wiring,
    request: CompactRequest,
    *,
    seconds: float = ANSWER_SECONDS,
    note: Note = lambda text: None,
) -> CompactResult:
    """Compact a table's complete partitions, or with `plan_only` say which.

    If a live run owns the table, the run gets an order, and this process waits `seconds` for the answer; `note` gets lines of
    progress. A crash leaves a partition either early, with orphans that the next start deletes, or moved; then the next start
    promotes its files, writes its certificate and tells Hive. A second call continues with the remaining partitions.
    Raises ServiceUnavailable (also `order.unanswered`), ConfigError, and what `give_order` raises.
    """
    return here_or_by_order(
        partial(_compact_here, wiring, request),
        partial(_compact_by_order, wiring, request.table, seconds, note),
        note,
    )


def _compact_by_order(wiring: Wiring, table: str, seconds: float, note: Note) -> CompactResult:
    """Let the live run do it. Raises as `give_order` does."""
    files, paths = wiring.ports.files, wiring.paths(table)
    before = look(files, paths).state.epoch
    answer = give_order(wiring, table, CompactPartitions(), seconds=seconds, note=note)
    view = look(files, paths)
    counts = CompactionCounts.parse(answer.record.result)
    try:
        moved = [_moved(files, view, each) for each in view.state.moved if each.epoch > before]
    except StorageError as error:
        raise no_answer_about(table, error) from error
    pending = set(view.state.unregistered)
    return CompactResult(
        table,
        tuple(sorted((*filter(None, moved), *_still_early(view.state, counts)), key=lambda e: e.partition)),
        unregistered=tuple(sorted(each.partition for each in view.state.moved if each.partition in pending)),
        order=answer.record,
    )


def _moved(files: FileSystem, view: View, moved: MovedPartition) -> CompactedPartition | None:
    """Return what a move has done, from its snapshot and from the early files, which stay for days.

    None if late data have begun the line, and no move. Raises StorageError, ManualActionRequired.
    """
    snapshot = snapshot_of_move(files, view.paths, view.directory, moved)
    if snapshot is None or not (units := [u for u in snapshot.units if u.partition == moved.partition]):
        return None
    written = compacted_files(snapshot, moved.partition)
    early = own_files(children(files, moved.early), view.state, moved.epoch)
    return CompactedPartition(
        replace(moved.partition, location=moved.early),
        files=sum(unit.sources for unit in units),
        rows=sum(unit.rows for unit in units),
        length=sum(file.length for file in early),
        units=len(units),
        written_files=len(written),
        written_length=sum(file.length for file in written),
    )


def _still_early(state: Snapshot, counts: CompactionCounts) -> Iterator[CompactedPartition]:
    """Yield the partitions that an order has left early, and why."""
    for each in state.early:
        plain = CompactedPartition(each.partition, each.files, each.rows)
        if (text := counts.failed.get(each.partition.path)) is not None:
            code, message, remedy = parse_error(text)
            kind = UnitDiffers if code == UNIT_DIFFERS else TableError
            yield replace(plain, error=kind(code, message, remedy))
        elif each in over_partitions(state):
            failed = ", or failed" if counts.failed_partitions > len(counts.failed) else ""
            yield replace(plain, waits=f"it became complete after the run had begun the order{failed}")
        else:
            yield replace(plain, waits=_why_not(state, each))


def _compact_here(wiring: Wiring, request: CompactRequest) -> CompactResult:
    """Compact the table in this process. Raises OwnedByLiveRun before it changes anything."""
    paths = known_ledger(wiring, request.table)
    rule = literal_rules(wiring).get(request.table)
    if paths is None and rule is not None and rule.compact is None:
        raise not_in_map(request.table)
    in_hive = TablesInHive(wiring, f"compact --table {request.table}")
    released: list[OwnedLedger] = []
    work = partial(_compact, wiring=wiring, request=request, in_hive=in_hive, released=released)
    result = on_ledger(wiring, paths, work)
    if isinstance(result, UnreadableLedger):
        if isinstance(result.error, OwnedByLiveRun):
            raise result.error
        return CompactResult(request.table, (), error=result.error)
    if result is None:
        return CompactResult(request.table, ())
    for owned in released:  # by now, so that no run waits for Hive
        result = _register_others(wiring, in_hive, result, owned)
    return result


def _compact(
    view: View,
    announce: Announce,
    *,
    wiring: Wiring,
    request: CompactRequest,
    in_hive: TablesInHive,
    released: list[OwnedLedger],
) -> CompactResult:
    """Take the table over and compact it, or only plan that. `released` gets the ledger of a table that was taken over."""
    route = in_hive.tables.by_name.get(request.table)
    rule = None if route is None else route.rule
    if rule is None or rule.completion is None or in_hive.metastore is None:
        raise not_in_map(request.table)
    options = options_for(rule, view.state, has_hive=True)
    ownership = wiring.ownership_check(take_over=request.take_over)
    if request.plan_only:
        planned = _plan(wiring, view.state, options, rule.completion.delay_seconds)
        return CompactResult(request.table, tuple(sorted(planned, key=lambda each: each.partition)))
    owned = take_over(wiring, view.paths, rule.location, ownership, announce=announce)
    result, owned = _compact_owned(
        wiring=wiring, hive=in_hive.metastore, in_hive=in_hive, rule=rule, owned=owned
    )
    released.append(owned)
    return result


def _plan(
    wiring: Wiring, state: Snapshot, options: CompactOptions, delay_seconds: float
) -> Iterator[CompactedPartition]:
    """Yield each early partition with what would become of it. Raises StorageError."""
    certified = frozenset(certificate.partition for certificate in state.certificates)
    ready = may_move(state, certified, delay_seconds)
    yield from _waiting(state, ready)
    for each in ready:
        plain = CompactedPartition(each.partition, each.files, each.rows)
        try:
            sources = early_files(wiring.ports.files, state, each)
        except TableError as error:
            yield replace(plain, error=error)
            continue
        length = sum(file.length for file in sources)
        yield replace(plain, length=length, units=len(list(cut(sources, options.target_bytes))))


def _waiting(state: Snapshot, ready: Collection[EarlyPartition]) -> Iterator[CompactedPartition]:
    """Yield the early partitions that are not `ready`, and why."""
    for each in state.early:
        if each not in ready:
            plain = CompactedPartition(each.partition, each.files, each.rows)
            yield replace(plain, waits=_why_not(state, each))


def _why_not(state: Snapshot, early: EarlyPartition) -> str:
    if any(each.partition == early.partition for each in state.forgotten):
        return "its registration was given up"
    if any(each.partition.path == early.partition.path for each in state.open):
        return "it is not complete"
    if not early.certified and early.closes == UNKNOWN_END:
        return "the ledger was rebuilt, and the map's bucket.path does not say when its period ends"
    return f"the table is not read through the end of its period, {early.closes}, since tracking began"


class UnitsHere:
    """A UnitRunner that writes the units in this process, before `begin` returns."""

    def __init__(self, settings: TaskSettings, files: FileSystem, advance: Advance) -> None:
        self._settings = settings
        self._files = files
        self._advance = advance
        self._results: list[UnitResult] | None = None

    def cores(self) -> int:
        return 1

    def begin(self, assignments: Sequence[UnitAssignment]) -> None:
        self._results = [self._write(each) for each in assignments]

    def _write(self, assignment: UnitAssignment) -> UnitResult:
        result = write_unit(assignment, self._settings, lambda: self._files)
        if result.written is not None:
            self._advance(files=result.written.sources, rows=result.written.rows)
        return result

    def take(self) -> Sequence[UnitResult] | Exception | None:
        results, self._results = self._results, None
        return results


class _CompactReport:
    """Writes what the chores say into the result."""

    def __init__(self, table: str, ready: Collection[EarlyPartition]) -> None:
        self.result = CompactResult(table, ())
        self.compared: tuple[ComparedTable, ...] = ()
        self._ready = {each.partition: each for each in ready}

    def prepare(self, change: Change) -> Change:
        """Note what the change retires, and return it as this command commits it."""
        if isinstance(change, PlaceUpdate):
            self._add(retired=tuple(sorted({*self.result.retired, *change.retired})))
        return replace(change, compared=self.compared) if isinstance(change, Compaction) else change

    def moved(self, table: str, units: PartitionUnits, change: Compaction) -> None:
        self._add_partition(
            units.partition,
            length=units.length,
            units=len(change.units),
            written_files=len(change.files),
            written_length=sum(file.length for file in change.files),
        )

    def failed(self, table: str, partition: HivePartition, error: Kafka2HiveError) -> None:
        kind = UnitDiffers if error.code == UNIT_DIFFERS else TableError
        remedy = error.remedy or f"type `kafka2hive compact --table {table} -c MAP` again"
        self._add_partition(partition, error=kind(error.code, error.message, remedy))

    def kept(self, kept: RetirementResult) -> None:
        self._add(deleted=self.result.deleted + kept.deleted, problems=self.result.problems + kept.problems)

    def _add(self, **changes: Any) -> None:
        self.result = replace(self.result, **changes)

    def _add_partition(self, partition: HivePartition, **outcome: Any) -> None:
        early = self._ready[partition]
        compacted = CompactedPartition(early.partition, early.files, early.rows, **outcome)
        self._add(partitions=(*self.result.partitions, compacted))


def _compact_owned(
    wiring: Wiring, hive: Hive, in_hive: TablesInHive, rule: TableRule, owned: OwnedLedger
) -> tuple[CompactResult, OwnedLedger]:
    """Let the chores of a run do all that they can do now. Return the result, and the ledger after it."""
    assert rule.completion is not None, "the map's check"
    state, settings = owned.state, in_hive.tables.settings(owned.state.table)
    ready = may_move(state, owned.certified, rule.completion.delay_seconds)
    report = _CompactReport(state.table, ready)
    owner = CommandOwner(wiring.ports, rule, owned, report.prepare)
    if ready:  # as before every commit of rows: Hive's table may have changed since the last run
        report.compared = in_hive.compare((state.table,))
    totals = {"files": sum(each.files for each in ready), "rows": sum(each.rows for each in ready)}
    with wiring.progress.work(f"compact {state.table}", **totals) as advance:
        _move(wiring, owner, report, UnitsHere(settings, wiring.ports.files, advance))
    with wiring.progress.work(f"compare locations and delete early files of {state.table}"):
        pending = _register(owner, in_hive)
        looks = _retire(wiring, owner, report, hive)
    waiting, outage = _waiting(state, ready), looks.outage
    result = replace(
        report.result,
        partitions=tuple(sorted((*report.result.partitions, *waiting), key=lambda each: each.partition)),
        unregistered=tuple(sorted(pending)),
        corrected=tuple(sorted(looks.corrected)),
        refused=tuple(sorted(looks.refused.items())),
        error=None if outage is None else outage.to_error(f"{state.table}: {outage}"),
    )
    return result, owner.table.owned.ledger


def _move(wiring: Wiring, owner: CommandOwner, report: _CompactReport, runner: UnitsHere) -> None:
    """Carry the order out that a run would get: compact what may move now, one unit after another (K3 to K5)."""
    chore = CompactionChore(wiring, owner, Reporter(), [report], alone=True)
    chore.runner = runner
    order = order_of_user(wiring, owner.table.name, CompactPartitions())
    chore.begin(owner.table, [order], frozenset())
    while not chore.ended():
        chore.begin_job((), {})
        chore.step(is_idle=True)


def _register(owner: CommandOwner, in_hive: TablesInHive) -> frozenset[HivePartition]:
    """Send the pending registrations of moved partitions to Hive (K6), and record its answers. Return what stays pending."""
    state = owner.table.owned.state
    pending = frozenset(each.partition for each in state.moved).intersection(state.unregistered)
    if not pending:
        return pending
    still_pending = in_hive.register(pending).pending
    if still_pending != pending:
        owner.publish(owner.table, RegistrationUpdate(registered=pending - still_pending))
    return still_pending


def _retire(wiring: Wiring, owner: CommandOwner, report: _CompactReport, hive: Hive) -> LooksOfCommand:
    """Compare locations in Hive (K7), and retire and delete early places whose location was right long enough (K8)."""
    table, looks = owner.table, LooksOfCommand(hive, wiring.ports.clock)
    chore = RetirementChore(wiring, owner, looks, [report.kept])
    chore.watch(table)
    while not looks.is_done:
        for answer in looks.look():
            chore.note(answer)
        chore.step(is_idle=True)
        chore.watch(table)
    while retired := table.owned.state.retired:  # until all are deleted, or a step makes no progress
        before = report.result.deleted
        chore.delete_now()
        chore.step(is_idle=True)
        if (before, retired) == (report.result.deleted, table.owned.state.retired):
            break
    return looks


def _register_others(
    wiring: Wiring, in_hive: TablesInHive, result: CompactResult, owned: OwnedLedger
) -> CompactResult:
    """Register the other pending partitions; the table must be released. After an outage Hive is not asked again."""
    pending = owned.pending_registrations
    if result.error is None:
        try:
            pending = register_released(wiring.ports, owned, in_hive.register).pending
        except Kafka2HiveError as error:
            return replace(result, error=error)
    return replace(result, unregistered=tuple(sorted(pending)))
