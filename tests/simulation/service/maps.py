"""The simulated services: which tables each has, and their maps as values."""

from kafka2hive.config.values import (
    Bucketing,
    Column,
    Completion,
    DeadLetters,
    Flush,
    KafkaOptions,
    Limits,
    Metrics,
    ServiceMap,
    SparkOptions,
    StartKind,
    StartPolicy,
    StorageOptions,
    TableRule,
    Tombstones,
    WriterOptions,
)
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.shared.hive_schemas import settings_of
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, LEDGER, WAREHOUSE, location_of

KEEP = 2

TOPICS = {"ta": (0, 1), "tb": (2,)}
"""Topic partition numbers are told apart by number alone, so that a record's id needs no topic."""

TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "sim": {"db.a": ("ta",), "db.b": ("ta", "tb")},
    "other": {"db.c": ("tb",)},
}
"""Tables with their topics, by service: two tables share a topic, and two services do."""

COMPLETED = "db.b"
"""The table whose partitions are certified when they are complete."""

TOPIC_PARTITIONS = tuple(TopicPartition(topic, n) for topic, numbers in TOPICS.items() for n in numbers)


def topic_partitions(topics: tuple[str, ...]) -> list[TopicPartition]:
    return [tp for tp in TOPIC_PARTITIONS if tp.topic in topics]


def rule_of(table: str, topics: tuple[str, ...]) -> TableRule:
    return TableRule(
        table=table,
        topics=topics,
        pattern=None,
        start=StartPolicy(StartKind.EARLIEST),
        format="raw",
        columns=(Column("value", "binary"),),
        metadata=(),
        bucketing=Bucketing(""),
        zone="UTC",
        tombstones=Tombstones.SKIP,
        writer=WriterOptions(),
        flush=Flush(0.0, 1),
        dead_letter_share=1.0,
        create=True,
        schema_evolution="ignore",
        subject="{topic}-value",
        location=location_of(table),
        completion=Completion() if table == COMPLETED else None,
    )


def _map(service: str) -> ServiceMap:
    return ServiceMap(
        service=service,
        kafka=KafkaOptions((), "group", commit_group=False),
        storage=StorageOptions("sim://namenode", LEDGER.root, WAREHOUSE),
        hive=None,
        spark=SparkOptions(),
        trigger_seconds=1.0,
        limits=Limits(epoch_bytes=1 << 50, epoch_records=12, keep_snapshots=KEEP),
        dead_letters=DeadLetters(DEAD_LETTER_TABLE, DEAD_LETTER_LOCATION),
        metrics=Metrics(),
        tables=tuple(rule_of(table, topics) for table, topics in TABLES[service].items()),
        run_directory="-",
    )


MAPS = {service: _map(service) for service in TABLES}

SETTINGS = {
    rule.table: settings_of(rule, rule.columns)
    for service_map in MAPS.values()
    for rule in service_map.tables
}
