"""Topics, offsets and records of a cluster, as values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka2hive.model.offsets import TopicPartition

UNKNOWN_EPOCH = -1

# Where one record lies: its topic partition and its offset.
RecordAddress = tuple[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic: `id` is the broker's id of it as Kafka's own tools print it, `-` where the broker gives none."""

    name: str
    id: str
    partitions: tuple[int, ...]

    def topic_partitions(self) -> tuple[TopicPartition, ...]:
        """Every topic partition, by number."""
        return tuple(TopicPartition(self.name, number) for number in self.partitions)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster's id (`-` when unknown) and its topics by name, without Kafka's internal ones."""

    cluster_id: str
    topics: Mapping[str, TopicView]

    def topic_partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Of those topics that exist, in this order."""
        return [tp for name in topics if name in self.topics for tp in self.topics[name].topic_partitions()]


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """`retention_ms` -1: for ever; None: the broker does not tell us. `may_read` None: not known either."""

    retention_ms: int | None = None
    cleanup_policy: str | None = None
    may_read: bool | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """One end of a topic partition's log. `leader_epoch` is -1 where the broker gives none."""

    offset: int
    leader_epoch: int = UNKNOWN_EPOCH
