"""Build a service map from checked keys, and decide the defaults that depend on other keys."""

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kafka2hive.config.keys.bucketing import BIGINT_UNIT
from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.config.keys.connections import (
    HiveInterfaces,
    HiveKeys,
    HiveOptions,
    KafkaOptions,
    KerberosOptions,
    MetastoreOptions,
    StorageOptions,
)
from kafka2hive.config.keys.declaration import UNSET, declared_keys
from kafka2hive.config.keys.librdkafka import is_sensitive, uses_gssapi
from kafka2hive.config.keys.service import DeadLetterOptions, MapKeys, ServiceKeys, ServiceMap
from kafka2hive.config.keys.source import Start, StartKind, StartPolicy
from kafka2hive.config.keys.table import SelectOptions, SharedOptions, TableKeys, TableRule
from kafka2hive.config.keys.writer import AUTO, Flush
from kafka2hive.config.rules.bucket import EventField, event_field
from kafka2hive.config.rules.hive import hive_url, metastore_url
from kafka2hive.config.rules.service import filesystem_of
from kafka2hive.config.rules.table_options import (
    GROUP,
    DeclaredColumn,
    after_sql,
    before_sql,
    bucket_time,
    declared_columns,
    epoch_milliseconds,
    metadata_names,
    with_defaults,
)
from kafka2hive.model.offsets import topic_of
from kafka2hive.model.paths.path import join

DEFAULT_DATABASE = "kafka2hive"
NOT_SECRET = frozenset({"bootstrap.servers", "group.id", "client.id", "client.rack"})

_METASTORE_PORT = 9083
_ZOOKEEPER_PORT = 2181


def storage_options(storage: StorageOptions) -> StorageOptions:
    """Return the options with the default directories filled in and no trailing slashes."""
    uri = storage.uri.rstrip("/")
    return replace(
        storage,
        uri=uri,
        ledger_root=(storage.ledger_root or join(uri, "kafka2hive")).rstrip("/"),
        warehouse=(storage.warehouse or join(uri, "warehouse")).rstrip("/"),
    )


def location_of(template: str, table: str) -> str:
    """Return a table's directory: the template with `{db}` and `{table}` replaced by the parts of `db.table`."""
    database, _, name = table.partition(".")
    return template.replace("{db}", database).replace("{table}", name)


def location_template(table: TableKeys, storage: StorageOptions) -> str:
    """Return the template of a table's directory: the map's, otherwise `<warehouse>/{db}.db/{table}`."""
    return (table.location or join(storage.warehouse, "{db}.db", "{table}")).rstrip("/")


def dead_letters_of(
    letters: DeadLetterOptions, service: str, first_table: str, storage: StorageOptions
) -> DeadLetterOptions:
    """Return the dead-letter table: the map's, otherwise `<service>_dead_letters` in the first table's database."""
    database = first_table.partition(".")[0].lower()
    if GROUP.search(database):
        database = DEFAULT_DATABASE
    name = re.sub(r"[^a-z0-9_]", "_", service.lower()) + "_dead_letters"
    table = (letters.table or f"{database}.{name}").lower()
    template = letters.location or join(storage.warehouse, "{db}.db", "{table}")
    return replace(letters, table=table, location=location_of(template, table).rstrip("/"))


def _secret_keys(keys: MapKeys, referenced: Mapping[str, bool]) -> frozenset[str]:
    """Return the properties whose values must not be shown: secrets by name, and values that are not in the map's text.

    A few addresses and names may come from the environment and still be shown, but nothing that was read from a file.
    """
    names = {name for name, _ in keys.properties}
    return frozenset(
        name
        for name in names
        if is_sensitive(name)
        or referenced.get(name, False)
        or (name in referenced and name not in NOT_SECRET)
    )


def with_kerberos(storage: StorageOptions, kerberos: KerberosOptions | None) -> StorageOptions:
    """Return the options with the login to HDFS: the storage's own, otherwise the map's; none for local disk."""
    if filesystem_of(storage.uri) == "file://":
        return replace(storage, kerberos=None)
    return replace(storage, kerberos=storage.kerberos or kerberos)


def kafka_login(kafka: KafkaOptions, kerberos: KerberosOptions | None) -> KafkaOptions:
    """Return the options with the map's principal and keytab for GSSAPI, unless the properties set their own."""
    properties = dict(kafka.properties)
    if (
        kerberos is None
        or kerberos.principal is None
        or kerberos.keytab is None
        or not uses_gssapi(properties)
    ):
        return kafka
    login = {
        "sasl.kerberos.principal": kerberos.principal,
        "sasl.kerberos.keytab": kerberos.keytab,
    }
    return replace(kafka, properties=tuple((login | properties).items()))


def _hive(
    hive: HiveKeys | None, kerberos: KerberosOptions | None, environ: Mapping[str, str]
) -> HiveInterfaces | None:
    if hive is None:
        return None
    login, user = hive.kerberos or kerberos, environ.get("HADOOP_USER_NAME") or environ.get("USER") or "hive"
    return HiveInterfaces(_server(hive, login, user), _metastore(hive, login, user))


def _metastore(hive: HiveKeys, login: KerberosOptions | None, user: str) -> MetastoreOptions | None:
    parts = metastore_url(hive.metastore) if hive.metastore is not None else None
    if parts is None:
        return None
    has_tls = parts.options.get("ssl") == "true"
    return MetastoreOptions(
        hosts=parts.addresses(_METASTORE_PORT),
        user=parts.user or user,
        auth=parts.auth,
        timeout_seconds=hive.timeout_seconds,
        service=parts.options.get("service", "hive"),
        qop=parts.options.get("qop"),
        ssl=has_tls,
        ca_file=hive.ca_file if has_tls else None,
        kerberos=login if parts.auth == "KERBEROS" else None,
    )


def _server(hive: HiveKeys, login: KerberosOptions | None, user: str) -> HiveOptions | None:
    parts = hive_url(hive.url) if hive.url is not None else None
    if parts is None:
        return None
    options, auth = parts.options, parts.auth
    has_http = options.get("transport") == "http"
    port = _ZOOKEEPER_PORT if parts.namespace is not None else 10001 if has_http else 10000
    first, *others = parts.addresses(port)
    return HiveOptions(
        host=first[0],
        port=first[1],
        user=parts.user or user,
        password=hive.password,
        auth=auth,
        timeout_seconds=hive.timeout_seconds,
        service=options.get("service", "hive"),
        qop=options.get("qop"),
        ssl=options.get("ssl") == "true",
        ca_file=hive.ca_file if options.get("ssl") == "true" else None,
        kerberos=login if auth == "KERBEROS" else None,
        http_path=options.get("http_path", "cliservice") if has_http else None,
        further_hosts=tuple(others),
        namespace=parts.namespace,
    )


def _run_directory(configured: str | None, service: str, environ: Mapping[str, str]) -> str:
    if configured:
        return configured
    if runtime := environ.get("RUNTIME_DIRECTORY"):
        return runtime.split(":")[0]  # systemd.exec(5): it may hold several, separated by colons
    base = environ.get("XDG_RUNTIME_DIR") or environ.get("TMPDIR") or tempfile.gettempdir()
    return join(base, f"kafka2hive-{service}")


def _start(table: TableKeys) -> StartPolicy:
    match table.start:
        case None:
            return StartPolicy(StartKind.LATEST if table.source == "events" else StartKind.EARLIEST)
        case str(kind):
            return StartPolicy(StartKind(kind))
        case Start(timestamp=str(text)):
            return StartPolicy(StartKind.TIMESTAMP, timestamp_ms=epoch_milliseconds(text))
        case Start(offsets=offsets):
            cluster = table.kafka or ""
            positions = (
                (topic_of(cluster, t), n, o)
                for t, numbers in (offsets or {}).items()
                for n, o in numbers.items()
            )
            return StartPolicy(StartKind.OFFSETS, offsets=tuple(sorted(positions)))


def _flush(table: TableKeys) -> Flush:
    match table.flush:
        case Flush(bytes=most, min_bytes=least) as flush:
            return replace(flush, min_bytes=min(Flush().min_bytes, most) if least is UNSET else least)
        case _:
            return AUTO


def _rule(table: TableKeys, storage: StorageOptions, line: int) -> TableRule:
    template = location_template(table, storage)
    columns = declared_columns(after_sql(table))
    bucket = table.bucket
    event = EventField("") if bucket.field is None else event_field(bucket.field, columns)
    name = table.table if GROUP.search(table.table) else table.table.lower()
    return TableRule(
        **_same_fields(SharedOptions, table),
        **_same_fields(SelectOptions, table),
        table=name,
        topics=tuple(topic_of(table.kafka or "", topic) for topic in table.topics or ()),
        pattern=table.pattern,
        start=_start(table),
        flush=_flush(table),
        objective=table.objective,
        columns=_columns(columns),
        records=_columns(declared_columns(before_sql(table))) if table.records else (),
        metadata=tuple(metadata_names(table.metadata)),
        bucketing=replace(
            bucket,
            time=bucket_time(bucket),
            field=event.column or None,
            unit=BIGINT_UNIT if bucket.unit is UNSET else bucket.unit,
            zone=bucket.zone or table.zone,
            inner=event.inner,
        ),
        create=bool(columns) if table.create is None else table.create,
        location=template if GROUP.search(name) else location_of(template, name),
        line=line,
    )


def _columns(declared: Iterable[DeclaredColumn]) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=c.name,
            type=c.type,
            path=() if c.path is None else c.keys,
            unit=c.unit,
            part=c.part,
            leeway=c.full_leeway,
            is_whole=c.part is RecordPart.VALUE and c.is_whole,
            mask=c.mask,
            rules=c.rules,
        )
        for c in declared
    )


def _same_fields(section: type, keys: object) -> dict[str, Any]:
    """Return the fields that need no decision: those that `section` declares, with the values of `keys`."""
    return {key.field: getattr(keys, key.field) for key in declared_keys(section).values()}


def build(
    keys: MapKeys,
    environ: Mapping[str, str],
    referenced: Mapping[str, bool],
    lines: list[int],
    path: str,
    fingerprint: str,
) -> ServiceMap:
    """Return the service map.

    `referenced` holds the properties whose value is not in the map's text, and whether it was read from a file. `lines`
    holds the line of each table in the map.
    """
    storage = with_kerberos(storage_options(keys.storage), keys.kerberos)
    tables = [with_defaults(table, keys.defaults) for table in keys.tables]
    group = keys.kafka.group or f"kafka2hive-{keys.service}"
    derived = {
        "kafka": replace(kafka_login(keys.kafka, keys.kerberos), group=group),
        "kafka_clusters": tuple(
            (name, replace(kafka_login(options, keys.kerberos), group=options.group or group))
            for name, options in keys.kafka_clusters
        ),
        "storage": storage,
        "dead_letters": dead_letters_of(keys.dead_letters, keys.service, keys.tables[0].table, storage),
        "run_directory": _run_directory(keys.run_directory, keys.service, environ),
    }
    return ServiceMap(
        **_same_fields(ServiceKeys, keys) | derived,
        hive=_hive(keys.hive, keys.kerberos, environ),
        tables=tuple(_rule(table, storage, line) for table, line in zip(tables, lines, strict=True)),
        path=path,
        fingerprint=fingerprint,
        secret_keys=_secret_keys(keys, referenced),
    )
