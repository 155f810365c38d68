"""Problems: why a table's positions do not match Kafka, each with the offsets and the command that resolves it."""

from dataclasses import dataclass

from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.text import counted

RECOVER = "kafka2hive recover"
ACCEPT_GAP = f"{RECOVER} --accept-gap"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mismatch. `code` is stable (`kafka.*`); `range` holds the affected offsets, if there are any."""

    code: str
    topic: str
    message: str
    remedy: str
    range: OffsetRange | None = None


def stop(table: str, problems: tuple[Problem, ...]) -> ManualActionRequired:
    """Return the error that sets the table aside, with all of its problems and the code of the first one.

    The commands name this table only, because a live run may own the others.
    """
    text = "; ".join(problem.message for problem in problems)
    command = f"{RECOVER} --table {table}"
    remedies = dict.fromkeys(problem.remedy.replace(RECOVER, command) for problem in problems)
    return ManualActionRequired(problems[0].code, f"{table}: {text}", "; or ".join(remedies))


def cluster_changed(before: str, now: str) -> Problem:
    """Return the problem of brokers of another cluster, in which the positions have no meaning."""
    return Problem(
        "kafka.cluster_changed",
        "",
        f"the positions are of Kafka cluster {before}, but the brokers of the map are cluster {now}",
        f"point the map at the brokers of {before}, or give the new cluster's topics a table of their own",
    )


def topic_recreated(topic: str, before: str, now: str) -> Problem:
    """Return the problem of a topic with another id, whose offsets begin at 0 again."""
    return Problem(
        "kafka.topic_recreated",
        topic,
        f"topic {topic} was deleted and recreated: the positions are of id {before}, Kafka now has id {now}",
        f"{ACCEPT_GAP} '{topic}:*' resumes at the beginning of the new topic",
    )


def beyond_end(position: OffsetRange) -> Problem:
    """Return the problem of [log end, our position): read, but no longer in the log (unclean election, lost disks)."""
    tp = position.topic_partition
    return Problem(
        code="kafka.log_truncated",
        topic=tp.topic,
        message=f"{tp} was read up to offset {position.end}, but its log ends at {position.start}: [{position.start},"
        f" {position.end}) was truncated after it had been read (unclean leader election?)",
        remedy=f"{ACCEPT_GAP} {tp.topic}:{tp.number} resumes at the log's end, {position.start}",
        range=position,
    )


def rewritten(tp: TopicPartition, offset: int, epoch_read: int, epoch_now: int) -> Problem:
    """Return the problem of a last record with another leader epoch now: the log was truncated and rewritten."""
    return Problem(
        code="kafka.log_rewritten",
        topic=tp.topic,
        message=f"{tp} offset {offset} was read with leader epoch {epoch_read}, and has leader epoch {epoch_now} now: the"
        " log was truncated and rewritten (unclean leader election)",
        remedy=f"{ACCEPT_GAP} {tp.topic}:{tp.number} resumes at offset {offset + 1} and accepts the rewrite",
        range=OffsetRange(tp, offset, offset + 1),
    )


def aged_out(missing: OffsetRange) -> Problem:
    """Return the problem of [our position, earliest): never read, and gone (retention, deleted records)."""
    tp = missing.topic_partition
    return Problem(
        code="kafka.offsets_lost",
        topic=tp.topic,
        message=f"{tp} begins at offset {missing.end}, but was read up to {missing.start} only: {counted(len(missing), 'offset')}"
        f" [{missing.start}, {missing.end}) are gone unread",
        remedy=f"{ACCEPT_GAP} {tp.topic}:{tp.number} records them as lost and resumes at {missing.end}",
        range=missing,
    )


def start_offset_missing(tp: TopicPartition) -> Problem:
    """Return the problem of a topic partition for which the map's explicit start offsets have none."""
    return Problem(
        "kafka.start_offset_missing",
        tp.topic,
        f"the map starts {tp.topic} at explicit offsets, but gives none for {tp}",
        f"add an offset for partition {tp.number} of {tp.topic} to the table's start",
    )


def start_offset_outside(tp: TopicPartition, offset: int, earliest: int, latest: int) -> Problem:
    """Return the problem of a start offset outside the log, [earliest, latest)."""
    return Problem(
        "kafka.start_offset_outside",
        tp.topic,
        f"the map starts {tp} at offset {offset}, but its log holds [{earliest}, {latest})",
        f"choose an offset from {earliest} to {latest} for {tp}",
    )


def left_out_by_latest(topic: str, offsets: int) -> str:
    """Return the warning that `start: latest` skips offsets that Kafka already holds."""
    return (
        f"start: latest leaves out {counted(offsets, 'offset')} of topic {topic} that Kafka holds;"
        " to dump them too, set start: earliest and start the table over with `kafka2hive reset`"
    )
