"""Decide where a table resumes in Kafka (pure; docs/protocol.md, First positions), and which gaps an operator accepts.

If the decision is PositionsToCommit, the caller commits them in a snapshot without files and decides again; the answer is
then Resume.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka import problems
from kafka2hive.kafka.port import UNKNOWN_EPOCH, ClusterView, TopicView, Watermark
from kafka2hive.kafka.problems import Problem
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, Position, TopicPartition, cluster_of
from kafka2hive.model.snapshot import AcceptedGap, Snapshot

_ACCEPTANCE = re.compile(
    r"(?P<topic>(?:[A-Za-z0-9_-]+/)?[A-Za-z0-9._-]+):(?P<number>\d+|\*)(?::(?P<up_to>\d+))?"
)


@dataclass(frozen=True, slots=True)
class GapAcceptance:
    """One accepted gap. `number` None covers every partition of the topic, `up_to` None any offset."""

    topic: str
    number: int | None = None
    up_to: int | None = None

    def __str__(self) -> str:
        number = "*" if self.number is None else str(self.number)
        return f"{self.topic}:{number}" + ("" if self.up_to is None else f":{self.up_to}")

    @staticmethod
    def parse(text: str) -> "GapAcceptance":
        """Parse `TOPIC:PARTITION`, `TOPIC:*` or `TOPIC:PARTITION:UP_TO`. Raises ConfigError (`usage.accept_gap`)."""
        match = _ACCEPTANCE.fullmatch(text)
        if not match:
            raise ConfigError(
                "usage.accept_gap",
                f"not a gap: {text!r}",
                "write TOPIC:PARTITION, TOPIC:* for all its partitions, or TOPIC:PARTITION:UP_TO_OFFSET",
            )
        number = None if match["number"] == "*" else int(match["number"])
        return GapAcceptance(match["topic"], number, int(match["up_to"]) if match["up_to"] else None)

    def covers(self, topic_partition: TopicPartition, resumes_at: int) -> bool:
        """Return whether this topic partition may resume at `resumes_at`."""
        return (
            self.topic == topic_partition.topic
            and self.number in (None, topic_partition.number)
            and (self.up_to is None or resumes_at <= self.up_to)
        )


def is_accepted(
    acceptances: Collection[GapAcceptance], topic_partition: TopicPartition, resumes_at: int
) -> bool:
    """Return whether any of `acceptances` lets this topic partition resume at `resumes_at`."""
    return any(acceptance.covers(topic_partition, resumes_at) for acceptance in acceptances)


@dataclass(frozen=True, slots=True)
class Logs:
    """The logs in Kafka now. `earliest` must be requested before `latest`, so that no log seems to end before it begins.

    `latest` are last stable offsets, the end of what read_committed gets. `high` are high watermarks, requested after
    `latest`: everything that Kafka has acknowledged to producers, also behind an open transaction.
    `at_start` is the answer of `offsets_for_times` (offset -1: no record that new); only StartKind.TIMESTAMP needs it.
    `last_read` is the current leader epoch of the record at position.end - 1, if it was requested and the record exists.
    """

    cluster: ClusterView
    earliest: Mapping[TopicPartition, Watermark]
    latest: Mapping[TopicPartition, Watermark]
    high: Mapping[TopicPartition, Watermark] = field(default_factory=dict)
    at_start: Mapping[TopicPartition, Watermark] = field(default_factory=dict)
    last_read: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableIntent:
    """The settings of one table in the map and on the command line.

    `topics` are the topics that the table reads now; `created_later` holds those of them that did not exist when this run
    began.
    A new topic begins at its earliest offset if it is in `created_later`, or if `by_pattern` is set and the table
    already has positions. Otherwise it begins as `start` says.
    """

    topics: Collection[str]
    start: StartPolicy
    by_pattern: bool = False
    created_later: Collection[str] = ()
    acceptances: Collection[GapAcceptance] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets accepted as lost. The range is empty if only `reason` must be recorded. `moved_to` is as in AcceptedGap."""

    range: OffsetRange
    reason: str
    moved_to: str = ""

    def entry(self, accepted_at: str, epoch: int) -> AcceptedGap:
        """Return the gap as the snapshot of `epoch` holds it."""
        return AcceptedGap(
            range=self.range,
            reason=self.reason,
            accepted_at=accepted_at,
            epoch=epoch,
            moved_to=self.moved_to,
        )


@dataclass(frozen=True, slots=True)
class Resume:
    """The table can read. `ranges` are [position, log end) of every topic partition that it reads, even if empty."""

    ranges: tuple[OffsetRange, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PositionsToCommit:
    """The table must first commit `positions` (start == end), which replace or extend its own, and `gaps`."""

    positions: tuple[Position, ...]
    gaps: tuple[Gap, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Halt:
    """The table must be set aside. `problems` holds every problem and is never empty."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()


Decision = Resume | PositionsToCommit | Halt


def decide(snapshot: Snapshot, logs: Logs, intent: TableIntent) -> Decision:
    """Decide where the table of `snapshot` resumes. The order of topics does not matter."""
    findings = _Findings(snapshot.table)
    cluster = cluster_of(min(intent.topics, default=""))
    before, now = snapshot.cluster_id, logs.cluster.id_of(cluster)
    if snapshot.positions and intent.topics:
        if UNKNOWN_ID not in (before, now) and before != now:
            return Halt((problems.cluster_changed(before, now, cluster),))
        others = {cluster_of(topic) for topic in snapshot.topics} - {cluster}
        if others:  # a rebuilt ledger of a table that has moved may have positions in both
            return Halt((problems.cluster_renamed(min(others), cluster),))
    known: dict[str, list[Position]] = {}
    for position in snapshot.positions:
        known.setdefault(position.topic_partition.topic, []).append(position)
    for topic in sorted(set(intent.topics)):
        view = logs.cluster.topics.get(topic)
        if view is None:
            findings.warnings.append(f"topic {topic} is not in Kafka; the table keeps its positions in it")
        elif topic not in known:
            earliest = topic in intent.created_later or (intent.by_pattern and bool(snapshot.positions))
            policy = StartPolicy(StartKind.EARLIEST) if earliest else intent.start
            _first_positions(view, policy, logs, findings)
        else:
            _known_topic(view=view, positions=known[topic], logs=logs, intent=intent, findings=findings)
    return findings.decision()


@dataclass(slots=True)
class _Findings:
    """Collects ranges, positions, gaps, problems and warnings, one topic after another."""

    table: str
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


def _first_positions(view: TopicView, policy: StartPolicy, logs: Logs, findings: _Findings) -> None:
    """Begin a topic that the table has never read: all of its topic partitions get a position, or none does."""
    topic_partitions = view.topic_partitions()
    by_time = policy.kind is StartKind.TIMESTAMP
    if not all(_answered(tp, logs) and (tp in logs.at_start or not by_time) for tp in topic_partitions):
        findings.warnings.append(f"topic {view.name} is not read yet: Kafka does not give all its offsets")
        return
    positions = []
    for tp in topic_partitions:
        offset = _start_offset(tp, policy, logs)
        earliest, latest = logs.earliest[tp].offset, logs.latest[tp].offset
        if offset is None:
            findings.problems.append(problems.start_offset_missing(tp))
        elif not earliest <= offset <= latest:
            findings.problems.append(problems.start_offset_outside(tp, offset, earliest, latest))
        else:
            positions.append(Position(tp, offset, offset, view.id))
    findings.positions.extend(positions)
    if policy.kind is StartKind.LATEST:
        skipped = sum(p.end - logs.earliest[p.topic_partition].offset for p in positions)
        if skipped:
            findings.warnings.append(problems.left_out_by_latest(findings.table, view.name, skipped))


def _start_offset(tp: TopicPartition, policy: StartPolicy, logs: Logs) -> int | None:
    """Return the offset where the policy starts; None if it lists explicit offsets and none for `tp`."""
    match policy.kind:
        case StartKind.EARLIEST:
            return logs.earliest[tp].offset
        case StartKind.LATEST:
            return logs.latest[tp].offset
        case StartKind.TIMESTAMP:
            # requested after `latest`: the first record that is new enough may have arrived in between
            at_start, latest = logs.at_start[tp].offset, logs.latest[tp].offset
            return min(at_start, latest) if at_start >= 0 else latest
        case StartKind.OFFSETS:
            offsets = {TopicPartition(topic, number): offset for topic, number, offset in policy.offsets}
            return offsets.get(tp)


def _known_topic(
    view: TopicView, positions: list[Position], logs: Logs, intent: TableIntent, findings: _Findings
) -> None:
    """Resume a topic that the table has read before, perhaps with fewer partitions than it has now."""
    ids = {position.topic_id for position in positions} - {UNKNOWN_ID, view.id}
    if ids and view.id != UNKNOWN_ID:
        _recreated(
            view=view, before=sorted(ids)[0], positions=positions, logs=logs, intent=intent, findings=findings
        )
        return
    by_tp = {position.topic_partition: position for position in positions}
    present = view.topic_partitions()
    for tp in sorted(set(by_tp).difference(present)):
        findings.warnings.append(f"{tp} is not in Kafka any more; its position {by_tp[tp].end} is kept")
    for tp in present:
        if _answered(tp, logs):
            # a partition that was added later begins at offset 0, since all of its records are new to the table
            _known_partition(
                position=by_tp.get(tp),
                new=Position(tp, 0, 0, view.id),
                logs=logs,
                intent=intent,
                findings=findings,
            )
        else:
            findings.warnings.append(f"{tp} is left out this time: Kafka does not give its offsets")


def _known_partition(
    position: Position | None, new: Position, logs: Logs, intent: TableIntent, findings: _Findings
) -> None:
    at = position or new
    tp = at.topic_partition
    earliest, latest = logs.earliest[tp].offset, logs.latest[tp].offset
    if at.end > latest:
        lost = OffsetRange(tp, latest, at.end)
        problem = problems.log_truncated(lost)
        gap = Gap(OffsetRange(tp, latest, latest), f"log truncated: {lost} had been read")
    elif at.end < earliest:
        missing = OffsetRange(tp, at.end, earliest)
        problem, gap = problems.offsets_lost(missing), Gap(missing, "gone from Kafka before it was read")
    elif position is None:
        findings.positions.append(new)
        return
    elif (rewrite := _rewrite(position, logs)) is not None:
        problem, gap = rewrite, Gap(OffsetRange(tp, at.end, at.end), rewrite.message)
    else:
        findings.ranges.append(OffsetRange(tp, at.end, latest))
        return
    resume_at = gap.range.end
    if is_accepted(intent.acceptances, tp, resume_at):
        findings.gaps.append(gap)
        findings.positions.append(Position(tp, resume_at, resume_at, new.topic_id))
    else:
        findings.problems.append(problem)


def _rewrite(position: Position, logs: Logs) -> Problem | None:
    """Return the problem if the log was rewritten after it was read, otherwise None.

    It was rewritten if its last leader epoch is below the position's, or the last record read has another leader epoch now.
    """
    tp, read = position.topic_partition, position.leader_epoch
    now = logs.last_read.get(tp, read)
    end = logs.latest[tp].leader_epoch
    if read == UNKNOWN_EPOCH or position.end == 0 or (now == read and (end == UNKNOWN_EPOCH or end >= read)):
        return None
    return problems.log_rewritten(tp, position.end - 1, read, now if now != read else end)


def _recreated(
    view: TopicView,
    before: str,
    positions: list[Position],
    logs: Logs,
    intent: TableIntent,
    findings: _Findings,
) -> None:
    """Begin a recreated topic at its earliest offsets if the operator accepts that for every topic partition."""
    present = view.topic_partitions()
    if not all(_answered(tp, logs) for tp in present):
        findings.warnings.append(
            f"topic {view.name} is left out this time: Kafka does not give all its offsets"
        )
        return
    if not all(is_accepted(intent.acceptances, tp, logs.earliest[tp].offset) for tp in present):
        findings.problems.append(problems.topic_recreated(view.name, before, view.id))
        return
    for tp in present:
        earliest = logs.earliest[tp].offset
        findings.positions.append(Position(tp, earliest, earliest, view.id))
    # partitions that only the old topic had begin at 0 if the new topic gets them later
    vanished = {position.topic_partition for position in positions}.difference(present)
    findings.positions.extend(Position(tp, 0, 0, view.id) for tp in sorted(vanished))
    reason = f"topic {view.name} recreated: id {before}, now {view.id}"
    for p in positions:
        findings.gaps.append(Gap(OffsetRange(p.topic_partition, p.end, p.end), reason))


def _answered(tp: TopicPartition, logs: Logs) -> bool:
    return tp in logs.earliest and tp in logs.latest
