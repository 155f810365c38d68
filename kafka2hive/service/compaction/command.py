"""`kafka2hive compact` rewrites the small files of complete partitions and moves the partitions to their homes.

If a live run owns the table, the run gets an order to do it. Otherwise the command does it itself, without Spark and a JVM.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from kafka2hive.config.keys import CompactOptions, TableRule
from kafka2hive.ledger.early_files import cut, early_files
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.inbox import CompactPartitions
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.register import LocationCheck, keep_locations
from kafka2hive.ledger.retire import Looks, compacted_files, own_files, snapshot_of_move
from kafka2hive.ledger.snapshot.change import Compaction, PlaceUpdate, RegistrationUpdate
from kafka2hive.ledger.snapshot.compaction import (
    counted_partitions,
    may_move,
    over_partitions,
    watched_partitions,
)
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, OwnedByLiveRun, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Hive
from kafka2hive.model.snapshot import (
    UNKNOWN_END,
    ComparedTable,
    EarlyPartition,
    MovedPartition,
    RecordedOrder,
    Snapshot,
)
from kafka2hive.service.compaction.units import CompactionCounts, PartitionUnits, not_in_map, options_for
from kafka2hive.service.orders.delivery import (
    ANSWER_SECONDS,
    Note,
    give_order,
    here_or_by_order,
    parse_error,
)
from kafka2hive.service.tables.ledgers import UnreadableLedger, literal_rules, no_answer_about
from kafka2hive.service.tables.places import keep_places
from kafka2hive.service.tables.registrar import LOOK_SLICE
from kafka2hive.service.tables.takeover import Announce, TablesInHive, known_ledger, on_ledger, take_over
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem, StorageError, children
from kafka2hive.task.compaction import UNIT_DIFFERS, UnitDiffers, UnitWriter


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
    result = on_ledger(wiring, paths, partial(_compact, wiring, request))
    if isinstance(result, UnreadableLedger):
        if isinstance(result.error, OwnedByLiveRun):
            raise result.error
        return CompactResult(request.table, (), error=result.error)
    return result or CompactResult(request.table, ())


def _compact(wiring: Wiring, request: CompactRequest, view: View, announce: Announce) -> CompactResult:
    in_hive = TablesInHive(wiring, f"compact --table {request.table}")
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
    return _Compactor(
        wiring=wiring, hive=in_hive.metastore, in_hive=in_hive, rule=rule, options=options, owned=owned
    ).run()


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


class _Compactor:
    """Compacts the partitions of one table that this process owns, one snapshot each."""

    def __init__(
        self,
        wiring: Wiring,
        hive: Hive,
        in_hive: TablesInHive,
        rule: TableRule,
        options: CompactOptions,
        owned: OwnedLedger,
    ) -> None:
        self._wiring = wiring
        self._hive = hive
        self._in_hive = in_hive
        self._rule = rule
        self._options = options
        self._owned = owned
        self._compared: tuple[ComparedTable, ...] = ()

    def run(self) -> CompactResult:
        """Compact complete partitions, then send Hive all pending registrations, and compare the locations."""
        state = self._owned.state
        completion = self._rule.completion
        assert completion is not None, "the map's check"
        ready = may_move(state, self._owned.certified, completion.delay_seconds)
        settings = self._in_hive.tables.settings(state.table)
        if ready:  # as before every commit of rows: Hive's table may have changed since the last run
            self._compared = self._in_hive.compare((state.table,))
        writer = UnitWriter(self._wiring.ports.files, settings.tables[state.table], settings.memory_bytes)
        partitions = [self._partition(each, writer) for each in ready]
        waiting = _waiting(state, ready)
        pending = self._register()
        result = CompactResult(
            state.table,
            tuple(sorted((*partitions, *waiting), key=lambda each: each.partition)),
            unregistered=tuple(sorted(pending)),
        )
        return self._delete(self._look(result))

    def _look(self, result: CompactResult) -> CompactResult:
        """Compare locations in Hive (K7), and retire the early places of partitions whose location was right long enough (K8)."""
        watched = sorted(watched_partitions(self._owned.state))
        for first in range(0, len(watched), LOOK_SLICE):
            asked_at = self._wiring.ports.clock.epoch_ms() / 1000
            counted = counted_partitions(self._owned.state)
            look = keep_locations(
                self._hive, watched[first : first + LOOK_SLICE], is_counted=counted.__contains__
            )
            result = self._keep(result, Looks(dict.fromkeys(look.right, asked_at), look.put_back))
            second_look = keep_locations(self._hive, sorted(look.put_back))
            for each in (look, second_look):
                result = self._with_look(result, each)
            if result.error is not None:
                break
        return result

    def _with_look(self, result: CompactResult, look: LocationCheck) -> CompactResult:
        outage = look.outage
        return replace(
            result,
            corrected=tuple(sorted({*result.corrected, *look.corrected})),
            refused=(*result.refused, *sorted(look.refused.items())),
            error=result.error if outage is None else outage.to_error(f"{result.table}: {outage}"),
        )

    def _keep(self, result: CompactResult, looks: Looks) -> CompactResult:
        retired: list[HivePartition] = []

        def publish_places(change: PlaceUpdate) -> OwnedLedger:
            retired.extend(change.retired)
            self._owned = publish(self._wiring.ports, self._owned, change).owned
            return self._owned

        kept = keep_places(
            ports=self._wiring.ports, owned=self._owned, rule=self._rule, looks=looks, publish=publish_places
        )
        return replace(
            result,
            retired=tuple(sorted({*result.retired, *retired})),
            deleted=result.deleted + kept.deleted,
            problems=result.problems + kept.problems,
        )

    def _delete(self, result: CompactResult) -> CompactResult:
        """Delete the early files of retired partitions, until all are deleted or a round makes no progress."""
        while retired := self._owned.state.retired:
            before, result = result, self._keep(result, Looks())
            if (before.deleted, retired) == (result.deleted, self._owned.state.retired):
                break
        return result

    def _partition(self, early: EarlyPartition, writer: UnitWriter) -> CompactedPartition:
        plain = CompactedPartition(early.partition, early.files, early.rows)
        units = PartitionUnits(self._owned, early, self._options.target_bytes)
        try:
            change = self._write(units, early, writer)
        except StorageError as error:
            failure = TableError(
                "compact.storage",
                f"{early.partition.location}: {error}",
                error.remedy or f"type `kafka2hive compact --table {early.partition.table} -c MAP` again",
            )
            return replace(plain, error=failure)
        except (TableError, UnitDiffers) as error:
            return replace(plain, error=error)
        change = replace(change, compared=self._compared)
        self._owned = publish(self._wiring.ports, self._owned, change).owned
        return replace(
            plain,
            length=units.length,
            units=len(change.units),
            written_files=len(change.files),
            written_length=sum(file.length for file in change.files),
        )

    def _write(self, units: PartitionUnits, early: EarlyPartition, writer: UnitWriter) -> Compaction:
        """Stage the files of all units. Raises TableError, StorageError, UnitDiffers."""
        files, clock = self._wiring.ports.files, self._wiring.ports.clock
        while (change := units.move(files, self._owned, (early,), self._rule.success_file)) is None:
            for assignment in units.assign(1, self._owned.next_epoch, clock.epoch_ms()):
                units.note_written(assignment, writer.write(assignment))
        return change

    def _register(self) -> frozenset[HivePartition]:
        """Send pending registrations to Hive (K6), and record its answers. Return the registrations that stay pending."""
        pending = frozenset(self._owned.state.unregistered)
        if not pending:
            return pending
        still_pending = self._in_hive.register(pending).pending
        if still_pending != pending:
            update = RegistrationUpdate(registered=pending - still_pending)
            self._owned = publish(self._wiring.ports, self._owned, update).owned
        return still_pending
