"""Units of `verify --deep`: the offsets that one task of one epoch read, and all files with rows of them. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.kafka.positions import Logs
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import (
    UNKNOWN_ID,
    OffsetAccounting,
    OffsetRange,
    TopicPartition,
    cluster_of,
    merge_ranges,
)
from kafka2hive.model.snapshot import EventBounds, Snapshot
from kafka2hive.model.text import counted

PIECE_OFFSETS = 4_000_000
"""Maximum number of offsets that are compared at a time; this bounds the memory."""

_EXPIRED_SINCE = "whose letters were replayed after some of their periods had expired"
_WITHOUT_BOUNDS = "of tasks with late or out-of-range records, whose bounds a rebuilt ledger does not have"


@dataclass(slots=True)
class Unit:
    """One task's offset ranges that are not empty, with their accounts, and all files with rows of these offsets.

    `bounds` are the bounds of event time that the task applied. A file that replaces a lost file (`recover --refetch`) or
    replayed dead letters belongs to the unit of the file that it replaces. `is_replayed_later` says that letters were replayed
    after more periods had expired, so a record that the task's bounds accept may still be a dead letter.
    """

    epoch: int
    task: int
    accounts: dict[OffsetRange, OffsetAccounting]
    topic_ids: dict[TopicPartition, str]
    cluster_id: str = UNKNOWN_ID
    bounds: EventBounds | None = None
    is_replayed_later: bool = False
    files: list[DataFile] = field(default_factory=list)

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(self.accounts)

    @property
    def lacks_bounds(self) -> bool:
        """Whether the task's bounds of event time are unknown, because the ledger has since been rebuilt."""
        return self.bounds is None and any(a.bad < a.dead_lettered for a in self.accounts.values())

    @property
    def amounts(self) -> dict[str, int]:
        """What the unit adds to the progress of an audit."""
        rows = sum(a.rows + a.dead_lettered for a in self.accounts.values())
        return {"files": len(self.files), "rows": rows, "bytes": sum(file.length for file in self.files)}


def units_of(finals: Sequence[Snapshot]) -> tuple[list[Unit], list[DataFile]]:
    """Return all units of finalised epochs, the oldest first, and the files without a unit (their offsets are in a gap)."""
    units: list[Unit] = []
    by_ranges: dict[frozenset[OffsetRange], Unit] = {}
    by_file: dict[str, Unit | None] = {}
    unassigned: list[DataFile] = []
    for snapshot in finals:
        ids = {p.topic_partition: p.topic_id for p in snapshot.positions}
        by_task: dict[int, Unit] = {}
        replayed = {replayed_file.task: replayed_file.path for replayed_file in snapshot.replayed}
        for account in snapshot.accounts:
            if len(account.range):
                empty = Unit(
                    epoch=snapshot.epoch,
                    task=account.task,
                    accounts={},
                    topic_ids={},
                    cluster_id=snapshot.cluster_id,
                    bounds=snapshot.bounds,
                )
                unit = by_task.setdefault(account.task, empty)
                unit.accounts[account.range] = account.account
                tp = account.range.topic_partition
                unit.topic_ids[tp] = ids.get(tp, UNKNOWN_ID)
        units += by_task.values()
        by_ranges.update({frozenset(unit.accounts): unit for unit in by_task.values()})
        for file in snapshot.files:
            if file.kind is FileKind.COMPACTED:
                continue  # the early files that it was copied from belong to units
            ranges = frozenset(file.ranges)
            task_unit = by_task.get(file.task)
            if file.task in replayed:  # a recreated topic may have the same ranges twice
                owner = by_file.get(replayed[file.task])
                if owner is not None and _expired(snapshot.bounds) > _expired(owner.bounds):
                    owner.is_replayed_later = True
            else:
                is_original = task_unit is not None and ranges == task_unit.accounts.keys()
                owner = task_unit if is_original else by_ranges.get(ranges)
            by_file[file.final] = owner
            (unassigned if owner is None else owner.files).append(file)
    return units, unassigned


def _expired(bounds: EventBounds | None) -> int:
    return 0 if bounds is None else bounds.expired_before_ms


def without_refetched(
    unit: Unit, contents: Sequence[bytes | None], refetched: Collection[str]
) -> tuple[Unit, list[bytes | None]]:
    """Return the unit without missing files that were refetched or replayed; the unit's newer files have their rows."""
    kept = [
        (file, data)
        for file, data in zip(unit.files, contents, strict=True)
        if data is not None or file.final not in refetched
    ]
    return replace(unit, files=[file for file, _ in kept]), [data for _, data in kept]


@dataclass(frozen=True, slots=True)
class UnreadableRange:
    """Offsets that cannot be fetched again, and the reason."""

    range: OffsetRange
    why: str


def fetchable_ranges(unit: Unit, logs: Logs) -> tuple[list[OffsetRange], list[UnreadableRange]]:
    """Split the unit's offsets into ranges that can be decoded again from Kafka, and ranges that cannot."""
    if unit.lacks_bounds:
        return [], [UnreadableRange(r, _WITHOUT_BOUNDS) for r in unit.ranges]
    if unit.is_replayed_later:
        return [], [UnreadableRange(r, _EXPIRED_SINCE) for r in unit.ranges]
    fetchable: list[OffsetRange] = []
    gone: list[UnreadableRange] = []
    for r in unit.ranges:
        tp = r.topic_partition
        name = cluster_of(tp.topic)
        now_id = logs.cluster.id_of(name)
        if (name and name not in {**logs.cluster.ids, **logs.cluster.silent}) or (
            UNKNOWN_ID not in (unit.cluster_id, now_id) and unit.cluster_id != now_id
        ):
            why = f"of the Kafka cluster {unit.cluster_id}, which the map does not have under that name"
            gone.append(UnreadableRange(r, why))
            continue
        if tp not in logs.earliest or tp not in logs.latest:
            gone.append(UnreadableRange(r, "not in Kafka any more"))
            continue
        then, now = unit.topic_ids[tp], logs.cluster.topics[tp.topic].id
        if UNKNOWN_ID not in (then, now) and then != now:
            gone.append(UnreadableRange(r, "of a topic that was deleted and recreated"))
            continue
        start = min(max(r.start, logs.earliest[tp].offset), r.end)
        end = max(min(r.end, logs.latest[tp].offset), start)
        for part, why in (
            (OffsetRange(tp, r.start, start), "aged out of Kafka"),
            (OffsetRange(tp, end, r.end), "truncated in Kafka"),
        ):
            if len(part):
                gone.append(UnreadableRange(part, why))
        if start < end:
            fetchable.append(OffsetRange(tp, start, end))
    return fetchable, gone


def pieces(ranges: Iterable[OffsetRange], most: int) -> Iterator[tuple[OffsetRange, ...]]:
    """Yield the ranges in groups of at most `most` offsets, cut where necessary."""
    group: list[OffsetRange] = []
    room = most
    for r in ranges:
        start = r.start
        while start < r.end:
            end = min(r.end, start + room)
            group.append(OffsetRange(r.topic_partition, start, end))
            room -= end - start
            start = end
            if not room:
                yield tuple(group)
                group, room = [], most
    if group:
        yield tuple(group)


def summary_lines(gone: Collection[UnreadableRange]) -> list[str]:
    """Return a line per topic partition and reason, with the number of offsets; adjacent ranges are joined."""
    lines = []
    by_reason: dict[tuple[str, TopicPartition], list[OffsetRange]] = {}
    for item in gone:
        by_reason.setdefault((item.why, item.range.topic_partition), []).append(item.range)
    for (why, _), ranges in sorted(by_reason.items()):
        count = sum(map(len, ranges))
        lines.append(f"{counted(count, 'offset')} {why}: {', '.join(map(str, merge_ranges(ranges)))}")
    return lines
