"""The checks that Kafka has the map's topics, that the service may read them, and that records are kept long enough."""

import logging
from collections.abc import Collection, Mapping

from kafka2hive.kafka.port import ClusterView, Kafka, TopicSettings
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


def topics_of(tables: Collection[MapTable], cluster: ClusterView) -> dict[str, list[MapTable]]:
    """Return the topics that exist, each with the tables that read it."""
    readers: dict[str, list[MapTable]] = {}
    for table in tables:
        for topic in table.topics:
            if topic in cluster.topics:
                readers.setdefault(topic, []).append(table)
    return readers


def check_kafka(kafka: Kafka, tables: Collection[MapTable], cluster: ClusterView) -> list[Check]:
    """Check each table's topics, and each topic's records; fetches one record of every topic that has any."""
    checks = [Check("kafka", table.name, _topics(table)) for table in tables]
    by_topic = topics_of(tables, cluster)
    settings = kafka.topic_settings(cluster, sorted(by_topic))
    for topic, readers in sorted(by_topic.items()):
        partitions = cluster.topics[topic].topic_partitions()
        results: list[Result] = [_records(kafka, readers[0].name, partitions, settings[topic])]
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
    kafka: Kafka, table: str, partitions: Collection[TopicPartition], settings: TopicSettings
) -> Result:
    topic = next(iter(partitions)).topic
    if settings.may_read is False:
        return Failed(_denied(topic))
    try:
        earliest = kafka.earliest(partitions)
        latest = kafka.latest(earliest)
        if silent := sorted(set(partitions) - latest.keys()):
            return Failed(no_answer(table, silent))
        records = sum(latest[tp].offset - earliest[tp].offset for tp in partitions)
        filled = [tp for tp in partitions if latest[tp].offset > earliest[tp].offset]
        last = (filled[0], latest[filled[0]].offset - 1) if filled else None
        if last is not None and last not in kafka.record_epochs([last]):
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
