"""Why a table's positions do not fit what Kafka has: each a value with the offsets and the command that resolves it."""

from dataclasses import dataclass

from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.text import counted

RECOVER = "kafka2hive recover"
ACCEPT_GAP = f"{RECOVER} --accept-gap"


@dataclass(frozen=True, slots=True)
class Problem:
    """`code` is stable (`kafka.*`); `range` holds the offsets in question where there are any."""

    code: str
    topic: str
    message: str
    remedy: str
    range: OffsetRange | None = None


def stop(table: str, problems: tuple[Problem, ...]) -> ManualActionRequired:
    """All problems of a table as the one error that sets it aside: its code is the first one's.

    The commands are about this table alone: others may be owned by a live run.
    """
    text = "; ".join(problem.message for problem in problems)
    command = f"{RECOVER} --table {table}"
    remedies = dict.fromkeys(problem.remedy.replace(RECOVER, command) for problem in problems)
    return ManualActionRequired(problems[0].code, f"{table}: {text}", "; or ".join(remedies))


def cluster_changed(before: str, now: str) -> Problem:
    """The map's brokers are another cluster: offsets of one mean nothing in the other."""
    return Problem(
        "kafka.cluster_changed",
        "",
        f"the positions are of Kafka cluster {before}, but the brokers of the map are cluster {now}",
        f"point the map at the brokers of {before}, or give the new cluster's topics a table of their own",
    )


def topic_recreated(topic: str, before: str, now: str) -> Problem:
    """A topic of the same name with another id: its offsets begin at 0 again."""
    return Problem(
        "kafka.topic_recreated",
        topic,
        f"topic {topic} was deleted and recreated: the positions are of id {before}, Kafka now has id {now}",
        f"{ACCEPT_GAP} '{topic}:*' resumes at the beginning of the new topic",
    )


def beyond_end(position: OffsetRange) -> Problem:
    """`position` = [log end, our position): read, but not in the log any more (unclean election, lost disks)."""
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
    """The record that was read last has another leader epoch now: the log was truncated and rewritten."""
    return Problem(
        code="kafka.log_rewritten",
        topic=tp.topic,
        message=f"{tp} offset {offset} was read with leader epoch {epoch_read}, and has leader epoch {epoch_now} now: the"
        " log was truncated and rewritten (unclean leader election)",
        remedy=f"{ACCEPT_GAP} {tp.topic}:{tp.number} resumes at offset {offset + 1} and accepts the rewrite",
        range=OffsetRange(tp, offset, offset + 1),
    )


def aged_out(missing: OffsetRange) -> Problem:
    """`missing` = [our position, earliest): never read, and gone (retention, deleted records)."""
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
    return Problem(
        "kafka.start_offset_missing",
        tp.topic,
        f"the map starts {tp.topic} at explicit offsets, but gives none for {tp}",
        f"add an offset for partition {tp.number} of {tp.topic} to the table's start",
    )


def start_offset_outside(tp: TopicPartition, offset: int, earliest: int, latest: int) -> Problem:
    return Problem(
        "kafka.start_offset_outside",
        tp.topic,
        f"the map starts {tp} at offset {offset}, but its log holds [{earliest}, {latest})",
        f"choose an offset from {earliest} to {latest} for {tp}",
    )


def left_out_by_latest(topic: str, offsets: int) -> str:
    """What `start: latest` means for a topic that holds records already; a warning."""
    return (
        f"start: latest leaves out {counted(offsets, 'offset')} of topic {topic} that Kafka holds;"
        " to dump them too, set start: earliest and start the table over with `kafka2hive reset`"
    )
