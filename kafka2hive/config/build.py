"""From the checked models to the frozen values everything else uses; defaults that depend on other keys are decided here."""

import re
import tempfile
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qs

from kafka2hive.config import schema
from kafka2hive.config.checks.event_field import event_field
from kafka2hive.config.checks.service import hive_url
from kafka2hive.config.checks.table_options import (
    GROUP,
    bucket_time,
    columns_of,
    declared_columns,
    epoch_milliseconds,
    metadata_names,
    with_defaults,
)
from kafka2hive.config.librdkafka import is_sensitive
from kafka2hive.config.values import (
    Bucketing,
    BucketTime,
    Column,
    DeadLetters,
    Flush,
    HiveOptions,
    KafkaOptions,
    Limits,
    MetadataColumn,
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
from kafka2hive.model.layout import join

DEFAULT_DATABASE = "kafka2hive"
NOT_SECRET = frozenset({"bootstrap.servers", "group.id", "client.id", "client.rack"})


def storage_options(storage: schema.Storage) -> StorageOptions:
    uri = storage.uri.rstrip("/")
    return StorageOptions(
        uri=uri,
        ledger_root=(storage.ledger_root or join(uri, "kafka2hive")).rstrip("/"),
        warehouse=(storage.warehouse or join(uri, "warehouse")).rstrip("/"),
        properties=tuple(storage.properties.items()),
        config_dir=storage.config_dir,
    )


def location_of(template: str, table: str) -> str:
    """A table's directory: `{db}` and `{table}` of the template replaced by the parts of `db.table`."""
    database, _, name = table.partition(".")
    return template.replace("{db}", database).replace("{table}", name)


def location_template(table: schema.Table, storage: StorageOptions) -> str:
    return (table.location or join(storage.warehouse, "{db}.db", "{table}")).rstrip("/")


def dead_letters_of(
    letters: schema.DeadLetters, service: str, first_table: str, storage: StorageOptions
) -> DeadLetters:
    """The map's own table, else `<service>_dead_letters` beside the first table."""
    database = first_table.partition(".")[0].lower()
    if GROUP.search(database):
        database = DEFAULT_DATABASE
    name = re.sub(r"[^a-z0-9_]", "_", service.lower()) + "_dead_letters"
    table = (letters.table or f"{database}.{name}").lower()
    template = letters.location or join(storage.warehouse, "{db}.db", "{table}")
    return DeadLetters(table, location_of(template, table).rstrip("/"))


def _kafka(kafka: schema.Kafka, service: str) -> KafkaOptions:
    properties = {"bootstrap.servers": kafka.bootstrap_servers, **(kafka.model_extra or {})}
    return KafkaOptions(
        tuple(properties.items()), kafka.group_id or f"kafka2hive-{service}", kafka.commit_group
    )


def _secret_keys(whole: schema.Map, referenced: frozenset[str]) -> frozenset[str]:
    """Properties whose value was not in the map's text, or whose name says that it is a secret."""
    names = {*(whole.kafka.model_extra or {}), *whole.storage.properties, *whole.spark.conf}
    return frozenset(name for name in names if name in referenced - NOT_SECRET or is_sensitive(name))


def _hive(hive: schema.Hive | None, environ: Mapping[str, str]) -> HiveOptions | None:
    parts = hive_url(hive.url) if hive else None
    if hive is None or parts is None:
        return None
    return HiveOptions(
        host=parts.hostname or "",
        port=parts.port or 10000,
        user=parts.username or environ.get("HADOOP_USER_NAME") or environ.get("USER") or "hive",
        password=hive.password,
        auth=parse_qs(parts.query).get("auth", ["NONE"])[-1],
        timeout_seconds=hive.timeout,
    )


def _limits(limits: schema.Limits) -> Limits:
    return Limits(
        epoch_bytes=limits.epoch_bytes,
        epoch_records=limits.epoch_records,
        file_bytes=limits.file_bytes,
        open_files=limits.open_files,
        task_memory_bytes=limits.task_memory,
        tasks_per_core=limits.tasks_per_core,
        keep_snapshots=limits.keep_snapshots,
        stop_seconds=limits.stop_within,
    )


def _run_directory(given: str | None, service: str, environ: Mapping[str, str]) -> str:
    if given:
        return given
    if runtime := environ.get("RUNTIME_DIRECTORY"):
        return runtime.split(":")[0]  # systemd.exec(5): several are separated by colons
    base = environ.get("XDG_RUNTIME_DIR") or environ.get("TMPDIR") or tempfile.gettempdir()
    return join(base, f"kafka2hive-{service}")


def _start(table: schema.Table) -> StartPolicy:
    match table.start:
        case None:
            return StartPolicy(StartKind.EARLIEST if table.source == "binlog" else StartKind.LATEST)
        case str(kind):
            return StartPolicy(StartKind(kind))
        case schema.Start(timestamp=str(text)):
            return StartPolicy(StartKind.TIMESTAMP, timestamp_ms=epoch_milliseconds(text))
        case schema.Start(offsets=offsets):
            listed = ((t, n, o) for t, numbers in (offsets or {}).items() for n, o in numbers.items())
            return StartPolicy(StartKind.OFFSETS, offsets=tuple(sorted(listed)))


def _rule(table: schema.Table, storage: StorageOptions, line: int) -> TableRule:
    template = location_template(table, storage)
    columns = columns_of(table)
    bucket = table.bucket
    event = None if bucket.field is None else event_field(bucket.field, declared_columns(table))
    name = table.table if GROUP.search(table.table) else table.table.lower()
    return TableRule(
        table=name,
        topics=tuple(table.topics or ()),
        pattern=table.pattern,
        start=_start(table),
        format=table.format,
        columns=tuple(
            Column(c.name, c.type, () if c.path is None else c.keys, c.unit) for c in declared_columns(table)
        ),
        metadata=tuple((MetadataColumn(kind), name) for kind, name in metadata_names(table.metadata)),
        bucketing=Bucketing(
            path=bucket.path,
            time=BucketTime(bucket_time(bucket)),
            field=None if event is None else event.column,
            unit=bucket.unit or "ms",
            zone=bucket.zone or table.zone,
            inner=() if event is None else event.inner,
        ),
        zone=table.zone,
        tombstones=Tombstones(table.tombstones),
        writer=WriterOptions(
            table.writer.compression,
            table.writer.level,
            table.writer.row_group_rows,
            table.writer.row_group_bytes,
        ),
        flush=Flush(table.flush.interval, table.flush.bytes),
        dead_letter_share=table.dead_letter_share,
        create=bool(columns) if table.create is None else table.create,
        location=template if GROUP.search(name) else location_of(template, name),
        line=line,
    )


def build(
    whole: schema.Map,
    environ: Mapping[str, str],
    referenced: Iterable[str],
    lines: list[int],
    path: str,
    fingerprint: str,
) -> ServiceMap:
    """The map's values. `referenced`: properties whose value was not in the text; `lines`: of each table."""
    storage = storage_options(whole.storage)
    tables = [with_defaults(table, whole.defaults) for table in whole.tables]
    return ServiceMap(
        service=whole.service,
        kafka=_kafka(whole.kafka, whole.service),
        storage=storage,
        hive=_hive(whole.hive, environ),
        spark=SparkOptions(whole.spark.master, tuple(whole.spark.conf.items())),
        trigger_seconds=whole.trigger,
        limits=_limits(whole.limits),
        dead_letters=dead_letters_of(whole.dead_letters, whole.service, whole.tables[0].table, storage),
        metrics=Metrics(whole.metrics.host, whole.metrics.port),
        tables=tuple(_rule(table, storage, line) for table, line in zip(tables, lines, strict=True)),
        run_directory=_run_directory(whole.run_directory, whole.service, environ),
        path=path,
        fingerprint=fingerprint,
        secret_keys=_secret_keys(whole, frozenset(referenced)),
    )
