"""Decide how a table goes on in another cluster of the map (pure; docs/protocol.md, A table that goes on in another cluster)."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from kafka2hive.kafka import problems
from kafka2hive.kafka.neighbours import Neighbours
from kafka2hive.kafka.positions import Gap, Halt, PositionsToCommit
from kafka2hive.kafka.problems import Problem
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


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """Where a position may go on in another cluster: the target's log holds [earliest, latest), and has `topic_id`.

    `here` and `there` are the records around the position and around `offset`; `here` is None if the former cluster cannot be
    read.
    """

    position: Position
    topic_partition: TopicPartition
    offset: int
    earliest: int
    latest: int
    topic_id: str
    here: Neighbours | None
    there: Neighbours


def moved(targets: Collection[MoveTarget], cluster_id: str, *, unproven: bool) -> PositionsToCommit | Halt:
    """Move positions to another cluster, at offsets around which both clusters have the same records.

    With `unproven`, records that cannot be compared are no problem; records that differ always are.
    """
    found = [(target, _problem(target)) for target in targets]
    halts = [p for _, p in found if p is not None and not (unproven and p.code == "kafka.cluster_unproven")]
    if halts:
        return Halt(tuple(halts))
    gaps = []
    for target, problem in found:
        same = (
            f"the same records before it: {_compared(target)}"
            if problem is None
            else "accepted without proof"
        )
        where = f"offset {target.offset} of the Kafka cluster {cluster_id}, {same}"
        gaps.append(_moved(target.position, target.topic_partition, where))
    positions = tuple(Position(t.topic_partition, t.offset, t.offset, t.topic_id) for t in targets)
    return PositionsToCommit(positions, tuple(gaps))


def _compared(target: MoveTarget) -> int:
    """Return how many records before the position are compared."""
    return 0 if target.here is None else min(len(target.here.before), len(target.there.before))


def _problem(target: MoveTarget) -> Problem | None:
    position, new = target.position, (target.topic_partition, target.offset)
    old = position.topic_partition, position.end
    unproven = problems.cluster_unproven(target.topic_partition, cluster_of(target.topic_partition.topic))
    if not target.earliest <= target.offset <= target.latest:
        return problems.cluster_offset_outside(new, target.earliest, target.latest)
    if target.here is None:
        return unproven
    here, there = target.here, target.there
    for ours, theirs in zip(reversed(here.before), reversed(there.before), strict=False):
        if ours != theirs:
            return problems.cluster_records_differ(old, new, (ours.offset, theirs.offset))
    if here.after is not None and there.after is not None and here.after != there.after:
        return problems.cluster_records_differ(old, new, (here.after.offset, there.after.offset))
    if here.after is None and there.after is not None and here.before and there.after == here.before[-1]:
        return problems.cluster_records_differ(old, new, (here.before[-1].offset, there.after.offset))
    if not position.end:
        return (
            problems.cluster_records_differ(old, new, (0, there.before[0].offset)) if there.before else None
        )
    compared = there.before[len(there.before) - _compared(target) :]
    is_one_record = len(compared) > 1 and len({*compared}) == 1  # then the next offset would look the same
    return unproven if is_one_record or not (compared or (here.after and there.after)) else None
