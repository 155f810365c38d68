"""Rebuild a lost ledger from the data files' footers alone (docs/protocol.md, A lost ledger). Pure.

A file at its final place proves that its epoch was committed (I4), so the ranges of its task must never be read again. The
counts in the footers prove that all rows of a task are there. Offsets without both proofs need an operator's acceptance.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter

from kafka2hive.ledger.draft import partitions_of
from kafka2hive.ledger.repair.places import placed_staged, with_rebuilt_places
from kafka2hive.ledger.repair.waiting import with_rebuilt_waiting
from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import UNKNOWN_CHECKSUM, DataFile, FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import (
    AccountingMismatch,
    OffsetAccounting,
    OffsetRange,
    Position,
    RangeAccounting,
    TopicPartition,
)
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import NO_SNAPSHOT, REBUILT, AcceptedGap, NewsProgress, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFile:
    """A file of this ledger, staged (`.pending`) or final, and its footer; `length` is in bytes."""

    path: str
    name: DataFileName
    final: bool
    length: int
    footer: Footer


@dataclass(slots=True)
class CommittedTask:
    """The files of one attempt of one task. `refetched` are later files that replace lost files or replayed dead letters."""

    files: list[LedgerFile]
    refetched: list[LedgerFile] = field(default_factory=list)

    @property
    def first(self) -> Footer:
        return self.files[0].footer

    @property
    def epoch(self) -> tuple[int, int]:
        return self.first.generation, self.first.epoch

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return self.first.ranges

    @property
    def every_file(self) -> tuple[LedgerFile, ...]:
        return (*self.files, *self.refetched)

    @property
    def accounts(self) -> tuple[OffsetAccounting, ...] | None:
        return next((f.footer.accounts for f in self.files if f.footer.accounts is not None), None)

    def doubt(self) -> str | None:
        """Return why the files do not prove that all rows of the task exist; None if they prove it."""
        if any(f.footer.replay for f in self.every_file):
            return "its dead letters were replayed"
        accounts = self.accounts
        if accounts is None:
            return "the files that were closed last, which have the counts, are missing"
        total = sum(accounts, OffsetAccounting())
        for kind, expected in ((FileKind.DATA, total.rows), (FileKind.DEAD_LETTER, total.dead_lettered)):
            rows = sum(f.footer.rows for f in self.every_file if f.footer.kind is kind)
            if rows != expected:
                return f"its {kind.value} files hold {rows:,} of {expected:,} rows"
        try:
            for source, account in zip(self.ranges, accounts, strict=True):
                RangeAccounting(0, source, account).check()
        except AccountingMismatch as error:
            return str(error)
        return None


def committed_tasks(files: Sequence[LedgerFile], newest: tuple[int, int]) -> list[CommittedTask]:
    """Return the committed tasks, sorted by epoch and ranges. `newest` is the generation and epoch of the newest visible file.

    Raises ManualActionRequired if footers contradict each other.
    """
    attempts = _with_staged(files, _attempts(f for f in files if f.final), newest)
    return _with_refetched(sorted(attempts, key=lambda a: (a.epoch, a.ranges)))


def _attempts(files: Iterable[LedgerFile]) -> list[CommittedTask]:
    """Group the files by attempt. Raises ManualActionRequired if the footers of an attempt differ."""
    by_attempt: dict[str, list[LedgerFile]] = {}
    for file in files:
        by_attempt.setdefault(file.footer.attempt, []).append(file)
    attempts = [CommittedTask(sorted(group, key=lambda f: f.path)) for group in by_attempt.values()]
    for attempt in attempts:
        first = attempt.first
        for file in attempt.files:
            other = file.footer
            origin = other.generation, other.epoch, other.task, other.ranges
            agrees = origin == (*attempt.epoch, first.task, first.ranges)
            if not agrees or (file.name.generation, file.name.epoch) != attempt.epoch:
                raise _impossible(
                    f"{file.path}: its footer contradicts its name or the footers of its attempt's other files"
                )
    return attempts


def _with_staged(
    files: Sequence[LedgerFile], attempts: Sequence[CommittedTask], newest: tuple[int, int]
) -> list[CommittedTask]:
    """Return all attempts, and add the committed staged files: those of the newest epoch with a visible file.

    If a task has a visible file, only the attempt of that file is committed. Otherwise any complete attempt of the same plan
    may count as the task's. Two files that were refetched in one epoch are two attempts of task 0.
    """
    visible = {a.first.attempt: a for a in attempts if a.epoch == newest}
    plans = {a.first.planned_at_ms for a in visible.values()}
    tasks = {a.first.task for a in visible.values()}
    finals = {file.name for file in files if file.final}
    staged = [
        f
        for f in files
        if not f.final
        and f.name not in finals
        and (f.footer.generation, f.footer.epoch) == newest
        and f.footer.planned_at_ms in plans
    ]
    chosen: list[CommittedTask] = []
    for attempt in sorted(_attempts(staged), key=lambda a: a.first.attempt):
        same = visible.get(attempt.first.attempt)
        if same is not None:
            same.files += attempt.files
        elif attempt.first.task not in tasks and attempt.doubt() is None:
            tasks.add(attempt.first.task)
            chosen.append(attempt)
    return [*attempts, *chosen]


def _with_refetched(attempts: Sequence[CommittedTask]) -> list[CommittedTask]:
    """Return one task per tuple of ranges. A later attempt with the same ranges is merged: it refetched a lost file.

    A refetch replaces files of one kind; the files of the other kind that it wrote were never committed. If all original files
    of a task are lost, two attempts of one epoch may be refetches of files in different Hive partitions. A replay adds all of
    its files. Raises ManualActionRequired for two attempts that are neither.
    """
    tasks: dict[tuple[OffsetRange, ...], CommittedTask] = {}
    for attempt in attempts:
        earlier = tasks.get(attempt.ranges)
        if earlier is None:
            tasks[attempt.ranges] = attempt
        elif attempt.first.replay:
            earlier.refetched += attempt.files
        elif earlier.epoch < attempt.epoch or not _places(earlier) & _places(attempt):
            kinds = {f.footer.kind for f in attempt.files if f.final}
            earlier.refetched += [f for f in attempt.files if f.footer.kind in kinds]
        else:
            raise _impossible(
                f"{earlier.files[0].path} and {attempt.files[0].path}: two attempts of one task are visible"
            )
    return list(tasks.values())


def _places(task: CommittedTask) -> set[tuple[FileKind, HivePartition]]:
    return {(f.footer.kind, f.footer.partition) for f in task.every_file}


def _impossible(text: str) -> ManualActionRequired:
    return ManualActionRequired(
        "rebuild.impossible", text, "restore the ledger from a backup; nothing was changed"
    )


Accepts = Callable[[OffsetRange], bool]
"""Says whether an operator accepts that these offsets may be missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLedger:
    """The ledger to rebuild. `location` and `staging` are full paths, `now` is ISO-8601.

    `closes` has the ends of the partitions' periods, `retired` the epochs of retired early places, both by path. `compacts` says
    whether the map has `compact`. `withheld` has the paths of the partitions that Hive must not have before they have a
    certificate.
    """

    ledger_id: str
    service: str
    table: str
    location: str
    staging: str
    now: str
    closes: Mapping[str, str] = field(default_factory=dict)
    compacts: bool = False
    retired: Mapping[str, int] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()
    receivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnprovenRange:
    """Offsets below the rebuilt positions without proof that all their rows exist; `why` says what is missing."""

    range: OffsetRange
    why: str


@dataclass(frozen=True, slots=True)
class RebuiltSnapshots:
    """The rebuilt ledger: a final snapshot, and a pending one if an epoch was half promoted.

    An operator has accepted the `unproven` ranges. `left_staged` is the number of orphans, which the next start deletes.
    """

    final: Snapshot
    pending: Snapshot | None
    unproven: tuple[UnprovenRange, ...]
    left_staged: int

    @property
    def newest(self) -> Snapshot:
        return self.pending or self.final


def rebuild(
    lost: LostLedger, files: Sequence[LedgerFile], accepts: Accepts, used: Iterable[tuple[int, int]] = ()
) -> RebuiltSnapshots:
    """Return the ledger that explains the files. Its generation and epochs are above all in the files' names and in `used`.

    Raises ManualActionRequired: no file has a footer, the footers contradict each other, or unproven offsets are not accepted.
    """
    compacted = [f for f in files if f.footer.kind is FileKind.COMPACTED]
    files = [f for f in files if f.footer.kind is not FileKind.COMPACTED]
    finals = [f for f in files if f.final]
    if not finals:
        raise ManualActionRequired(
            "rebuild.nothing",
            f"{lost.location}: no data file of ledger {lost.ledger_id} has a footer to rebuild from",
            "let `kafka2hive run -c MAP` start the table over: move the owner marker away, or change the table's location in"
            " the map",
        )
    newest = max((f.footer.generation, f.footer.epoch) for f in finals)
    tasks = committed_tasks(files, newest)
    unproven = [*_holes(tasks), *_incomplete(tasks)]
    open_ranges = [item for item in unproven if not accepts(item.range)]
    if open_ranges:
        ranges = "; ".join(f"{item.range}: {item.why}" for item in open_ranges)
        raise ManualActionRequired(
            "rebuild.unproven", f"{lost.table}: rows may be missing from {ranges}", _remedy(open_ranges)
        )
    final_tasks, pending_tasks = _by_state(tasks, newest)
    names = {(f.name.generation, f.name.epoch) for f in (*files, *compacted)} | set(used)
    generation = max(generation for generation, _ in names) + 1
    epoch = max(epoch for _, epoch in names) + 1
    starts = {r.topic_partition: 0 for task in tasks for r in task.ranges}
    snapshot = partial(_snapshot, lost=lost, generation=generation, unproven=unproven)
    base = snapshot(epoch=epoch, tasks=final_tasks, starts=starts, before=None)
    moves = [_data_file(lost, f, -1, ()) for f in compacted if f.final]
    base = with_rebuilt_places(base, lost.closes, lost.retired, moves if final_tasks else ())
    base = with_rebuilt_waiting(base, lost.withheld)
    last = None
    if pending_tasks:
        ends = {p.topic_partition: p.end for p in base.positions}
        last = snapshot(epoch=epoch + 1, tasks=pending_tasks, starts=ends, before=base)
        visible = (_data_file(lost, f, -1, ()) for f in finals)
        last = placed_staged(last, visible, moves, lost.closes if lost.compacts else {})
        last = with_rebuilt_places(last, lost.closes, lost.retired, () if final_tasks else moves, before=base)
        last = with_rebuilt_waiting(last, lost.withheld, before=base)
    committed = sum(not f.final for task in tasks for f in task.every_file)
    return RebuiltSnapshots(base, last, tuple(unproven), sum(not f.final for f in files) - committed)


def _by_state(
    tasks: Sequence[CommittedTask], newest: tuple[int, int]
) -> tuple[Sequence[CommittedTask], Sequence[CommittedTask]]:
    """Return the tasks of the final snapshot, then those of the pending one, which gets all committed staged files.

    If a staged file was refetched or replayed, it belongs to the ranges of an old task. Then all tasks go into the pending
    snapshot, and the roll-forward finds most files moved already.
    """
    staged = [task for task in tasks if not all(f.final for f in task.every_file)]
    if not staged:
        return tasks, ()
    if any(task.epoch != newest or task.first.replay for task in staged):
        return (), tasks
    return [t for t in tasks if t.epoch != newest], [t for t in tasks if t.epoch == newest]


def _holes(tasks: Sequence[CommittedTask]) -> Iterator[UnprovenRange]:
    """Yield the offsets before and between ranges, which no file names. Raises ManualActionRequired if ranges overlap."""
    steps = sorted((r.topic_partition, t.epoch, r) for t in tasks if not t.first.replay for r in t.ranges)
    for task in tasks:
        # the epoch of a replay does not say when the records were read, so its ranges are ordered by offset only
        for r in task.ranges if task.first.replay else ():
            insort(steps, (r.topic_partition, task.epoch, r), key=itemgetter(2))
    for tp, group in groupby(steps, key=itemgetter(0)):
        at = 0
        for _, epoch, source in group:
            if source.start < at:
                raise ManualActionRequired(
                    "rebuild.went_back",
                    f"epoch {epoch[1]} read {source}, though earlier epochs had read {tp} up to {at}",
                    "the topic was recreated, or its log truncated: restore the ledger from a backup",
                )
            if source.start > at:
                before = ", unless the table began after them" if at == 0 else ""
                yield UnprovenRange(OffsetRange(tp, at, source.start), f"no file names them{before}")
            at = source.end


def _incomplete(tasks: Sequence[CommittedTask]) -> Iterator[UnprovenRange]:
    for task in tasks:
        doubt = task.doubt()
        if doubt is not None:
            reason = f"task {task.first.task} of epoch {task.first.epoch}: {doubt}"
            yield from (UnprovenRange(source, reason) for source in task.ranges)


def _snapshot(
    lost: LostLedger,
    generation: int,
    epoch: int,
    tasks: Sequence[CommittedTask],
    unproven: Sequence[UnprovenRange],
    starts: Mapping[TopicPartition, int],
    before: Snapshot | None,
) -> Snapshot:
    """Return the snapshot of an epoch that read all ranges of the tasks, from `starts` on. Unproven offsets become gaps."""
    ends = dict(starts)
    for r in sorted(r for task in tasks for r in task.ranges):
        ends[r.topic_partition] = r.end
    read = [OffsetRange(tp, starts[tp], end) for tp, end in ends.items()]
    gaps = [item for item in unproven if any(item.range.is_within(whole) for whole in read)]
    files: list[DataFile] = []
    accounts: list[RangeAccounting] = []
    for number, task in enumerate(tasks):
        files += [_data_file(lost, file, number, task.ranges) for file in task.every_file]
        if task.doubt() is None:
            assert task.accounts is not None
            pairs = zip(task.ranges, task.accounts, strict=True)
            accounts += [RangeAccounting(number, source, account) for source, account in pairs]
    unregistered: frozenset[HivePartition] = frozenset(before.unregistered) if before else frozenset()
    return Snapshot(
        ledger_id=lost.ledger_id,
        service=lost.service,
        table=lost.table,
        generation=generation,
        owner=REBUILT,
        epoch=epoch,
        written_at=lost.now,
        previous=checksum_of(before) if before else NO_SNAPSHOT,
        location=lost.location,
        files=tuple(files),
        positions=tuple(Position(tp, starts[tp], ends[tp]) for tp in sorted(ends)),
        accounts=tuple(accounts),
        told=before.told
        if before
        else tuple(NewsProgress(name, epoch - 1) for name in sorted(lost.receivers)),
        gaps=(
            *(before.gaps if before else ()),
            *(
                AcceptedGap(range=g.range, reason=f"rebuilt: {g.why}", accepted_at=lost.now, epoch=epoch)
                for g in gaps
            ),
        ),
        unregistered=tuple(sorted(unregistered | partitions_of(files))),
    )


def _data_file(lost: LostLedger, file: LedgerFile, number: int, ranges: tuple[OffsetRange, ...]) -> DataFile:
    """Return the file for a snapshot. A visible file keeps its present place, even if its footer names a different location."""
    footer, partition = file.footer, file.footer.partition
    final = join(partition.location, file.name.in_state("final"))
    if file.final:
        partition = HivePartition(partition.table, partition.path, parent(file.path))
        final = file.path
    staged = join(lost.staging, file.name.in_state("pending"))
    return DataFile(
        kind=footer.kind,
        staged=staged,
        final=final,
        hive_partition=partition,
        length=file.length,
        rows=footer.rows,
        checksum=UNKNOWN_CHECKSUM,
        task=number,
        ranges=ranges,
    )


def _remedy(open_ranges: Sequence[UnprovenRange]) -> str:
    topics = sorted({item.range.topic_partition for item in open_ranges})
    options = " ".join(f"--accept-gap {tp.topic}:{tp.number}" for tp in topics[:5])
    return (
        "find the missing files and put them back; or, if these offsets held no records or may be missing, type the command"
        f" with {options}{' ...' if len(topics) > 5 else ''}"
    )
