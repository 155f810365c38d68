"""A run's view of Kafka: topics and watermarks of all its tables in few requests; metadata are cached for a while."""

import logging
import math
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import StartKind
from kafka2hive.kafka.port import UNKNOWN_EPOCH, ClusterView, Kafka, RecordAddress, TopicView, Watermark
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, Position, TopicPartition, cluster_of
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.observe.log import RECURRING
from kafka2hive.service.tables.table_state import Owned, Table, Unowned
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

METADATA_SECONDS = 15.0

TakeOver = tuple[str, Generation]
"""A ledger's id, and the generation that one take-over gave it."""


@dataclass(frozen=True, slots=True)
class KafkaOffsets:
    """One reading of Kafka's state for several tables.

    - `asked_at_ms`: the wall clock before the first request of this reading, including the listing of topics. All records that
      Kafka had acknowledged by then are below `logs.high`; topic partitions that are not listed were empty then.
    - `at_start`, `last_read`: by table, as in Logs.
    - `unknown`: by table, the topic partitions for which Kafka did not return the last record that the table has read.
    """

    logs: Logs
    asked_at_ms: int
    at_start: Mapping[str, Mapping[TopicPartition, Watermark]] = field(default_factory=dict)
    last_read: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    unknown: Mapping[str, Set[TopicPartition]] = field(default_factory=dict)

    def of(self, table: str) -> Logs:
        """Return the logs for this table's decisions. Topic partitions in `unknown` are left out, as without an answer."""
        logs = replace(
            self.logs, at_start=self.at_start.get(table, {}), last_read=self.last_read.get(table, {})
        )
        unknown = self.unknown.get(table)
        if not unknown:
            return logs
        return replace(
            logs,
            earliest={tp: watermark for tp, watermark in logs.earliest.items() if tp not in unknown},
            latest={tp: watermark for tp, watermark in logs.latest.items() if tp not in unknown},
            high={tp: watermark for tp, watermark in logs.high.items() if tp not in unknown},
        )


def logs_of(kafka: Kafka, cluster: ClusterView, topics: Iterable[str]) -> Logs:
    """Return both ends of the logs of the topics that exist. A leader that did not answer one request gets no further ones."""
    earliest = kafka.earliest(cluster.topic_partitions(topics))
    latest = kafka.latest(earliest)
    return Logs(cluster, earliest, latest, kafka.high_watermarks(latest) if latest else {})


@dataclass(slots=True)
class KafkaView:
    """A run's view of Kafka: metadata at most METADATA_SECONDS old, watermarks always fresh. Raises ServiceUnavailable.

    A topic partition that was listed once stays listed, because the next broker to answer may have older metadata.
    """

    kafka: Kafka
    clock: Clock
    _cluster: ClusterView | None = None
    _asked_at: float = 0.0
    _asked_at_ms: int = 0
    answered_at: float = -math.inf
    """When Kafka last answered (monotonic seconds)."""
    high: Mapping[TopicPartition, Watermark] = field(default_factory=dict)
    """The last known high watermarks; any thread may read them."""
    _listed: dict[str, TopicView] = field(default_factory=dict)
    born_later: set[str] = field(default_factory=set)
    """Topics that did not exist when this run first looked."""
    _checked: dict[str, tuple[TakeOver, Mapping[TopicPartition, int]]] = field(
        default_factory=dict, init=False
    )
    """By table, its take-over, and the leader epochs of its logs at the last comparison of the last records read."""

    def cluster(self, fresh: bool = False) -> ClusterView:
        """Return the metadata of the cluster: new if `fresh`, otherwise at most METADATA_SECONDS old."""
        now = self.clock.monotonic()
        if self._cluster is None or fresh or now - self._asked_at > METADATA_SECONDS:
            asked_at_ms = self.clock.epoch_ms()
            answer = self.kafka.cluster()
            topics = {name: view.after(self._listed.get(name)) for name, view in answer.topics.items()}
            self._listed.update(topics)
            cluster = replace(answer, topics=topics)
            if self._cluster is not None:
                new = set(cluster.topics) - set(self._cluster.topics)
                self.born_later |= {t for t in new if self._cluster.has_answered(cluster_of(t))}
            self._cluster, self._asked_at, self._asked_at_ms = cluster, now, asked_at_ms
            self.answered_at = self.clock.monotonic()
        return self._cluster

    def id_of(self, cluster: str) -> str:
        """Return the id of a cluster, by its name in the map, in the cached metadata."""
        return self._cluster.id_of(cluster) if self._cluster is not None else UNKNOWN_ID

    @property
    def silent(self) -> Mapping[str, ServiceUnavailable]:
        """The clusters that did not answer when the metadata were last asked for, and why; empty for a map with one cluster."""
        return self._cluster.silent if self._cluster is not None else {}

    @property
    def topics(self) -> Collection[str]:
        """The topics in the cached metadata."""
        return self._cluster.topics if self._cluster is not None else ()

    def look(self, tables: Collection[Table]) -> KafkaOffsets:
        """Request the watermarks of all topic partitions that the tables read, and if necessary their last records read.

        The order of requests is earliest offsets, latest offsets, high watermarks.
        """
        cluster = self.cluster()
        # read before the requests below, because they may renew the metadata, which would be newer than `cluster`
        asked_at_ms = self._asked_at_ms
        logs = logs_of(self.kafka, cluster, {topic for table in tables for topic in table.topics})
        last_read, unknown = self._last_read(tables, logs)
        self.answered_at = self.clock.monotonic()
        self.high = {**self.high, **logs.high}
        return KafkaOffsets(
            logs=logs,
            asked_at_ms=asked_at_ms,
            at_start=self._at_start(tables, cluster),
            last_read=last_read,
            unknown=unknown,
        )

    def look_again(self, tables: Collection[Table], before: KafkaOffsets) -> KafkaOffsets:
        """Request topic ids and watermarks again for tables whose ledgers contradict them, since a topic may be new.

        The answers about the last records read are taken from `before`.
        """
        cluster = self.cluster(fresh=True)
        logs = logs_of(self.kafka, cluster, {topic for table in tables for topic in table.topics})
        return replace(before, logs=logs)

    def ends(self, states: Collection[Snapshot]) -> Mapping[TopicPartition, Watermark]:
        """Return the high watermarks of the existing logs in which these states have positions."""
        topics = self.cluster().topics
        tps = {p.topic_partition for s in states for p in s.positions if p.topic_partition.topic in topics}
        high = self.kafka.high_watermarks(tps) if tps else {}
        self.high = {**self.high, **high}
        return high

    def _at_start(
        self, tables: Collection[Table], cluster: ClusterView
    ) -> dict[str, Mapping[TopicPartition, Watermark]]:
        """Return, by table, the offsets at its start time, for topic partitions without a position.

        There is one request per timestamp, because a topic partition without a leader makes each request list all topics.
        """
        new: dict[str, tuple[int, list[TopicPartition]]] = {}
        for table in tables:
            start, owned = table.rule.start, table.ownership
            if (
                start.kind is StartKind.TIMESTAMP
                and start.timestamp_ms is not None
                and isinstance(owned, Owned)
            ):
                tps = cluster.topic_partitions(table.topics)
                new[table.name] = start.timestamp_ms, [tp for tp in tps if owned.state.position(tp) is None]
        asked: dict[int, set[TopicPartition]] = {}
        for timestamp_ms, without_position in new.values():
            asked.setdefault(timestamp_ms, set()).update(without_position)
        answers = {ms: self.kafka.offsets_for_times(tps, ms) if tps else {} for ms, tps in asked.items()}
        return {
            name: {tp: answers[timestamp_ms][tp] for tp in tps if tp in answers[timestamp_ms]}
            for name, (timestamp_ms, tps) in new.items()
        }

    def _last_read(
        self, tables: Collection[Table], logs: Logs
    ) -> tuple[dict[str, dict[TopicPartition, int]], dict[str, Set[TopicPartition]]]:
        """Return, by table, the present leader epochs of its last records read, and the topic partitions without an answer.

        A log is checked once per take-over of a table, and again when it has moved to a newer leader epoch. A topic partition
        without an answer must not be read: its position would move into the new epoch, and a rewritten log would never be
        noticed. One request covers all tables, within one time limit.
        """
        due = {table.name: self._due(table, logs) for table in tables}
        asked = {record for records in due.values() for record in records.items()}
        epochs: Mapping[RecordAddress, int | None] = {}
        why = "Kafka does not return the last record that was read"
        try:
            epochs = self.kafka.record_epochs(asked) if asked else {}
        except ServiceUnavailable as error:
            why = error.message
        last_read: dict[str, dict[TopicPartition, int]] = {}
        unknown: dict[str, Set[TopicPartition]] = {}
        for table in tables:
            records = due[table.name]
            answers = {tp: epochs[tp, offset] for tp, offset in records.items() if (tp, offset) in epochs}
            if isinstance(owned := table.ownership, Owned):
                now = {tp: logs.latest[tp].leader_epoch for tp in answers}
                self._checked[table.name] = (
                    _take_over(owned),
                    {**self._checked_epochs(table.name, owned), **now},
                )
            last_read[table.name] = {tp: epoch for tp, epoch in answers.items() if epoch is not None}
            unknown[table.name] = records.keys() - answers.keys()
            if silent := sorted(unknown[table.name]):
                log.warning(
                    "%s: it is unknown whether the log of %s (of %d logs) was rewritten, so it is not read now: %s",
                    table.name,
                    silent[0],
                    len(silent),
                    why,
                    extra=RECURRING,
                )
        return last_read, unknown

    def _due(self, table: Table, logs: Logs) -> dict[TopicPartition, int]:
        """Return the last records read that were not checked since their log moved to its present leader epoch."""
        owned = table.ownership
        if isinstance(owned, Unowned):
            return {}
        checked = self._checked_epochs(table.name, owned)
        return {
            p.topic_partition: p.end - 1
            for p in moved_on(owned.state, logs)
            if checked.get(p.topic_partition) != logs.latest[p.topic_partition].leader_epoch
        }

    def _checked_epochs(self, table: str, owned: Owned) -> Mapping[TopicPartition, int]:
        take_over, checked = self._checked.get(table, (None, {}))
        return checked if take_over == _take_over(owned) else {}


def _take_over(owned: Owned) -> TakeOver:
    return owned.state.ledger_id, owned.ledger.generation


def moved_on(state: Snapshot, logs: Logs) -> list[Position]:
    """Return the positions whose log has a newer leader epoch than the last record read, and still holds this record.

    As long as a log is in the leader epoch of the last record read, it cannot have been truncated below that record.
    """
    earliest, latest = logs.earliest, logs.latest
    return [
        p
        for p in state.positions
        if p.topic_partition in latest
        and p.topic_partition in earliest
        and p.leader_epoch != UNKNOWN_EPOCH
        and latest[p.topic_partition].leader_epoch > p.leader_epoch
        and earliest[p.topic_partition].offset <= p.end - 1 < latest[p.topic_partition].offset
    ]


def with_last_read(kafka: Kafka, state: Snapshot, logs: Logs) -> Logs:
    """Return the logs with the present leader epochs of the last records read, as far as they may have changed.

    Raises ServiceUnavailable.
    """
    records = {(p.topic_partition, p.end - 1) for p in moved_on(state, logs)}
    epochs = kafka.record_epochs(records)
    if silent := sorted(records - epochs.keys()):
        topic_partition, offset = silent[0]
        raise ServiceUnavailable(
            "kafka.unavailable",
            f"Kafka does not return the record {topic_partition}@{offset}",
            "check that this topic partition has a leader, then type the same `kafka2hive recover` command again",
        )
    return replace(logs, last_read={tp: epoch for (tp, _), epoch in epochs.items() if epoch is not None})
