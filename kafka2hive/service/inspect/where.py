"""`kafka2hive where TOPIC-N@OFFSET`: in which epoch and in which files an offset lies, table by table. Only reads."""

import re
from dataclasses import dataclass

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.tables.ledgers import did_you_mean, each_ledger, ledger_tables, readable
from kafka2hive.service.tables.routes import known_routes
from kafka2hive.service.wiring import Wiring

NOT_BEGUN = "not read yet: the table has no position of it"

_PLACE = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<number>\d+)@(?P<offset>\d+)")


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
        """Raises ConfigError (`usage.place`)."""
        found = _PLACE.fullmatch(text)
        if not found:
            raise ConfigError(
                "usage.place", f"not a place: {text!r}", "write TOPIC-PARTITION@OFFSET, e.g. flights-3@12345"
            )
        return OffsetPlace(TopicPartition(found["topic"], int(found["number"])), int(found["offset"]))


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """Where one table has the offset. `epoch` None: `answer` says why it has none.

    `files` are those of the task that read the offset: the record is in one of them (the bucket tells which), or it was
    a tombstone, filtered or absent, as the account in the epoch's snapshot says.
    """

    table: str
    answer: str
    epoch: int | None = None
    files: tuple[DataFile, ...] = ()


def where(wiring: Wiring, place: OffsetPlace) -> tuple[FoundPlace, ...]:
    """Ask every ledger of the map's service that has read the topic partition.

    Raises ServiceUnavailable, ManualActionRequired, ConfigError (no table reads that topic partition).
    """
    read: set[TopicPartition] = set()
    states: list[Snapshot] = []

    def search(view: View) -> list[FoundPlace]:
        if view.state.service != wiring.map.service:
            return []
        table = view.paths.table
        read.update(p.topic_partition for p in view.state.positions)
        states.append(view.state)
        position = view.state.position(place.topic_partition)
        if position is None:
            return []
        if place.offset >= position.end:
            return [FoundPlace(table, f"not read yet: the table stands at {position.end}")]
        pending = [view.state] if view.newest.pending else []
        snapshots = [*pending, *final_snapshots(wiring.ports.files, view.paths, view.directory)]
        return [_in_history(table, snapshots, place)]

    found = tuple(readable(each_ledger(wiring, ledger_tables(wiring), search)))
    return found or _not_begun(wiring, place, read, states)


def _not_begun(
    wiring: Wiring, place: OffsetPlace, read: set[TopicPartition], states: list[Snapshot]
) -> tuple[FoundPlace, ...]:
    """Nobody has read the topic partition: tables of the map that will.

    Raises ConfigError when there are none, TableError where the topic makes the name of a table that reads another.
    """
    topic = place.topic_partition.topic
    partitions = sorted(tp.number for tp in read if tp.topic == topic)
    if partitions:
        raise ConfigError(
            "usage.no_such_topic",
            f"no table of service {wiring.map.service} has read partition {place.topic_partition.number} of {topic}",
            f"of this topic there are positions of {', '.join(map(str, partitions))}",
        )
    for conflict in known_routes(wiring, states, [topic]).conflicts:
        if conflict.topic == topic:
            raise conflict.error
    waiting = tuple(FoundPlace(rule.table, NOT_BEGUN) for rule in wiring.map.tables if topic in rule.topics)
    if not waiting:
        raise ConfigError(
            "usage.no_such_topic",
            f"no table of service {wiring.map.service} has read topic {topic}",
            did_you_mean(topic, {tp.topic for tp in read}),
        )
    return waiting


def _in_history(table: str, snapshots: list[Snapshot], place: OffsetPlace) -> FoundPlace:
    """Newest first; the epoch whose account covers the offset."""
    for snapshot in snapshots:
        for gap in snapshot.gaps:
            if gap.epoch == snapshot.epoch and place.is_in(gap.range):
                return FoundPlace(table, f"accepted as lost: {gap.reason}", snapshot.epoch)
        for account in snapshot.accounts:
            if place.is_in(account.range):
                answer = f"read by task {account.task} of epoch {snapshot.epoch}"
                of_task = (f for f in snapshot.files if f.task == account.task)
                files = tuple(f for f in of_task if account.range in f.ranges)
                return FoundPlace(table, answer, snapshot.epoch, files)
    return FoundPlace(table, "before the table's first position: it began later")
