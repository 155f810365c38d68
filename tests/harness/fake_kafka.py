"""A Kafka that answers nothing: fakes override what their tests ask."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager

from kafka2hive.kafka.port import (
    ClusterView,
    GroupCommits,
    RecordAddress,
    TopicSettings,
    Watermark,
    any_topic,
)
from kafka2hive.model.offsets import TopicPartition


class FakeKafka:
    """See kafka2hive.kafka.port.Kafka."""

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        raise NotImplementedError

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        raise NotImplementedError

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Watermark]:
        raise NotImplementedError

    def latest(self, topic_partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Watermark]:
        raise NotImplementedError

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Watermark]:
        """No transaction is open."""
        return self.latest(topic_partitions)

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, Watermark]:
        raise NotImplementedError

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        raise NotImplementedError

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        raise NotImplementedError

    def group_commits(self, group: str) -> AbstractContextManager[GroupCommits]:
        raise NotImplementedError

    def record_epochs(self, addresses: Collection[RecordAddress]) -> Mapping[RecordAddress, int | None]:
        raise NotImplementedError
