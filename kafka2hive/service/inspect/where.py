"""`kafka2hive where TOPIC-N@OFFSET`: the epoch that read an offset and the files it wrote, for each table. Only reads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafka2hive.ledger.early_files import in_unit
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.ledger.retention import KEEP_SECONDS
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import unix_seconds, utc_text
from kafka2hive.service.tables.ledgers import (
    did_you_mean,
    each_ledger,
    ledger_tables,
    literal_rules,
    readable,
    refuse_lost_ledgers,
)
from kafka2hive.service.topics.routes import known_routes
from kafka2hive.service.wiring import Wiring

NOT_BEGUN = "not read yet: the table has no position in this topic partition"

_PLACE = re.compile(r"(?P<topic>(?:[A-Za-z0-9_-]+/)?[A-Za-z0-9._-]+)-(?P<number>\d+)@(?P<offset>\d+)")


@dataclass(frozen=True, slots=True, order=True)
class OffsetPlace:
    """An offset of a topic partition, written `topic-3@12345`."""

    topic_partition: TopicPartition
    offset: int

    def __str__(self) -> str:
        return f"{self.topic_partition}@{self.offset}"

    def is_in(self, source: OffsetRange) -> bool:
        return self.topic_partition == source.topic_partition and source.start <= self.offset < source.end

    @staticmethod
    def parse(text: str) -> "OffsetPlace":
        """Return the place that `text` names. Raises ConfigError (`usage.place`)."""
        match = _PLACE.fullmatch(text)
        if not match:
            raise ConfigError(
                "usage.place", f"not a place: {text!r}", "write TOPIC-PARTITION@OFFSET, e.g. flights-3@12345"
            )
        return OffsetPlace(TopicPartition(match["topic"], int(match["number"])), int(match["offset"]))


@dataclass(frozen=True, slots=True)
class PartitionDrop:
    """What became of a dropped Hive partition: `epoch` dropped it, with its files of this and earlier epochs (E2).

    `gone_since` is as in DroppedPartition. `deleted_at` is the time of the first snapshot without the partition's line, which
    means that its files are deleted; "" until then. Times are ISO-8601 UTC.
    """

    epoch: int
    gone_since: str = ""
    deleted_at: str = ""

    @property
    def deletable_from(self) -> str:
        """When the files may be deleted, if Hive does not have the partition again until then; "" if Hive may have it now."""
        since = unix_seconds(self.gone_since)
        return "" if since is None else utc_text(since + KEEP_SECONDS)


def partition_drops(snapshots: Iterable[Snapshot]) -> Iterator[tuple[HivePartition, PartitionDrop]]:
    """Yield the dropped Hive partitions of `snapshots`, which come newest first. A partition's first drop is its newest."""
    deleted_at = ""
    for snapshot in snapshots:
        for line in snapshot.dropped:
            yield line.partition, PartitionDrop(line.epoch, line.gone_since, deleted_at)
        deleted_at = snapshot.written_at


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """What became of the offset in one table. `epoch` is None if no epoch has read it; `answer` then says why.

    `files` holds the files of the task that read the offset: the record is in the one of its bucket, unless it was a tombstone,
    filtered or absent, which the account in the epoch's snapshot shows. `drops` says which of these files are in dropped
    partitions, and `withheld` which of them Hive must not have before a certificate; both by their final paths.
    """

    table: str
    answer: str
    epoch: int | None = None
    files: tuple[DataFile, ...] = ()
    drops: Mapping[str, PartitionDrop] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()


def where(wiring: Wiring, place: OffsetPlace) -> tuple[PlaceAnswer, ...]:
    """Return one answer for each table of the map's service that reads the topic partition.

    Raises ServiceUnavailable, ManualActionRequired (also if the ledger of a table that reads the topic is gone), ConfigError (no
    table reads that topic partition).
    """
    known: set[TopicPartition] = set()
    states: list[Snapshot] = []

    def search(view: View) -> list[PlaceAnswer]:
        if view.state.service != wiring.map.service:
            return []
        table = view.paths.table
        known.update(p.topic_partition for p in view.state.positions)
        states.append(view.state)
        position = view.state.position(place.topic_partition)
        if position is None:
            return []
        if place.offset >= position.end:
            return [PlaceAnswer(table, f"not read yet: the table's position is {position.end}")]
        pending = [view.state] if view.newest.pending else []
        snapshots = [*pending, *final_snapshots(wiring.ports.files, view.paths, view.directory)]
        answer = _with_drops(_in_history(table, snapshots, place), snapshots)
        return [_with_withheld(answer, view.state)]

    ledgers = ledger_tables(wiring)
    topic = place.topic_partition.topic
    readers = [name for name, rule in literal_rules(wiring).items() if topic in rule.topics]
    if readers:
        refuse_lost_ledgers(wiring, readers, [paths.table for paths in ledgers])
    answers = tuple(readable(each_ledger(wiring, ledgers, search)))
    return answers or _not_begun(wiring, place, known, states)


def _not_begun(
    wiring: Wiring, place: OffsetPlace, known: set[TopicPartition], states: list[Snapshot]
) -> tuple[PlaceAnswer, ...]:
    """Return an answer for each table of the map that will read a topic partition which no ledger knows yet.

    Raises ConfigError if there is no such table, TableError if the topic's table already reads another topic.
    """
    topic = place.topic_partition.topic
    partitions = sorted(tp.number for tp in known if tp.topic == topic)
    if partitions:
        raise ConfigError(
            "usage.no_such_topic",
            f"no table of service {wiring.map.service} has read partition {place.topic_partition.number} of {topic}",
            f"the ledgers have positions in its partitions {', '.join(map(str, partitions))}",
        )
    for conflict in known_routes(wiring, states, [topic]).conflicts:
        if conflict.topic == topic:
            raise conflict.error
    waiting = tuple(PlaceAnswer(rule.table, NOT_BEGUN) for rule in wiring.map.tables if topic in rule.topics)
    if not waiting:
        raise ConfigError(
            "usage.no_such_topic",
            f"no table of service {wiring.map.service} has read topic {topic}",
            did_you_mean(topic, {tp.topic for tp in known}),
        )
    return waiting


def _with_drops(answer: PlaceAnswer, snapshots: list[Snapshot]) -> PlaceAnswer:
    """Return the answer with the drops of its files' partitions."""
    files: dict[tuple[str, str], list[DataFile]] = {}
    for file in answer.files:
        files.setdefault(file.hive_partition.name, []).append(file)
    drops: dict[str, PartitionDrop] = {}
    for home, drop in partition_drops(snapshots):
        of_home = files.get(home.name, ())
        drops.update({f.final: drop for f in of_home if f.final not in drops and _is_in(f, drop)})
    return replace(answer, drops=drops)


def _with_withheld(answer: PlaceAnswer, newest: Snapshot) -> PlaceAnswer:
    """Return the answer with those of its files whose partitions wait for a certificate before Hive gets them."""
    names = {each.name for each in newest.withheld}
    files = (f for f in answer.files if f.kind is not FileKind.DEAD_LETTER and f.hive_partition.name in names)
    return replace(answer, withheld=frozenset(file.final for file in files))


def _is_in(file: DataFile, drop: PartitionDrop) -> bool:
    name = DataFileName.parse(base_name(file.final))
    return name is not None and name[0].epoch <= drop.epoch


def _after_compaction(answer: PlaceAnswer, snapshots: list[Snapshot]) -> PlaceAnswer:
    """Return the answer with each early file that was compacted replaced by the files of its compaction unit."""
    files: dict[str, DataFile] = {}
    epochs = set[int]()
    for file in answer.files:
        written = [
            (snapshot.epoch, other)
            for snapshot in snapshots
            for unit in snapshot.units
            if unit.partition.path == file.hive_partition.path and in_unit(file, unit)
            for other in snapshot.files
            if (other.hive_partition, other.task) == (unit.partition, unit.task)
        ]
        epochs |= {epoch for epoch, _ in written}
        files |= {each.final: each for each in [each for _, each in written] or [file]}
    compacted = f", compacted in epoch {max(epochs)}" if epochs else ""
    return PlaceAnswer(answer.table, answer.answer + compacted, answer.epoch, tuple(files.values()))


def _in_history(table: str, snapshots: list[Snapshot], place: OffsetPlace) -> PlaceAnswer:
    """Return the epoch of `snapshots`, newest first, whose accounts or accepted gaps cover the offset.

    If dead letters of its task were replayed since, the files are those that readers see now.
    """
    replayed: set[str] = set()
    later: list[DataFile] = []
    for snapshot in snapshots:
        for gap in snapshot.gaps:
            if gap.epoch == snapshot.epoch and place.is_in(gap.range):
                return PlaceAnswer(table, f"accepted as lost: {gap.reason}", snapshot.epoch)
        for account in snapshot.accounts:
            if place.is_in(account.range):
                answer = f"read by task {account.task} of epoch {snapshot.epoch}"
                of_task = (f for f in (*snapshot.files, *later) if f.task == account.task or f in later)
                files = tuple(f for f in of_task if account.range in f.ranges and f.final not in replayed)
                return _after_compaction(PlaceAnswer(table, answer, snapshot.epoch, files), snapshots)
        if snapshot.replayed:
            later += snapshot.files
            replayed |= {one.path for one in snapshot.replayed}
    return PlaceAnswer(table, "before the table's first position: the table began later")
