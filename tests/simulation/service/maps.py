"""The simulated services: their tables, and their maps as values."""

from dataclasses import replace
from functools import cache

from kafka2hive.config.keys import (
    Bucketing,
    Column,
    CompletionOptions,
    DeadLetterOptions,
    Flush,
    KafkaOptions,
    Limits,
    Metrics,
    PluginOptions,
    ServiceMap,
    SparkOptions,
    StartKind,
    StartPolicy,
    StorageOptions,
    TableRule,
    Tombstones,
    WriterOptions,
)
from kafka2hive.model.offsets import TopicPartition, topic_of
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, LEDGER, WAREHOUSE, location_of
from tests.simulation.topic import RECORD_BYTES

KEEP = 2

TOPICS = {"ta": (0, 1), "tb": (2,)}
"""No two topics have a partition with the same number, so that a record id needs no topic."""

TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "sim": {"db.a": ("ta",), "db.b": ("ta", "tb")},
    "other": {"db.tb": ("tb",)},
}
"""The tables of each service with their topics. Two tables share a topic, and so do two services."""

RIVAL = "TB"
"""A topic that a pattern turns into the same table as `tb`. It comes and goes."""
RIVALS = frozenset({"tb", RIVAL})
BY_PATTERN = "db.tb"
"""The table whose topics match a pattern: it reads the rival that it has read first."""

COMPLETED = "db.b"
"""The table whose partitions are certified when they are complete."""

COUNTED = frozenset({"db.a", COMPLETED})
"""The tables whose records are counted by time."""

TOPIC_PARTITIONS = tuple(TopicPartition(topic, n) for topic, numbers in TOPICS.items() for n in numbers)


COLUMNS: tuple[dict[str, str], ...] = (
    {"value": "binary", "n": "int"},
    {"value": "binary", "n": "bigint"},
    {"value": "binary", "n": "bigint", "more": "int"},
    {"value": "binary", "n": "string", "more": "bigint", "last": "int"},
)
"""The columns of every table by version of the map; a later version has more or wider ones."""


DELAYS = (1.0, 20.0, 5.0, 40.0)
"""The delay of completion in seconds by version of the map, where late rows are dead letters."""


def rule_of(table: str, topics: tuple[str, ...], version: int = 0) -> TableRule:
    by_pattern = table == BY_PATTERN
    return TableRule(
        table="db.{1}" if by_pattern else table,
        topics=() if by_pattern else topics,
        pattern="(tb|TB)" if by_pattern else None,
        start=StartPolicy(StartKind.EARLIEST),
        format="raw",
        columns=tuple(Column(name, kind) for name, kind in COLUMNS[version].items()),
        metadata=(),
        bucketing=Bucketing("dt=%j/on=%H"),
        zone="UTC",
        tombstones=Tombstones.SKIP,
        writer=WriterOptions(),
        flush=Flush(0.0, 1),
        dead_letter_share=1.0,
        create=True,
        schema_evolution="ignore",
        subject="{topic}-value",
        location=location_of("db.{table}" if by_pattern else table),
        completion=CompletionOptions() if table == COMPLETED else None,
    )


WAITING = Flush(1.0, 20 * RECORD_BYTES, max_interval_seconds=60.0, min_bytes=6 * RECORD_BYTES)
"""A table that waits for six records, and a process sleeps for up to 20 s."""


def _refusing_late(rule: TableRule, version: int) -> TableRule:
    if rule.completion is None:
        return rule
    return replace(rule, late="dead_letter", completion=CompletionOptions(DELAYS[version]))


def _completing(rule: TableRule) -> TableRule:
    """Return the rule with `register: complete`; the processes' own policy decides instead of the plug-in."""
    if rule.completion is None:
        return rule
    policy = replace(rule.completion, plugin=PluginOptions(name="sim"))
    return replace(rule, completion=policy, register="complete")


def _in_cluster(rule: TableRule, cluster: str) -> TableRule:
    topics = tuple(topic_of(cluster, topic) for topic in rule.topics)
    return replace(rule, kafka=cluster, topics=topics) if cluster else rule


@cache
def map_of(
    service: str,
    version: int,
    moved: tuple[tuple[str, str], ...] = (),
    refuses_late: bool = False,
    waits: bool = False,
    completes: bool = False,
    clusters: tuple[tuple[str, str], ...] = (),
) -> ServiceMap:
    """Return a service's map in this version.

    `moved` has the tables with another location than at the beginning. If `refuses_late`, late rows are dead letters.
    If `waits`, tables are due as small tables with `flush.max_interval` are. If `completes`, Hive gets the partitions of the
    table with certificates when they are complete, except with every third version of the map. `clusters` has the tables that
    read from a cluster of `kafka_clusters`.
    """
    rules = [rule_of(table, topics, version) for table, topics in TABLES[service].items()]
    rules = [_in_cluster(rule, dict(clusters).get(rule.table, "")) for rule in rules]
    if completes:
        rules = [_completing(rule) if version % 3 < 2 else rule for rule in rules]
    if waits:
        rules = [replace(rule, flush=WAITING) for rule in rules]
    return ServiceMap(
        service=service,
        kafka=KafkaOptions((), "group", commit_group=False),
        storage=StorageOptions("sim://namenode", LEDGER.root, WAREHOUSE),
        hive=None,
        spark=SparkOptions(),
        trigger_seconds=1.0,
        limits=Limits(epoch_bytes=1 << 50, epoch_records=12, keep_snapshots=KEEP),
        dead_letters=DeadLetterOptions(DEAD_LETTER_TABLE, DEAD_LETTER_LOCATION),
        metrics=Metrics(),
        tables=tuple(
            replace(rule, schema_evolution="add", location=dict(moved).get(rule.table, rule.location))
            for rule in (_refusing_late(rule, version) if refuses_late else rule for rule in rules)
        ),
        run_directory="-",
    )


def columns_text(version: int) -> str:
    """Return the columns as a ledger records them after a comparison."""
    return ", ".join(f"{name} {kind}" for name, kind in COLUMNS[version].items())


SERVICES = tuple(TABLES)
