"""librdkafka's clients, made from the map's properties, and what their failures mean."""

import logging
from collections.abc import Mapping
from typing import Any

from kafka2hive.config.values import KafkaOptions
from kafka2hive.kafka.properties import admin_properties, brokers, reader_properties, without_secrets
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition


def admin_client(options: KafkaOptions, log: logging.Logger) -> Any:
    """A confluent_kafka AdminClient. Raises ConfigError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        return AdminClient(admin_properties(options), logger=log)
    except KafkaException as error:
        raise _refused(options, error) from error


def reader(
    options: KafkaOptions, timeout_seconds: float, log: logging.Logger, more: Mapping[str, Any]
) -> Any:
    """A confluent_kafka Consumer that asks one question, with `more` properties. Raises ConfigError."""
    from confluent_kafka import Consumer, KafkaException

    try:
        return Consumer({**reader_properties(options, timeout_seconds), **more}, logger=log)
    except KafkaException as error:
        raise _refused(options, error) from error


def kafka_partition(topic_partition: TopicPartition, *offset: int) -> Any:
    """confluent_kafka's TopicPartition, at an offset if one is given."""
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    return KafkaTopicPartition(topic_partition.topic, topic_partition.number, *offset)


def reason(options: KafkaOptions, error: Exception) -> str:
    """librdkafka's words, without secrets."""
    said = error.args[0].str() if error.args and hasattr(error.args[0], "str") else ""
    return without_secrets(said or str(error) or "no answer in time", options)


def unavailable(options: KafkaOptions, what: str, why: str) -> ServiceUnavailable:
    """`what` was asked of the map's brokers and not answered."""
    return ServiceUnavailable(
        "kafka.unavailable",
        f"Kafka at {brokers(options)} did not answer ({what}): {why}",
        "check the addresses, the network and the credentials in the map's kafka section, then start again",
    )


def _refused(options: KafkaOptions, error: Exception) -> ConfigError:
    return ConfigError(
        "kafka.properties",
        f"librdkafka refuses the map's kafka properties: {reason(options, error)}",
        "correct the property in the map's kafka section",
    )
