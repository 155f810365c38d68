"""Where a table resumes in Kafka: a decision from values to a value (docs/protocol.md, First positions).

The caller commits what FirstPositions says in a snapshot without files, then decides again: the answer is Resume.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka import problems
from kafka2hive.kafka.acceptance import GapAcceptance, accepted
from kafka2hive.kafka.port import UNKNOWN_EPOCH, ClusterView, TopicView, Watermark
from kafka2hive.kafka.problems import Problem
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import AcceptedGap, Snapshot


@dataclass(frozen=True, slots=True)
class Logs:
    """What Kafka holds now; `earliest` must have been asked before `latest`, so that no log seems to end before it begins.

    `latest` are last stable offsets: readers with read_committed get no further. `high` are high watermarks, asked after
    those: what Kafka has acknowledged to any producer, also behind a transaction that is open.
    `at_start` answers `offsets_for_times` (offset -1: nothing that new), needed for StartKind.TIMESTAMP only.
    `last_read` is the leader epoch that the record at position.end - 1 has now, where it was asked for and is there.
    """

    cluster: ClusterView
    earliest: Mapping[TopicPartition, Watermark]
    latest: Mapping[TopicPartition, Watermark]
    high: Mapping[TopicPartition, Watermark] = field(default_factory=dict)
    at_start: Mapping[TopicPartition, Watermark] = field(default_factory=dict)
    last_read: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableIntent:
    """What the map and the command line say about one table.

    `topics` are those the table reads now. With `by_pattern` a topic without a position in a table that has some
    begins at its earliest offset, as does every topic of `created_later`: those that did not exist when this run began.
    """

    topics: Collection[str]
    start: StartPolicy
    by_pattern: bool = False
    created_later: Collection[str] = ()
    acceptances: Collection[GapAcceptance] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets accepted as lost; empty when only `reason` is to be recorded."""

    range: OffsetRange
    reason: str

    def recorded(self, accepted_at: str, epoch: int) -> AcceptedGap:
        """As the snapshot of this epoch has it."""
        return AcceptedGap(range=self.range, reason=self.reason, accepted_at=accepted_at, epoch=epoch)


@dataclass(frozen=True, slots=True)
class Resume:
    """Nothing in the way: `ranges` = [position, log end) of every topic partition the table reads, also empty ones."""

    ranges: tuple[OffsetRange, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PositionsToCommit:
    """To be committed first: `positions` (start == end) replace or join the table's, `gaps` join its accepted ones."""

    positions: tuple[Position, ...]
    gaps: tuple[Gap, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Halt:
    """The table is to be set aside; `problems` is never empty and holds every one of them."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()


Decision = Resume | PositionsToCommit | Halt


def decide(snapshot: Snapshot, logs: Logs, intent: TableIntent) -> Decision:
    """Where the table of `snapshot` resumes. Pure; the order of topics does not matter."""
    found = _Findings()
    before, now = snapshot.cluster_id, logs.cluster.cluster_id
    if snapshot.positions and UNKNOWN_ID not in (before, now) and before != now:
        return Halt((problems.cluster_changed(before, now),))
    known: dict[str, list[Position]] = {}
    for position in snapshot.positions:
        known.setdefault(position.topic_partition.topic, []).append(position)
    for topic in sorted(set(intent.topics)):
        view = logs.cluster.topics.get(topic)
        if view is None:
            found.warnings.append(f"topic {topic} is not in Kafka; what was read of it keeps its position")
        elif topic not in known:
            earliest = topic in intent.created_later or (intent.by_pattern and bool(snapshot.positions))
            policy = StartPolicy(StartKind.EARLIEST) if earliest else intent.start
            _first_positions(view, policy, logs, found)
        else:
            _known_topic(view=view, positions=known[topic], logs=logs, intent=intent, found=found)
    return found.decision()


@dataclass(slots=True)
class _Findings:
    """What was found so far, topic by topic."""

    ranges: list[OffsetRange] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def decision(self) -> Decision:
        warnings = tuple(self.warnings)
        if self.problems:
            return Halt(tuple(self.problems), warnings)
        if self.positions:
            return PositionsToCommit(tuple(self.positions), tuple(self.gaps), warnings)
        return Resume(tuple(self.ranges), warnings)


def _first_positions(view: TopicView, policy: StartPolicy, logs: Logs, found: _Findings) -> None:
    """A topic the table never read: all of its partitions get a position, or none."""
    topic_partitions = view.topic_partitions()
    by_time = policy.kind is StartKind.TIMESTAMP
    if not all(_answered(tp, logs) and (tp in logs.at_start or not by_time) for tp in topic_partitions):
        found.warnings.append(f"topic {view.name} is not begun: Kafka does not give all its offsets")
        return
    positions = []
    for tp in topic_partitions:
        offset = _start_offset(tp, policy, logs)
        earliest, latest = logs.earliest[tp].offset, logs.latest[tp].offset
        if offset is None:
            found.problems.append(problems.start_offset_missing(tp))
        elif not earliest <= offset <= latest:
            found.problems.append(problems.start_offset_outside(tp, offset, earliest, latest))
        else:
            positions.append(Position(tp, offset, offset, view.id))
    found.positions.extend(positions)
    if policy.kind is StartKind.LATEST:
        left_out = sum(p.end - logs.earliest[p.topic_partition].offset for p in positions)
        if left_out:
            found.warnings.append(problems.left_out_by_latest(view.name, left_out))


def _start_offset(tp: TopicPartition, policy: StartPolicy, logs: Logs) -> int | None:
    """The policy's offset; None when explicit offsets were given but none for `tp`."""
    match policy.kind:
        case StartKind.EARLIEST:
            return logs.earliest[tp].offset
        case StartKind.LATEST:
            return logs.latest[tp].offset
        case StartKind.TIMESTAMP:
            # asked after the end: the first record that is new enough may have come in between
            at_start, latest = logs.at_start[tp].offset, logs.latest[tp].offset
            return min(at_start, latest) if at_start >= 0 else latest
        case StartKind.OFFSETS:
            given = {TopicPartition(topic, number): offset for topic, number, offset in policy.offsets}
            return given.get(tp)


def _known_topic(
    view: TopicView, positions: list[Position], logs: Logs, intent: TableIntent, found: _Findings
) -> None:
    """A topic the table has read before, with all or some of its present partitions."""
    ids = {position.topic_id for position in positions} - {UNKNOWN_ID, view.id}
    if ids and view.id != UNKNOWN_ID:
        _recreated(
            view=view, before=sorted(ids)[0], positions=positions, logs=logs, intent=intent, found=found
        )
        return
    by_tp = {position.topic_partition: position for position in positions}
    present = view.topic_partitions()
    for tp in sorted(set(by_tp).difference(present)):
        found.warnings.append(f"{tp} is not in Kafka any more; its position {by_tp[tp].end} is kept")
    for tp in present:
        if _answered(tp, logs):
            # one that appears later begins at offset 0: whatever was in it is new to the table
            _known_partition(
                position=by_tp.get(tp), new=Position(tp, 0, 0, view.id), logs=logs, intent=intent, found=found
            )
        else:
            found.warnings.append(f"{tp} is left out this time: Kafka does not give its offsets")


def _known_partition(
    position: Position | None, new: Position, logs: Logs, intent: TableIntent, found: _Findings
) -> None:
    at = position or new
    tp = at.topic_partition
    earliest, latest = logs.earliest[tp].offset, logs.latest[tp].offset
    if at.end > latest:
        lost = OffsetRange(tp, latest, at.end)
        problem = problems.beyond_end(lost)
        gap = Gap(OffsetRange(tp, latest, latest), f"log truncated: {lost} had been read")
    elif at.end < earliest:
        missing = OffsetRange(tp, at.end, earliest)
        problem, gap = problems.aged_out(missing), Gap(missing, "gone from Kafka before it was read")
    elif position is None:
        found.positions.append(new)
        return
    elif (rewrite := _rewrite(position, logs)) is not None:
        problem, gap = rewrite, Gap(OffsetRange(tp, at.end, at.end), rewrite.message)
    else:
        found.ranges.append(OffsetRange(tp, at.end, latest))
        return
    resume_at = gap.range.end
    if accepted(intent.acceptances, tp, resume_at):
        found.gaps.append(gap)
        found.positions.append(Position(tp, resume_at, resume_at, new.topic_id))
    else:
        found.problems.append(problem)


def _rewrite(position: Position, logs: Logs) -> Problem | None:
    """A log was rewritten when its last epoch is below ours, or the record that we read last has another one now."""
    tp, read = position.topic_partition, position.leader_epoch
    now = logs.last_read.get(tp, read)
    end = logs.latest[tp].leader_epoch
    if read == UNKNOWN_EPOCH or position.end == 0 or (now == read and (end == UNKNOWN_EPOCH or end >= read)):
        return None
    return problems.rewritten(tp, position.end - 1, read, now if now != read else end)


def _recreated(
    view: TopicView, before: str, positions: list[Position], logs: Logs, intent: TableIntent, found: _Findings
) -> None:
    """Another topic of the same name: begins at its earliest offsets once that is accepted, all partitions or none."""
    present = view.topic_partitions()
    if not all(_answered(tp, logs) for tp in present):
        found.warnings.append(f"topic {view.name} is left out this time: Kafka does not give all its offsets")
        return
    if not all(accepted(intent.acceptances, tp, logs.earliest[tp].offset) for tp in present):
        found.problems.append(problems.topic_recreated(view.name, before, view.id))
        return
    for tp in present:
        earliest = logs.earliest[tp].offset
        found.positions.append(Position(tp, earliest, earliest, view.id))
    # numbers that only the old topic had begin at 0 should the new one ever get them
    vanished = {position.topic_partition for position in positions}.difference(present)
    found.positions.extend(Position(tp, 0, 0, view.id) for tp in sorted(vanished))
    reason = f"topic {view.name} recreated: id {before}, now {view.id}"
    for p in positions:
        found.gaps.append(Gap(OffsetRange(p.topic_partition, p.end, p.end), reason))


def _answered(tp: TopicPartition, logs: Logs) -> bool:
    return tp in logs.earliest and tp in logs.latest
