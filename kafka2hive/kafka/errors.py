"""Errors that Kafka causes for one table, and what librdkafka's error names mean for a caller."""

from collections.abc import Sequence
from typing import Any

from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import TopicPartition

UNKNOWN_TOPIC = "kafka.unknown_topic"

# KafkaError.name(): the topic partition does not exist, or no longer.
_MISSING = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID"})
# The client may not read it, and waiting does not help.
_REFUSED = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
_LATE = frozenset({"_TIMED_OUT", "_TRANSPORT", "REQUEST_TIMED_OUT", "NOT_CONTROLLER", "_DESTROY_BROKER"})


def no_answer(table: str, silent: Sequence[TopicPartition]) -> TableError:
    """Return the error for a table of which Kafka gives no offsets of some topic partitions."""
    named = ", ".join(map(str, silent[:5])) + (f" and {len(silent) - 5} more" if len(silent) > 5 else "")
    return TableError(
        "kafka.no_answer",
        f"{table}: Kafka gives no offsets of {named}, so they are not dumped this time; all others are",
        "check that these topic partitions have a leader; the next run dumps them",
    )


def open_transaction(
    table: str, topic_partition: TopicPartition, offsets: tuple[int, int], seconds: float
) -> TableError:
    """Return the error for a transaction that outlasts the wait of a `--once` run.

    `offsets` are the last stable offset and the offset that the run had to reach; `seconds` is how long it waited.
    """
    stable, end = offsets
    topic, number = topic_partition.topic, topic_partition.number
    return TableError(
        "kafka.open_transaction",
        f"{table}: {topic_partition} ended at {end} when the run began, and readers get no further than {stable}: a transaction"
        f" there has been open for {seconds:.0f} s. All that can be read is dumped",
        f"wait until its producer commits or aborts it, or abort it: kafka-transactions.sh --bootstrap-server ... abort"
        f" --topic {topic} --partition {number} --start-offset {stable}; the next run dumps the rest",
    )


def unknown_topics(table: str, topics: Sequence[str]) -> TableError:
    """Return the error for topics that the map lists and Kafka does not have."""
    some = len(topics) > 1
    return TableError(
        UNKNOWN_TOPIC,
        f"{table}: the map lists topic{'s' if some else ''} {', '.join(topics)}, which Kafka does not have",
        f"create {'them' if some else 'it'}, correct the name, or take it out of the map",
    )


def vanished_topics(table: str, topics: Sequence[str]) -> TableError:
    """Return the error for topics that matched a pattern when a `--once` run began and that Kafka no longer lists."""
    named = f"topic{'s' if len(topics) > 1 else ''} {', '.join(topics)}"
    return TableError(
        "kafka.unknown_topic",
        f"{table}: Kafka listed {named} when the run began, but does not any more: it is unknown whether all of it was dumped",
        "run again: a broker may have had old metadata; the next run does not expect a topic that was deleted",
    )


def is_missing(error: Any) -> bool:
    """Return whether a KafkaError says that the topic partition does not exist, or no longer."""
    return error.name() in _MISSING


def is_refused(error: Any) -> bool:
    """Return whether a KafkaError says that the client is not authorized: waiting does not help."""
    return error.name() in _REFUSED


def is_late(error: Any) -> bool:
    """Return whether a KafkaError says that no answer came in time, perhaps because the broker is dead."""
    return error.name() in _LATE
