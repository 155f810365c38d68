"""Reasons in Kafka to set a table aside: problems, which an operator must resolve, and errors, which may go away."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.kafka.port import RecordAddress
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.text import counted

RECOVER = "kafka2hive recover"
ACCEPT_GAP = f"{RECOVER} --accept-gap"
ACCEPT_CLUSTER = f"{RECOVER} --accept-cluster TABLE"
UNKNOWN_TOPIC = "kafka.unknown_topic"


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
    remedies = dict.fromkeys(
        problem.remedy.replace(ACCEPT_CLUSTER, f"{command} --accept-cluster {table}")
        if ACCEPT_CLUSTER in problem.remedy
        else problem.remedy.replace(RECOVER, command)
        for problem in problems
    )
    return ManualActionRequired(problems[0].code, f"{table}: {text}", "; or ".join(remedies))


def cluster_changed(before: str, now: str, name: str = "") -> Problem:
    """Return the problem that the brokers belong to another cluster, where the recorded positions mean nothing.

    `name` is the cluster's name in the map.
    """
    brokers = f"the brokers of {name}" if name else "the map's brokers"
    return Problem(
        "kafka.cluster_changed",
        "",
        f"the positions belong to Kafka cluster {before}, but {brokers} belong to cluster {now}",
        f"point the map at the brokers of {before}; or, if the new cluster's topics are a mirror,"
        f" `{ACCEPT_CLUSTER} --cluster-offsets FILE -c MAP` goes on in them; or dump them into a new table",
    )


def cluster_renamed(before: str, now: str) -> Problem:
    """Return the problem that the ledger has positions in a cluster that the table does not read. Both are names in maps."""
    key = f"`kafka: {before}`" if before else "no key `kafka`"
    return Problem(
        "kafka.cluster_changed",
        "",
        f"the positions belong to topics of {_in_map(before)}, but the table's topics are of {_in_map(now)}",
        f"`{ACCEPT_CLUSTER} -c MAP` goes on in the topics of {_in_map(now)} if only the cluster's name has changed; otherwise"
        f" give the table {key} again, or dump the topics into a new table",
    )


def cluster_unproven(target: TopicPartition, name: str) -> Problem:
    """Return the problem that nothing shows that the cluster, by its name in the map, holds the records that were read."""
    return Problem(
        "kafka.cluster_unproven",
        target.topic,
        f"no cluster id and no records before the position show that {_in_map(name)} holds the records that were read, so"
        f" {target} may hold others",
        "let the map name the former cluster, too, where its records are still there; or, if you know the offsets,"
        f" `{ACCEPT_CLUSTER} --cluster-offsets FILE --cluster-unproven -c MAP` goes on there without a proof",
    )


def cluster_offset_outside(new: RecordAddress, earliest: int, latest: int) -> Problem:
    """Return the problem that a new position is outside the new cluster's log, [earliest, latest)."""
    tp, offset = new
    return Problem(
        "kafka.cluster_offset_outside",
        tp.topic,
        f"{tp} would go on at offset {offset}, but its log holds [{earliest}, {latest})",
        "wait until the mirror has copied everything, or correct the offsets",
    )


def cluster_records_differ(old: RecordAddress, new: RecordAddress, differ: tuple[int, int]) -> Problem:
    """Return the problem that the records around two positions are not the same; `differ` holds the first offsets that differ."""
    (here, at), (there, to) = old, new
    return Problem(
        "kafka.cluster_records_differ",
        there.topic,
        f"{here} was read up to {at}, and {there} would go on at {to}, but the records around these offsets are not the same:"
        f" the former at {differ[0]} is not the new one at {differ[1]}",
        "check that the mirror has copied everything and kept timestamps, and correct the offsets; to begin at other records,"
        " dump the topics into a new table",
    )


def _in_map(name: str) -> str:
    return f"the cluster {name} of kafka_clusters" if name else "the section kafka"


def topic_recreated(topic: str, before: str, now: str) -> Problem:
    """Return the problem that a topic has a new id, so that its offsets began at 0 again."""
    return Problem(
        "kafka.topic_recreated",
        topic,
        f"topic {topic} was deleted and recreated: the positions belong to id {before}, the topic now has id {now}",
        f"`{ACCEPT_GAP} '{topic}:*' -c MAP` resumes at the beginning of the new topic",
    )


def log_truncated(position: OffsetRange) -> Problem:
    """Return the problem that [log end, position) was read and is no longer in the log (unclean election, lost disks)."""
    tp = position.topic_partition
    return Problem(
        code="kafka.log_truncated",
        topic=tp.topic,
        message=f"{tp} was read up to offset {position.end}, but its log ends at {position.start}: [{position.start},"
        f" {position.end}) was truncated after it had been read (unclean leader election?)",
        remedy=f"`{ACCEPT_GAP} {tp.topic}:{tp.number} -c MAP` resumes at the log's end, {position.start}",
        range=position,
    )


def log_rewritten(tp: TopicPartition, offset: int, epoch_read: int, epoch_now: int) -> Problem:
    """Return the problem that the last record read has a new leader epoch: the log was truncated and rewritten."""
    return Problem(
        code="kafka.log_rewritten",
        topic=tp.topic,
        message=f"{tp} offset {offset} was read with leader epoch {epoch_read}, and has leader epoch {epoch_now} now: the"
        " log was truncated and rewritten (unclean leader election)",
        remedy=f"`{ACCEPT_GAP} {tp.topic}:{tp.number} -c MAP` resumes at offset {offset + 1} and accepts the rewrite",
        range=OffsetRange(tp, offset, offset + 1),
    )


def offsets_lost(missing: OffsetRange) -> Problem:
    """Return the problem that [position, earliest) was deleted before it was read (retention, DeleteRecords)."""
    tp = missing.topic_partition
    return Problem(
        code="kafka.offsets_lost",
        topic=tp.topic,
        message=f"{tp} begins at offset {missing.end}, but was read only up to {missing.start}: {counted(len(missing), 'offset')}"
        f" [{missing.start}, {missing.end}) are gone unread",
        remedy=f"`{ACCEPT_GAP} {tp.topic}:{tp.number} -c MAP` records them as lost and resumes at {missing.end}",
        range=missing,
    )


def start_offset_missing(tp: TopicPartition) -> Problem:
    """Return the problem that the map's explicit start offsets leave out a topic partition."""
    return Problem(
        "kafka.start_offset_missing",
        tp.topic,
        f"the map starts {tp.topic} at explicit offsets, but gives none for {tp}",
        f"add an offset for partition {tp.number} of {tp.topic} to the table's start",
    )


def start_offset_outside(tp: TopicPartition, offset: int, earliest: int, latest: int) -> Problem:
    """Return the problem that a start offset is outside the log, [earliest, latest)."""
    return Problem(
        "kafka.start_offset_outside",
        tp.topic,
        f"the map starts {tp} at offset {offset}, but its log holds [{earliest}, {latest})",
        f"choose an offset from {earliest} to {latest} for {tp}",
    )


def left_out_by_latest(table: str, topic: str, offsets: int) -> str:
    """Return the warning that `start: latest` skips offsets that Kafka already holds."""
    return (
        f"start: latest leaves out {counted(offsets, 'offset')} of topic {topic} that Kafka holds;"
        " to dump them too, set start: earliest and start the table over with"
        f" `kafka2hive reset --table {table} --move-data -c MAP`"
    )


def no_answer(table: str, silent: Sequence[TopicPartition]) -> TableError:
    """Return the error for a table if Kafka returns no offsets for some of its topic partitions."""
    named = ", ".join(map(str, silent[:5])) + (f" and {len(silent) - 5} more" if len(silent) > 5 else "")
    return TableError(
        "kafka.no_answer",
        f"{table}: Kafka returned no offsets for {named}, so they are not dumped in this run; all others are",
        "check that these topic partitions have a leader; the next run dumps them",
    )


def open_transaction(
    table: str, topic_partition: TopicPartition, offsets: tuple[int, int], seconds: float
) -> TableError:
    """Return the error for a transaction that outlasts the wait of a `--once` run.

    `offsets` holds the last stable offset and the offset that the run had to reach; `seconds` is how long it waited.
    """
    stable, end = offsets
    topic, number = topic_partition.key
    return TableError(
        "kafka.open_transaction",
        f"{table}: {topic_partition} ended at offset {end} when the run began, but can be read only up to {stable}: a transaction"
        f" has been open for {seconds:.0f} s. All readable records are dumped",
        "wait until its producer commits or aborts it, or abort it:"
        f" `kafka-transactions.sh --bootstrap-server SERVERS abort --topic {topic} --partition {number}"
        f" --start-offset {stable}`; the next run dumps the rest",
    )


def unknown_topics(table: str, topics: Sequence[str]) -> TableError:
    """Return the error for topics that the map lists but Kafka does not have."""
    some = len(topics) > 1
    return TableError(
        UNKNOWN_TOPIC,
        f"{table}: the map lists topic{'s' if some else ''} {', '.join(topics)}, which Kafka does not have",
        f"create {'them' if some else 'it'}, or correct or remove the name{'s' if some else ''} in the map",
    )


def vanished_topics(table: str, topics: Sequence[str]) -> TableError:
    """Return the error for topics that matched a pattern when a `--once` run began, but that Kafka no longer lists."""
    named = f"topic{'s' if len(topics) > 1 else ''} {', '.join(topics)}"
    return TableError(
        UNKNOWN_TOPIC,
        f"{table}: Kafka listed {named} when the run began, but no longer does: it is unknown whether all records were dumped",
        "run again, because a broker may have had old metadata; the next run does not expect a deleted topic",
    )
