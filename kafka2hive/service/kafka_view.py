"""What Kafka holds for the tables of a run, asked in few calls and remembered for a while."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka2hive.config.values import StartKind
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.kafka.positions import Logs
from kafka2hive.kafka.views import UNKNOWN_EPOCH, UNKNOWN_ID, ClusterView, Watermark
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.table import Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

METADATA_SECONDS = 15.0


@dataclass(slots=True)
class KafkaView:
    """Metadata at most METADATA_SECONDS old, watermarks fresh at every ask. Errors: ServiceUnavailable."""

    kafka: KafkaAdmin
    clock: Clock
    _cluster: ClusterView | None = None
    _asked_at: float = 0.0
    _born_later: set[str] = field(default_factory=set)

    def cluster(self, fresh: bool = False) -> ClusterView:
        now = self.clock.monotonic()
        if self._cluster is None or fresh or now - self._asked_at > METADATA_SECONDS:
            cluster = self.kafka.cluster()
            if self._cluster is not None:
                self._born_later |= set(cluster.topics) - set(self._cluster.topics)
            self._cluster, self._asked_at = cluster, now
        return self._cluster

    @property
    def cluster_id(self) -> str:
        """The id seen last: no question to Kafka."""
        return self._cluster.cluster_id if self._cluster is not None else UNKNOWN_ID

    @property
    def born_later(self) -> Collection[str]:
        """Topics that did not exist when this run first looked."""
        return self._born_later

    def logs(self, tables: Collection[Table]) -> Logs:
        """Watermarks of every topic partition the tables read; earliest before latest."""
        cluster = self.cluster()
        wanted = {
            tp
            for table in tables
            for topic in table.topics
            if topic in cluster.topics
            for tp in cluster.topics[topic].topic_partitions()
        }
        earliest = self.kafka.earliest(wanted)
        latest = self.kafka.latest(wanted)
        return Logs(
            cluster,
            earliest,
            latest,
            self._at_start(tables, cluster),
            self._last_read(tables, earliest, latest),
        )

    def _at_start(self, tables: Collection[Table], cluster: ClusterView) -> dict[TopicPartition, Watermark]:
        """Offsets by time, for the tables that begin at a timestamp and have no positions yet."""
        found: dict[TopicPartition, Watermark] = {}
        for table in tables:
            start = table.rule.start
            if start.kind is not StartKind.TIMESTAMP or start.timestamp_ms is None or table.tenure is None:
                continue
            new = [
                tp
                for topic in table.topics
                if topic in cluster.topics
                for tp in cluster.topics[topic].topic_partitions()
                if table.tenure.state.position(tp) is None
            ]
            found.update(self.kafka.offsets_for_times(new, start.timestamp_ms) if new else {})
        return found

    def _last_read(
        self,
        tables: Collection[Table],
        earliest: Mapping[TopicPartition, Watermark],
        latest: Mapping[TopicPartition, Watermark],
    ) -> dict[TopicPartition, int]:
        """Once per start of a table. None counts as checked before all are: an error leaves nothing to be judged."""
        found: dict[TopicPartition, int] = {}
        unchecked = [table for table in tables if not table.checked_epochs]
        for table in unchecked:
            if table.tenure is not None:
                found.update(last_read_epochs(self.kafka, table.tenure.state, earliest, latest))
        for table in unchecked:
            table.checked_epochs = table.tenure is not None
        return found


def last_read_epochs(
    kafka: KafkaAdmin,
    state: Snapshot,
    earliest: Mapping[TopicPartition, Watermark],
    latest: Mapping[TopicPartition, Watermark],
) -> dict[TopicPartition, int]:
    """The epoch that the record read last has now, where the log moved to a newer epoch since.

    A log still in the epoch of our last read cannot have been cut off below it; only the others cost a read each.
    """
    found: dict[TopicPartition, int] = {}
    for position in state.positions:
        tp = position.topic_partition
        last = position.end - 1
        if (
            tp in latest
            and tp in earliest
            and position.leader_epoch != UNKNOWN_EPOCH
            and latest[tp].leader_epoch > position.leader_epoch
            and earliest[tp].offset <= last < latest[tp].offset
        ):
            epoch = kafka.record_epoch(tp, last)
            if epoch is not None:
                found[tp] = epoch
    return found
