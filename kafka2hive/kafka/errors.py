"""Kafka's errors, sorted by what a caller can do."""

from typing import Any

from kafka2hive.model.errors import ConfigError, ServiceUnavailable, TableError

# KafkaError.name(): the topic partition is not there (any more).
_MISSING = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID"})


class TopicMissing(TableError):
    """The topic, or this number of it, does not exist (any more)."""

    def __init__(self, name: str) -> None:
        super().__init__(
            "kafka.topic_missing",
            f"Kafka has no topic partition {name}",
            "create the topic, or take it out of the map",
        )


def is_missing(error: Any) -> bool:
    """Whether a KafkaError says that the topic partition does not exist."""
    return error.name() in _MISSING


def unavailable(what: str, brokers: str, reason: str) -> ServiceUnavailable:
    """`what` was asked of `brokers` (their addresses) and not answered."""
    return ServiceUnavailable(
        "kafka.unavailable",
        f"Kafka at {brokers} did not answer ({what}): {reason}",
        "check the addresses, the network and the credentials in the map's kafka section, then start again",
    )


def refused_properties(reason: str) -> ConfigError:
    """librdkafka does not take the map's properties."""
    return ConfigError(
        "kafka.properties",
        f"librdkafka refuses the map's kafka properties: {reason}",
        "correct the property in the map's kafka section",
    )
