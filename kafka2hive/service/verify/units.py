"""What `verify --deep` compares at a time: what one task of one epoch read, and every file that holds rows of it. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.kafka.positions import Logs
from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, TopicPartition, merge_ranges
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted

PIECE_OFFSETS = 4_000_000  # compared at a time: bounds the memory of a comparison

Advance = Callable[[int, int], None]
"""Hears how many further files and rows are done."""


@dataclass(slots=True)
class Unit:
    """One task's share: `accounts` by range (empty ranges left out), and the files that its rows went to.

    A file that was dumped again later (`recover --refetch`) belongs to the unit that wrote the lost one.
    """

    epoch: int
    task: int
    accounts: dict[OffsetRange, OffsetAccounting]
    topic_ids: dict[TopicPartition, str]
    files: list[DataFile] = field(default_factory=list)

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return tuple(self.accounts)

    @property
    def rows(self) -> int:
        return sum(a.rows + a.dead_lettered for a in self.accounts.values())


def units_of(finals: Sequence[Snapshot]) -> tuple[list[Unit], list[DataFile]]:
    """All units of finished epochs, oldest first, and the files that belong to none (offsets accepted as a gap)."""
    units: list[Unit] = []
    newest: dict[frozenset[OffsetRange], Unit] = {}
    unassigned: list[DataFile] = []
    for snapshot in finals:
        ids = {p.topic_partition: p.topic_id for p in snapshot.positions}
        here: dict[int, Unit] = {}
        for account in snapshot.accounts:
            if len(account.range):
                unit = here.setdefault(account.task, Unit(snapshot.epoch, account.task, {}, {}))
                unit.accounts[account.range] = account.account
                tp = account.range.topic_partition
                unit.topic_ids[tp] = ids.get(tp, UNKNOWN_ID)
        units += here.values()
        newest.update({frozenset(unit.accounts): unit for unit in here.values()})
        for file in snapshot.files:
            wanted = frozenset(file.ranges)
            own = here.get(file.task)
            unit_of = own if own and wanted == own.accounts.keys() else newest.get(wanted)
            (unassigned if unit_of is None else unit_of.files).append(file)
    return units, unassigned


def without_refetched(
    unit: Unit, contents: Sequence[bytes | None], refetched: Collection[str]
) -> tuple[Unit, list[bytes | None]]:
    """The files that are there (with contents) or whose rows are missed; a file whose records were dumped again is not:
    its rows are in the newer file, and it explains no row that another file of its bucket lacks.
    """
    left = [
        (file, data)
        for file, data in zip(unit.files, contents, strict=True)
        if data is not None or file.final not in refetched
    ]
    return replace(unit, files=[file for file, _ in left]), [data for _, data in left]


@dataclass(frozen=True, slots=True)
class UnreadableUnit:
    """Offsets that cannot be fetched again, and why."""

    range: OffsetRange
    why: str


def fetchable_ranges(unit: Unit, logs: Logs) -> tuple[list[OffsetRange], list[UnreadableUnit]]:
    there: list[OffsetRange] = []
    gone: list[UnreadableUnit] = []
    for r in unit.ranges:
        tp = r.topic_partition
        if tp not in logs.earliest or tp not in logs.latest:
            gone.append(UnreadableUnit(r, "not in Kafka any more"))
            continue
        known, now = unit.topic_ids[tp], logs.cluster.topics[tp.topic].id
        if UNKNOWN_ID not in (known, now) and known != now:
            gone.append(UnreadableUnit(r, "of a topic that was deleted and recreated"))
            continue
        start = min(max(r.start, logs.earliest[tp].offset), r.end)
        end = max(min(r.end, logs.latest[tp].offset), start)
        for part, why in (
            (OffsetRange(tp, r.start, start), "aged out of Kafka"),
            (OffsetRange(tp, end, r.end), "truncated in Kafka"),
        ):
            if len(part):
                gone.append(UnreadableUnit(part, why))
        if start < end:
            there.append(OffsetRange(tp, start, end))
    return there, gone


def pieces(ranges: Iterable[OffsetRange], most: int) -> Iterator[tuple[OffsetRange, ...]]:
    """The ranges in groups of at most `most` offsets, cut where need be."""
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


def summary_lines(gone: Collection[UnreadableUnit]) -> list[str]:
    """One line per topic partition and reason: adjoining ranges joined, the offsets counted."""
    lines = []
    by_reason: dict[tuple[str, TopicPartition], list[OffsetRange]] = {}
    for item in gone:
        by_reason.setdefault((item.why, item.range.topic_partition), []).append(item.range)
    for (why, _), ranges in sorted(by_reason.items()):
        count = sum(map(len, ranges))
        lines.append(f"{counted(count, 'offset')} {why}: {', '.join(map(str, merge_ranges(ranges)))}")
    return lines
