"""Does Kafka have what the map reads, may we read it, and does it keep records long enough?"""

from collections.abc import Collection, Mapping

from kafka2hive.kafka.errors import no_answer, unknown_topics
from kafka2hive.kafka.port import ClusterView, Kafka, TopicSettings
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, Warned

FLUSHES_KEPT = 10  # records should outlive so many flush intervals: a night's outage is longer than a minute


def topics_of(tables: Collection[Table], cluster: ClusterView) -> dict[str, list[Table]]:
    """The topics that exist, each with the tables that read it."""
    found: dict[str, list[Table]] = {}
    for table in tables:
        for topic in table.topics:
            if topic in cluster.topics:
                found.setdefault(topic, []).append(table)
    return found


def check_kafka(kafka: Kafka, tables: Collection[Table], cluster: ClusterView) -> list[Check]:
    """One line a table for its topics, one a topic for its records. Fetches one record of each topic that has any."""
    checks = [Check("kafka", table.name, _topics(table)) for table in tables]
    read = topics_of(tables, cluster)
    settings = kafka.topic_settings(cluster, sorted(read))
    for topic, readers in sorted(read.items()):
        partitions = cluster.topics[topic].topic_partitions()
        checks.append(
            Check("kafka", f"topic {topic}", _records(kafka, readers[0].name, partitions, settings[topic]))
        )
        checks += [
            Check("kafka", f"topic {topic}", warned)
            for warned in kept_too_short(topic, readers, settings[topic])
        ]
    return checks


def settings_warnings(settings: Mapping[str, TopicSettings], read: Mapping[str, list[Table]]) -> list[Warned]:
    """What is worth a warning in the log before a run: no right to read, records that are not kept for long."""
    found: list[Warned] = []
    for topic, readers in sorted(read.items()):
        if settings[topic].may_read is False:
            found.append(Warned(_denied(topic)))
        found += kept_too_short(topic, readers, settings[topic])
    return found


def kept_too_short(topic: str, readers: Collection[Table], settings: TopicSettings) -> list[Warned]:
    """Records may age out before they are read: retention against the longest flush interval of its tables."""
    kept_ms = settings.retention_ms
    if kept_ms is None or kept_ms < 0 or "delete" not in (settings.cleanup_policy or "delete"):
        return []
    flush = max(table.rule.flush.interval_seconds for table in readers)
    if kept_ms / 1000 >= FLUSHES_KEPT * flush:
        return []
    error = TableError(
        "kafka.retention",
        f"topic {topic} keeps records for {kept_ms / 1000:g} s, and its tables are due every {flush:g} s:"
        " a short outage loses records before they are read",
        "raise retention.ms of the topic, or lower flush.interval",
    )
    return [Warned(error)]


def _topics(table: Table) -> Result:
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
    return Passed(f"{len(partitions)} partitions, {records:,} offsets, {_kept(settings)}")


def _kept(settings: TopicSettings) -> str:
    if settings.retention_ms is None:
        return "how long records are kept is not known"
    if settings.retention_ms < 0:
        return "kept for ever"
    return f"kept for {settings.retention_ms / 3_600_000:g} h"


def _denied(topic: str) -> Kafka2HiveError:
    return TableError(
        "kafka.denied", f"Kafka gives no record of topic {topic}: no right to read it?", "grant READ"
    )
