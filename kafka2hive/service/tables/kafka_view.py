"""What Kafka holds for the tables of a run, asked in few calls and remembered for a while."""

import logging
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import StartKind
from kafka2hive.kafka.port import UNKNOWN_EPOCH, ClusterView, Kafka, RecordAddress, TopicView, Watermark
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, Position, TopicPartition
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.tables.table_state import Owned, Table, Unowned
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

METADATA_SECONDS = 15.0

TakeOver = tuple[str, Generation]
"""A ledger's id, and the generation that one take-over gave it."""


@dataclass(frozen=True, slots=True)
class KafkaOffsets:
    """Tables that share a topic begin and stand at offsets of their own: what is asked about those is kept by table's name.

    `asked_at_ms`: wall clock before the first question that this answers, the listing of topics included. What Kafka had
    acknowledged by then lies below `logs.high`, and a topic partition that is not listed had no records.

    `at_start`, `last_read`: see Logs. `unknown`: topic partitions whose record read last could not be asked for this time.
    """

    logs: Logs
    asked_at_ms: int
    at_start: Mapping[str, Mapping[TopicPartition, Watermark]] = field(default_factory=dict)
    last_read: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    unknown: Mapping[str, Set[TopicPartition]] = field(default_factory=dict)

    def of(self, table: str) -> Logs:
        """What this table goes on by; topic partitions that are unknown to it count as not answered for."""
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
    """Both ends of the logs of those topics that exist; who does not answer one question is not asked the next."""
    earliest = kafka.earliest(cluster.topic_partitions(topics))
    latest = kafka.latest(earliest)
    return Logs(cluster, earliest, latest, kafka.high_watermarks(latest) if latest else {})


@dataclass(slots=True)
class KafkaView:
    """Metadata at most METADATA_SECONDS old, watermarks fresh at every ask. Errors: ServiceUnavailable.

    A broker that answers may have older metadata than the one that was asked before: a partition that was listed once
    stays listed.
    """

    kafka: Kafka
    clock: Clock
    _cluster: ClusterView | None = None
    _asked_at: float = 0.0
    _asked_at_ms: int = 0
    _listed: dict[str, TopicView] = field(default_factory=dict)
    born_later: set[str] = field(default_factory=set)
    """Topics that did not exist when this run first looked."""
    _checked: dict[str, tuple[TakeOver, Mapping[TopicPartition, int]]] = field(
        default_factory=dict, init=False
    )
    """By table, the leader epochs of its logs when the last records read were compared, since this take-over."""

    def cluster(self, fresh: bool = False) -> ClusterView:
        now = self.clock.monotonic()
        if self._cluster is None or fresh or now - self._asked_at > METADATA_SECONDS:
            asked_at_ms = self.clock.epoch_ms()
            answer = self.kafka.cluster()
            topics = {name: view.after(self._listed.get(name)) for name, view in answer.topics.items()}
            self._listed.update(topics)
            cluster = replace(answer, topics=topics)
            if self._cluster is not None:
                self.born_later |= set(cluster.topics) - set(self._cluster.topics)
            self._cluster, self._asked_at, self._asked_at_ms = cluster, now, asked_at_ms
        return self._cluster

    @property
    def cluster_id(self) -> str:
        """The id seen last: no question to Kafka."""
        return self._cluster.cluster_id if self._cluster is not None else UNKNOWN_ID

    @property
    def topics(self) -> Collection[str]:
        """Those seen last: no question to Kafka."""
        return self._cluster.topics if self._cluster is not None else ()

    def look(self, tables: Collection[Table]) -> KafkaOffsets:
        """Watermarks of every topic partition the tables read, earliest before latest before high; and each table's last
        records.
        """
        cluster = self.cluster()
        asked_at_ms = (
            self._asked_at_ms
        )  # a later question may renew the metadata, and these ends would be older
        logs = logs_of(self.kafka, cluster, {topic for table in tables for topic in table.topics})
        last_read, unknown = self._last_read(tables, logs)
        return KafkaOffsets(
            logs=logs,
            asked_at_ms=asked_at_ms,
            at_start=self._at_start(tables, cluster),
            last_read=last_read,
            unknown=unknown,
        )

    def look_again(self, tables: Collection[Table], before: KafkaOffsets) -> KafkaOffsets:
        """With topic ids and watermarks asked anew, for tables that do not fit: a topic may have been made again just now.

        What is known of the records read last stays: it is asked for once.
        """
        cluster = self.cluster(fresh=True)
        logs = logs_of(self.kafka, cluster, {topic for table in tables for topic in table.topics})
        return replace(before, logs=logs)

    def ends(self, states: Collection[Snapshot]) -> Mapping[TopicPartition, Watermark]:
        """Where the logs that these states have a position in end now, by high watermark; topics that are gone are left
        out.
        """
        there = self.cluster().topics
        tps = {p.topic_partition for s in states for p in s.positions if p.topic_partition.topic in there}
        return self.kafka.high_watermarks(tps) if tps else {}

    def _at_start(
        self, tables: Collection[Table], cluster: ClusterView
    ) -> dict[str, Mapping[TopicPartition, Watermark]]:
        """Offsets by time, by table, for those that begin at a timestamp and have no positions yet.

        One question for each timestamp, whatever the number of tables: a topic partition without a leader costs a
        listing of the topics at each.
        """
        new: dict[str, tuple[int, list[TopicPartition]]] = {}
        for table in tables:
            start, owned = table.rule.start, table.ownership
            if (
                start.kind is StartKind.TIMESTAMP
                and start.timestamp_ms is not None
                and isinstance(owned, Owned)
            ):
                there = cluster.topic_partitions(table.topics)
                new[table.name] = (
                    start.timestamp_ms,
                    [tp for tp in there if owned.state.position(tp) is None],
                )
        asked: dict[int, set[TopicPartition]] = {}
        for timestamp_ms, tps in new.values():
            asked.setdefault(timestamp_ms, set()).update(tps)
        answers = {ms: self.kafka.offsets_for_times(tps, ms) if tps else {} for ms, tps in asked.items()}
        return {
            name: {tp: answers[timestamp_ms][tp] for tp in tps if tp in answers[timestamp_ms]}
            for name, (timestamp_ms, tps) in new.items()
        }

    def _last_read(
        self, tables: Collection[Table], logs: Logs
    ) -> tuple[dict[str, dict[TopicPartition, int]], dict[str, Set[TopicPartition]]]:
        """Once per start of a table, and again for each topic partition whose log has moved to a newer epoch since.

        By table: the epochs that its records read last have now, and what is not known yet and left alone until it
        is. To read on would bring the position into the new epoch, and a log that was written anew would never be
        noticed. All tables are asked for at once, within one time limit.
        """
        due = {table.name: self._due(table, logs) for table in tables}
        asked = {record for records in due.values() for record in records.items()}
        epochs: Mapping[RecordAddress, int | None] = {}
        why = "Kafka does not give its last record"
        try:
            epochs = self.kafka.record_epochs(asked) if asked else {}
        except ServiceUnavailable as error:
            why = error.message
        found: dict[str, dict[TopicPartition, int]] = {}
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
            found[table.name] = {tp: epoch for tp, epoch in answers.items() if epoch is not None}
            unknown[table.name] = records.keys() - answers.keys()
            if left := sorted(unknown[table.name]):
                log.warning(
                    "%s: whether %s (of %d) was written anew is not known yet, nothing is read from it: %s",
                    table.name,
                    left[0],
                    len(left),
                    why,
                )
        return found, unknown

    def _due(self, table: Table, logs: Logs) -> dict[TopicPartition, int]:
        """Return the offsets of the last records read whose epoch must be asked for: not since the log is in this epoch."""
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
    """Positions whose log is in a newer leader epoch than the record read last, which is still in it.

    A log still in the epoch of our last read cannot have been cut off below it; only the others cost a read each.
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
    """With the epoch that the record read last has now, where it may have changed. Raises ServiceUnavailable."""
    records = {(p.topic_partition, p.end - 1) for p in moved_on(state, logs)}
    epochs = kafka.record_epochs(records)
    if left := sorted(records - epochs.keys()):
        topic_partition, offset = left[0]
        raise ServiceUnavailable(
            "kafka.unavailable",
            f"Kafka does not give the record {topic_partition} at {offset}",
            "look whether this topic partition has a leader, then recover again",
        )
    return replace(logs, last_read={tp: epoch for (tp, _), epoch in epochs.items() if epoch is not None})
