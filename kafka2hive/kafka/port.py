"""Kafka's metadata and offsets as a port: `KafkaAdmin` answers, or a simulated cluster in tests."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from kafka2hive.kafka.views import ClusterView, RecordAddress, TopicSettings, Watermark
from kafka2hive.model.offsets import TopicPartition


def everything(_topic: str) -> bool:
    return True


class Kafka(Protocol):
    """See KafkaAdmin for what is left out of an answer. Errors: ServiceUnavailable."""

    def cluster(self, wanted: Callable[[str], bool] = everything) -> ClusterView: ...

    def topic_settings(
        self, cluster: ClusterView, topics: Collection[str]
    ) -> Mapping[str, TopicSettings]: ...

    def earliest(
        self, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Watermark]: ...

    def latest(self, topic_partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Watermark]: ...

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, Watermark]: ...

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool: ...

    def record_epochs(self, asked: Collection[RecordAddress]) -> Mapping[RecordAddress, int | None]: ...
