"""The checks that Kafka has the map's topics, that the service may read them, and that records are kept long enough."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kafka2hive.kafka.port import ClusterView, Kafka, RecordAddress, TopicSettings, Watermark
from kafka2hive.kafka.problems import no_answer, unknown_topics
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.text import counted
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, Warned
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

FLUSHES_KEPT = 10
"""The number of flush intervals for which Kafka should keep a record."""


@dataclass(frozen=True, slots=True)
class TopicLogs:
    """Where the logs of all topics begin and end, and which of their last records Kafka returned."""

    earliest: Mapping[TopicPartition, Watermark]
    latest: Mapping[TopicPartition, Watermark]
    readable: Collection[RecordAddress]

    @classmethod
    def of(
        cls, kafka: Kafka, topic_partitions: Collection[TopicPartition]
    ) -> "TopicLogs | ServiceUnavailable":
        """Look at all topic partitions together: each call of the port asks for the metadata of the whole cluster."""
        if not topic_partitions:
            return cls({}, {}, ())
        by_topic: dict[str, list[TopicPartition]] = {}
        for tp in topic_partitions:
            by_topic.setdefault(tp.topic, []).append(tp)
        try:
            earliest = kafka.earliest(topic_partitions)
            logs = cls(earliest, kafka.latest(earliest), ())
        except ServiceUnavailable as error:
            return error
        last = [address for tps in by_topic.values() if (address := logs.last_record(tps)) is not None]
        try:
            return replace(logs, readable=kafka.record_epochs(last).keys())
        except ServiceUnavailable:
            return logs  # each topic's check asks again

    def last_record(self, topic_partitions: Collection[TopicPartition]) -> RecordAddress | None:
        """Return the last record of the first topic partition that has any."""
        for tp in topic_partitions:
            if tp in self.latest and self.latest[tp].offset > self.earliest[tp].offset:
                return tp, self.latest[tp].offset - 1
        return None


def topics_of(tables: Collection[MapTable], cluster: ClusterView) -> dict[str, list[MapTable]]:
    """Return the topics that exist, each with the tables that read it."""
    readers: dict[str, list[MapTable]] = {}
    for table in tables:
        for topic in table.topics:
            if topic in cluster.topics and cluster.topics[topic].partitions:
                readers.setdefault(topic, []).append(table)
    return readers


def check_kafka(kafka: Kafka, tables: Collection[MapTable], cluster: ClusterView) -> list[Check]:
    """Check each table's topics, and each topic's records; fetches one record of every topic that has any."""
    checks = [Check("kafka", table.name, _topics(table)) for table in tables]
    by_topic = topics_of(tables, cluster)
    settings = kafka.topic_settings(cluster, sorted(by_topic))
    may_read = [topic for topic in by_topic if settings[topic].may_read is not False]
    logs = TopicLogs.of(kafka, [tp for topic in may_read for tp in cluster.topics[topic].topic_partitions()])
    for topic, readers in sorted(by_topic.items()):
        partitions = cluster.topics[topic].topic_partitions()
        results: list[Result] = [
            _records(
                kafka=kafka, table=readers[0].name, partitions=partitions, settings=settings[topic], logs=logs
            )
        ]
        results += retention_warnings(topic, readers, settings[topic])
        checks += [Check("kafka", f"topic {topic}", result) for result in results]
    return checks


def warn_of_topic_settings(
    wiring: Wiring, kafka: Kafka, tables: Collection[MapTable], cluster: ClusterView
) -> None:
    """Log warnings about the topics' settings from a background thread, without waiting for it."""

    def warn() -> None:
        readers = topics_of(tables, cluster)
        try:
            settings = kafka.topic_settings(cluster, sorted(readers))
        except Kafka2HiveError as error:
            log.debug("the topics' settings could not be read: %s", error)
            return
        for warning in settings_warnings(settings, readers):
            log.warning("%s", warning.error)

    wiring.background.start("ask-kafka", warn)


def settings_warnings(
    settings: Mapping[str, TopicSettings], by_topic: Mapping[str, list[MapTable]]
) -> list[Warned]:
    """Return warnings for the log of a run: topics that the service may not read, or whose retention is too short."""
    warnings: list[Warned] = []
    for topic, readers in sorted(by_topic.items()):
        if settings[topic].may_read is False:
            warnings.append(Warned(_denied(topic)))
        warnings += retention_warnings(topic, readers, settings[topic])
    return warnings


def retention_warnings(topic: str, readers: Collection[MapTable], settings: TopicSettings) -> list[Warned]:
    """Warn if the topic's retention is shorter than FLUSHES_KEPT times the longest flush interval of its tables."""
    kept_ms = settings.retention_ms
    if kept_ms is None or kept_ms < 0 or "delete" not in (settings.cleanup_policy or "delete"):
        return []
    flush = max(table.rule.flush.longest_seconds for table in readers)
    if kept_ms / 1000 >= FLUSHES_KEPT * flush:
        return []
    error = TableError(
        "kafka.retention",
        f"topic {topic} keeps records for {kept_ms / 1000:g} s, and its tables are due every {flush:g} s:"
        " a short outage loses records before they are read",
        "raise retention.ms of the topic, or lower flush.interval or flush.max_interval",
    )
    return [Warned(error)]


def _topics(table: MapTable) -> Result:
    if table.missing:
        return Failed(unknown_topics(table.name, table.missing))
    return Passed(f"reads {', '.join(table.topics)}" if table.topics else "reads no topic yet")


def _records(
    kafka: Kafka,
    table: str,
    partitions: Collection[TopicPartition],
    settings: TopicSettings,
    logs: TopicLogs | ServiceUnavailable,
) -> Result:
    topic = next(iter(partitions)).topic
    if settings.may_read is False:
        return Failed(_denied(topic))
    if isinstance(logs, ServiceUnavailable):
        return Failed(logs)
    if silent := sorted(set(partitions) - logs.latest.keys()):
        return Failed(no_answer(table, silent))
    records = sum(logs.latest[tp].offset - logs.earliest[tp].offset for tp in partitions)
    last = logs.last_record(partitions)
    try:
        # a record that did not come with the others: this call's error says why
        if last is not None and last not in logs.readable and last not in kafka.record_epochs([last]):
            return Failed(_denied(topic))
    except ServiceUnavailable as error:
        return Failed(error)
    return Passed(f"{counted(len(partitions), 'partition')}, {counted(records, 'offset')}, {_kept(settings)}")


def _kept(settings: TopicSettings) -> str:
    if settings.retention_ms is None:
        return "how long records are kept is not known"
    if settings.retention_ms < 0:
        return "kept for ever"
    return f"kept for {settings.retention_ms / 3_600_000:g} h"


def _denied(topic: str) -> Kafka2HiveError:
    return TableError(
        "kafka.denied",
        f"Kafka returns no record of topic {topic}: the right to read it seems to be missing",
        "grant the user of the map's kafka section READ on the topic",
    )
