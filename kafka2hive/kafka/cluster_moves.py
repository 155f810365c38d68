"""Decide how a table goes on in another cluster of the map (pure; docs/protocol.md, A table that goes on in another cluster)."""

from dataclasses import replace

from kafka2hive.kafka import problems
from kafka2hive.kafka.positions import Gap, Halt, PositionsToCommit
from kafka2hive.model.offsets import (
    UNKNOWN_ID,
    OffsetRange,
    Position,
    TopicPartition,
    cluster_of,
    name_in_kafka,
    topic_of,
)
from kafka2hive.model.snapshot import Snapshot


def renamed(snapshot: Snapshot, cluster: str, cluster_id: str) -> PositionsToCommit | Halt | None:
    """Move the table's positions to the topics of the same names of `cluster`, which is their cluster under another name.

    Both names are those of a map. Only Kafka's `cluster_id` proves that it is the same cluster. Return None if the ledger has
    positions in this cluster only.
    """
    before = snapshot.cluster_id
    if UNKNOWN_ID not in (before, cluster_id) and before != cluster_id:
        return Halt((problems.cluster_changed(before, cluster_id, cluster),))
    left = [p for p in snapshot.positions if cluster_of(p.topic_partition.topic) != cluster]
    if not left:
        return None
    known = {p.topic_partition for p in snapshot.positions}
    targets = {p: _target(p.topic_partition, cluster) for p in left}
    positions = [replace(p, topic_partition=tp, start=p.end) for p, tp in targets.items() if tp not in known]
    if positions and UNKNOWN_ID in (before, cluster_id):
        return Halt((problems.cluster_unproven(positions[0].topic_partition, cluster),))
    gaps = [_moved(p, tp, f"the same Kafka cluster {cluster_id}") for p, tp in targets.items()]
    return PositionsToCommit(tuple(positions), tuple(gaps))


def _target(left: TopicPartition, cluster: str) -> TopicPartition:
    return TopicPartition(topic_of(cluster, name_in_kafka(left.topic)), left.number)


def _moved(left: Position, target: TopicPartition, where: str) -> Gap:
    return Gap(
        OffsetRange(left.topic_partition, left.end, left.end), f"goes on in {target}, {where}", target.topic
    )
