"""Where a table goes on in another Kafka cluster, and the records that both clusters have there."""

import csv
from collections.abc import Collection
from pathlib import Path

from kafka2hive.config.rules.table_options import epoch_milliseconds
from kafka2hive.kafka.cluster_moves import MoveTarget
from kafka2hive.kafka.neighbours import Neighbours, neighbours
from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, Position, TopicPartition, cluster_of, name_in_kafka
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.recover.result import ClusterOffsets, OffsetPair
from kafka2hive.service.wiring import Wiring

SECONDS = 30.0
HEADER = ["topic", "partition", "old", "new"]


def read_pairs(path: str) -> tuple[OffsetPair, ...]:
    """Return the lines of a CSV file with the header `topic,partition,old,new`. Raises ConfigError (`usage.cluster_offsets`)."""
    number, pairs = 0, []
    try:
        with Path(path).open(newline="") as file:
            for row in csv.reader(file):
                number += 1
                if row and row != HEADER:
                    topic, partition, old, new = row
                    pairs.append(OffsetPair(TopicPartition(topic, int(partition)), int(old), int(new)))
    except (OSError, ValueError) as error:
        raise ConfigError(
            "usage.cluster_offsets",
            f"{path} line {number}: {error}",
            f"write a CSV file with the lines {','.join(HEADER)}",
        ) from error
    return tuple(pairs)


def cluster_offsets_of(file: str | None, at: str | None, *, unproven: bool) -> ClusterOffsets | None:
    """Return what the options say, None if none of them is given. Raises ConfigError (`usage.cluster_offsets`)."""
    if file is None and at is None and not unproven:
        return None
    if (file is None) == (at is None):
        raise ConfigError("usage.cluster_offsets", "give either --cluster-offsets FILE or --cluster-at TIME")
    try:
        at_ms = None if at is None else epoch_milliseconds(at)
    except ValueError as error:
        raise ConfigError(
            "usage.cluster_offsets",
            f"--cluster-at {at}: {error}",
            "write a time such as 2026-12-01T06:00:00Z",
        ) from error
    return ClusterOffsets(() if file is None else read_pairs(file), at_ms, unproven)


class ClusterEvidence:
    """Reads the clusters of the map: `view` is `kafka`'s answer about them."""

    def __init__(self, wiring: Wiring, kafka: Kafka, view: ClusterView) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self._view = view

    def targets(
        self, state: Snapshot, topics: Collection[str], offsets: ClusterOffsets
    ) -> tuple[MoveTarget, ...]:
        """Return where each position goes on in the table's `topics`. Raises ConfigError, ServiceUnavailable."""
        pairs = {p: self._topic_partition(p, topics) for p in state.positions}
        new = _translated(pairs, offsets) if offsets.at_ms is None else self._by_time(pairs, offsets.at_ms)
        earliest, latest = self._kafka.earliest(new), self._kafka.latest(new)
        if silent := sorted(new.keys() - (earliest.keys() & latest.keys())):
            raise ServiceUnavailable(
                "kafka.unavailable",
                f"Kafka does not give the offsets of {silent[0]}",
                "bring its leader back",
            )
        inside = [(tp, at) for tp, at in new.items() if earliest[tp].offset <= at <= latest[tp].offset]
        there = self._around(cluster_of(min(new).topic), inside)
        here = self._here(state)
        return tuple(
            MoveTarget(
                position=position,
                topic_partition=tp,
                offset=new[tp],
                earliest=earliest[tp].offset,
                latest=latest[tp].offset,
                topic_id=self._view.topics[tp.topic].id,
                here=here.get(position.topic_partition),
                there=there.get(tp, Neighbours()),
            )
            for position, tp in pairs.items()
        )

    def _topic_partition(self, position: Position, topics: Collection[str]) -> TopicPartition:
        """Return the one of the same number in the topic of the same name, or of that name after a prefix and a dot."""
        topic, number = position.topic_partition.key
        names = [name for name in topics if name_in_kafka(name) == topic]
        names = names or [name for name in topics if name_in_kafka(name).endswith(f".{topic}")]
        view = self._view.topics.get(names[0]) if len(names) == 1 else None
        if view is None or number not in view.partitions:
            raise ConfigError(
                "usage.cluster_offsets",
                f"{position.topic_partition} is in no topic of the table in the new cluster, or in several:"
                f" {', '.join(sorted(topics))}",
                f"let the map list the mirror of {topic}: a topic {topic} or PREFIX.{topic} with as many partitions",
            )
        return TopicPartition(view.name, number)

    def _by_time(self, pairs: dict[Position, TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        asked = list(pairs.values())
        ends, found = self._kafka.latest(asked), self._kafka.offsets_for_times(asked, at_ms)
        return {
            tp: found[tp].offset if found[tp].offset >= 0 else ends[tp].offset
            for tp in asked
            if tp in found and tp in ends
        }

    def _here(self, state: Snapshot) -> dict[TopicPartition, Neighbours]:
        """Return the records around positions in the cluster that was read, if the map names it and the topic is the same."""
        ids = self._view.ids or {"": self._view.cluster_id}
        name = next((n for n, known in ids.items() if UNKNOWN_ID != known == state.cluster_id), None)
        if name is None:
            return {}
        by_key = {}
        views = self._wiring.kafka_cluster(name, SECONDS).cluster().topics
        for position in state.positions:
            view = views.get(position.topic_partition.key[0])
            if view is not None and UNKNOWN_ID != view.id == position.topic_id:
                by_key[TopicPartition(*position.topic_partition.key)] = position
        asked = [(tp, position.end) for tp, position in by_key.items()]
        found = neighbours(self._wiring.map.clusters[name], asked, SECONDS)
        return {by_key[tp].topic_partition: around for (tp, _), around in found.items()}

    def _around(
        self, cluster: str, addresses: Collection[tuple[TopicPartition, int]]
    ) -> dict[TopicPartition, Neighbours]:
        own = {(TopicPartition(*tp.key), at): tp for tp, at in addresses}
        found = neighbours(self._wiring.map.clusters[cluster], own, SECONDS)
        return {own[address]: around for address, around in found.items()}


def _translated(pairs: dict[Position, TopicPartition], offsets: ClusterOffsets) -> dict[TopicPartition, int]:
    """Return the new offsets: each position's line, or the nearest one before it and as many offsets after that.

    A mirror writes only some of its translations; the records show whether the distance is the same in both clusters.
    """
    new: dict[TopicPartition, int] = {}
    for position, tp in pairs.items():
        names = {position.topic_partition, TopicPartition(*position.topic_partition.key)}
        lines = [p for p in offsets.pairs if p.topic_partition in names and p.old <= position.end]
        if not lines or (offsets.unproven and max(p.old for p in lines) < position.end):
            raise ConfigError(
                "usage.cluster_offsets",
                f"no line of the offsets is for {position.topic_partition} at {position.end}",
                "add a line topic,partition,old,new with this offset and that of the same record in the new cluster",
            )
        nearest = max(lines, key=lambda pair: pair.old)
        new[tp] = nearest.new + position.end - nearest.old
    return new
