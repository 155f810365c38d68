"""Reading single records by offset."""

import logging
import time

from kafka2hive.config.values import KafkaOptions
from kafka2hive.kafka import errors, properties
from kafka2hive.model.offsets import TopicPartition

log = logging.getLogger(__name__)


def record_epoch(
    options: KafkaOptions, topic_partition: TopicPartition, offset: int, timeout_seconds: float
) -> int | None:
    """Leader epoch of the record at exactly `offset`.

    None when no record has this offset (compacted, a transaction marker, outside the log), or the broker gives
    no epoch. A reader of its own that is closed again: ~10 ms on an idle broker; no group is joined.
    Errors: TopicMissing, ServiceUnavailable.
    """
    from confluent_kafka import Consumer, KafkaException
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    try:
        reader = Consumer(properties.reader_properties(options, timeout_seconds), logger=log)
    except KafkaException as error:
        raise errors.refused_properties(properties.without_secrets(str(error), options)) from error
    try:
        # asked first: a reader notices only after 30 s that a topic does not exist
        view = reader.list_topics(topic_partition.topic, timeout=timeout_seconds).topics[
            topic_partition.topic
        ]
        if topic_partition.number not in view.partitions:
            raise errors.TopicMissing(str(topic_partition))
        reader.assign([KafkaTopicPartition(topic_partition.topic, topic_partition.number, offset)])
        deadline = time.monotonic() + timeout_seconds
        while (left := deadline - time.monotonic()) > 0:
            message = reader.poll(left)
            if message is None:
                break
            fault = message.error()
            if fault is None:
                epoch = message.leader_epoch()
                return epoch if message.offset() == offset and epoch is not None and epoch >= 0 else None
            if fault.name() in ("_PARTITION_EOF", "_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
                return None
            if errors.is_missing(fault):
                raise errors.TopicMissing(str(topic_partition))
            log.debug("reading %s at %d: %s", topic_partition, offset, fault.str())
        raise errors.unavailable(
            f"record {topic_partition} at {offset}", properties.brokers(options), "no answer in time"
        )
    except KafkaException as error:
        said = properties.without_secrets(str(error), options)
        raise errors.unavailable(
            f"topic {topic_partition.topic}", properties.brokers(options), said
        ) from error
    finally:
        reader.close()
