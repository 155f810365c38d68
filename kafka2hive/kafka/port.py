"""The Kafka port and its values. Its adapters are `KafkaAdmin` and, in tests, a simulated cluster."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, TopicPartition

UNKNOWN_EPOCH = -1

# The topic partition and the offset of one record.
RecordAddress = tuple[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic. `id` is the topic id as Kafka's own tools print it, `-` if the broker gives none."""

    name: str
    id: str
    partitions: tuple[int, ...]

    def topic_partitions(self) -> tuple[TopicPartition, ...]:
        """Return the topic partitions of the topic, in the order of their numbers."""
        return tuple(TopicPartition(self.name, number) for number in self.partitions)

    def after(self, earlier: "TopicView | None") -> "TopicView":
        """Return this view with the partitions of an earlier view of the same topic id added.

        A topic never loses partitions, so a broker that does not list them has older metadata. If one of the ids is unknown,
        the views may be of different topics, and nothing is added.
        """
        if earlier is None or UNKNOWN_ID in (self.id, earlier.id) or self.id != earlier.id:
            return self
        if set(earlier.partitions) <= set(self.partitions):
            return self
        return replace(self, partitions=tuple(sorted({*self.partitions, *earlier.partitions})))


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster's id (`-` if unknown) and its topics by name, without Kafka's internal ones.

    With several clusters, `cluster_id` is the id of the map's `kafka`, `ids` holds by name the ids of all that have answered,
    and `silent` says by name why a cluster does not answer; its topics are then the last known ones.
    """

    cluster_id: str
    topics: Mapping[str, TopicView]
    ids: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, ServiceUnavailable] = field(default_factory=dict)

    def id_of(self, cluster: str) -> str:
        """Return the id of the cluster with this name in the map."""
        return self.ids.get(cluster, UNKNOWN_ID) if cluster else self.cluster_id

    def has_answered(self, cluster: str) -> bool:
        """Return whether this cluster, by its name in the map, has ever answered."""
        return not self.ids or cluster in self.ids

    def topic_partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return the topic partitions of those topics that exist, in the order given."""
        return [tp for name in topics if name in self.topics for tp in self.topics[name].topic_partitions()]


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """Settings of one topic; None means unknown.

    A `retention_ms` of -1 means for ever. `may_read` says whether this client may read the topic.
    """

    retention_ms: int | None = None
    cleanup_policy: str | None = None
    may_read: bool | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """One end of a topic partition's log. `leader_epoch` is -1 if the broker gives none."""

    offset: int
    leader_epoch: int = UNKNOWN_EPOCH


def any_topic(_topic: str) -> bool:
    return True


class GroupCommits(Protocol):
    """Sets the offsets of one consumer group, any number of times; `commit` returns True if Kafka took all of them."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool: ...


class Kafka(Protocol):
    """The requests of the service to Kafka. KafkaAdmin documents what an answer omits. Raises ServiceUnavailable."""

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView: ...

    def topic_settings(
        self, cluster: ClusterView, topics: Collection[str]
    ) -> Mapping[str, TopicSettings]: ...

    def earliest(
        self, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Watermark]: ...

    def latest(self, topic_partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Watermark]: ...

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Watermark]: ...

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, Watermark]: ...

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool: ...

    def group_commits(self, group: str) -> AbstractContextManager[GroupCommits]: ...

    def record_epochs(self, addresses: Collection[RecordAddress]) -> Mapping[RecordAddress, int | None]: ...
