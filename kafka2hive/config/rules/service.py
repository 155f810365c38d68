"""The rules of the map's sections other than tables and registry: Kafka, storage, Kerberos, Spark, and so on."""

import posixpath
import re
from urllib.parse import urlsplit

from kafka2hive.config.keys.connections import (
    KafkaOptions,
    KerberosOptions,
    StorageOptions,
)
from kafka2hive.config.keys.declaration import UNSET, key_names
from kafka2hive.config.keys.hdfs_client import (
    AUTHENTICATION,
    HONOURED,
    PARSERS,
    TRANSFER_PROTECTION,
    is_honoured,
)
from kafka2hive.config.keys.librdkafka import (
    CHOICES,
    FIXED_VALUES,
    NAMES,
    OWNED,
    fault_of_value,
    is_property,
    uses_gssapi,
)
from kafka2hive.config.keys.service import DeadLetterOptions, LineageOptions, MapKeys, SparkOptions
from kafka2hive.config.rules.hive import check_hive
from kafka2hive.config.rules.registry import is_http_address
from kafka2hive.config.yaml.problems import Path, Problems, closest
from kafka2hive.config.yaml.shape import MapSections
from kafka2hive.model.paths.ledger import fault_of_table

_MASTER = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|spark://.+|yarn|k8s://.+")
_SPARK_OWNED = {
    "spark.master": "set the key master of the section spark instead",
    "spark.app.name": "must not be set: it is the service's name",
    "spark.submit.deployMode": "must not be set: the driver is always this process (client mode)",
}
_OBJECT_STORES = frozenset(
    ("s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs", "wasb", "wasbs", "abfs", "abfss", "adl")
)
_PRINCIPAL = re.compile(r"[^\s/@]+(/[^\s/@]+)*@[^\s/@]+")
_NO_PATH = re.compile(r"~|\w+:")
_NAMESPACE = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@]+")
_CACHE = re.compile(r"(FILE:)?/.+|(DIR|KEYRING|KCM):.*")
_TOKEN = re.compile(r"[!-~]+")
_HADOOP_VALUES = {
    TRANSFER_PROTECTION: ("authentication", "integrity", "privacy"),
    "hadoop.rpc.protection": ("authentication", "integrity", "privacy"),
    AUTHENTICATION: ("simple", "kerberos"),
}


def filesystem_of(uri: str) -> str:
    """Return scheme and authority, e.g. `hdfs://namenode:8020` or `file://`. A rename cannot cross file systems."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


def fault_of_uri(uri: str) -> str:
    """Return what is wrong with a full path or base URI, or an empty string if it is valid."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets without an IPv6 address
        return "expected a full path, hdfs://host:port/path or file:///path"
    if parts.scheme in _OBJECT_STORES:
        return (
            f"expected hdfs://host:port/path or file:///path: files become visible by an atomic rename, which"
            f" {parts.scheme}:// does not have"
        )
    if parts.scheme not in ("hdfs", "file") or not uri.startswith(f"{parts.scheme}://"):
        return "expected a full path, hdfs://host:port/path or file:///path"
    if parts.scheme == "hdfs" and not parts.netloc:
        return "hdfs:// needs a NameNode's host:port or a nameservice"
    if parts.scheme == "file" and parts.netloc:
        return "a local path has three slashes: file:///path"
    if parts.scheme == "file" and parts.path in ("", "/"):
        return "name a directory: file:///path"
    if parts.query or parts.fragment or "@" in parts.netloc:
        return "a path must not have user, ? or #"
    if "//" in parts.path or any(step in (".", "..") for step in parts.path.split("/")):
        return f"a path must not have empty, . or .. steps; write {posixpath.normpath(parts.path)}"
    return ""


def check_service(sections: MapSections, problems: Problems) -> None:
    """Check the sections other than tables and registry."""
    _check_kafka(sections.kafka, ("kafka",), problems)
    for name, properties in sections.kafka_clusters.items():
        _check_kafka(properties, ("kafka_clusters", name), problems)
    _check_clusters(sections, problems)
    if sections.storage:
        _check_storage(sections.storage, problems)
    if sections.hive:
        check_hive(sections.hive, sections.has_kerberos, problems)
    _check_kerberos(sections, problems)
    if sections.storage:
        _check_hadoop(sections, sections.storage, problems)
    if sections.spark:
        _check_spark(sections.spark, problems)
    if sections.lineage:
        _check_lineage(sections.lineage, problems)
    if sections.dead_letters:
        _check_dead_letters(sections.dead_letters, sections.storage, problems)


def check_location(path: Path, location: str, storage: StorageOptions | None, problems: Problems) -> None:
    """Check that the location is a full path on the file system of `storage.uri`, so that a rename can reach it."""
    fault = fault_of_uri(location)
    base = filesystem_of(storage.uri) if storage and not fault_of_uri(storage.uri) else ""
    if fault:
        problems.add(path, fault, base + location if base and location.startswith("/") else "")
    elif base and filesystem_of(location) != base:
        problems.add(
            path,
            f"must be on {base} (storage.uri), found {filesystem_of(location)}: "
            "files become visible by a rename, which cannot cross file systems",
        )


def _check_kafka(properties: dict[str, object], place: Path, problems: Problems) -> None:
    keys = set(key_names(KafkaOptions))
    for name, value in properties.items():
        path = (*place, name)
        if name in OWNED:
            problems.add(path, f"must not be set: {OWNED[name]}")
        elif name in FIXED_VALUES:
            if str(value).lower() != FIXED_VALUES[name][0]:
                problems.add(path, f"must be {FIXED_VALUES[name][0]}: {FIXED_VALUES[name][1]}")
        elif name not in keys and not is_property(name):
            problems.add(path, "not a property of librdkafka", closest(name, NAMES | keys))
        elif name not in keys and (fault := fault_of_value(name, value)):
            problems.add(path, fault, closest(str(value), CHOICES.get(name, ())))
    servers = properties.get("bootstrap.servers")
    if isinstance(servers, str):
        for server in map(str.strip, servers.split(",")):
            if not server or not _has_port(server):
                problems.add((*place, "bootstrap.servers"), f"expected host:port,host:port, not {server!r}")


def _check_clusters(sections: MapSections, problems: Problems) -> None:
    """Check that tables name clusters of the map, that each cluster has a table, and the clusters' principals."""
    if sections.defaults is None:
        return
    names = list(sections.kafka_clusters)
    named: dict[Path, str | None] = {("defaults", "kafka"): sections.defaults.kafka}
    named |= {("tables", index, "kafka"): table.kafka for index, table in sections.tables.items()}
    for place, name in named.items():
        if name is not None and name not in names:
            problems.add(place, f"kafka_clusters has no cluster {name}", closest(name, names))
    if sections.keys is None:
        return
    read = {table.kafka or sections.defaults.kafka for table in sections.tables.values()}
    for name in names:
        if name not in read:
            problems.add(("kafka_clusters", name), "no table reads this cluster: give a table kafka: " + name)
    _check_principals(sections.keys, problems)


def _check_principals(keys: MapKeys, problems: Problems) -> None:
    """Check that clusters with GSSAPI have one principal: librdkafka puts its ticket into the process's only cache."""
    first: str | None = None
    for name, options in keys.clusters.items():
        properties = dict(options.properties)
        if not uses_gssapi(properties):
            continue
        login = keys.kerberos.principal if keys.kerberos is not None else None
        principal = properties.get("sasl.kerberos.principal") or login
        if first is not None and principal != first:
            place: Path = ("kafka_clusters", name)
            if "sasl.kerberos.principal" in properties:
                place = (*place, "sasl.kerberos.principal")
            problems.add(
                place,
                f"is another Kerberos principal than {first}: the clients of one process share a ticket cache, so all"
                " clusters with GSSAPI need the same one; dump this cluster's tables by a service of their own, or log in"
                " with SCRAM, OAUTHBEARER or TLS",
            )
        first = first or principal


def _has_port(server: str) -> bool:
    """Return whether the port of `host:port` is a number; librdkafka would connect to port 0. A host alone gets 9092."""
    address = server.rpartition("://")[2].rpartition("]")[2]
    _, colon, port = address.rpartition(":")
    return not colon or (port.isdecimal() and 0 < int(port) < 65_536)


def _check_storage(storage: StorageOptions, problems: Problems) -> None:
    fault = fault_of_uri(storage.uri)
    if fault:
        near = storage.uri.replace("webhdfs://", "hdfs://").replace("viewfs://", "hdfs://")
        problems.add(("storage", "uri"), fault, near if near != storage.uri else "")
    for key in ("ledger_root", "warehouse"):
        location = getattr(storage, key)
        if location is not UNSET:
            check_location(("storage", key), location, storage, problems)


def _check_kerberos(sections: MapSections, problems: Problems) -> None:
    """Check the logins of the sections kerberos, hive and storage."""
    if sections.kerberos:
        _check_login(sections.kerberos, ("kerberos",), problems)
    if sections.hive and sections.hive.kerberos:
        _check_login(sections.hive.kerberos, ("hive", "kerberos"), problems)
    if not sections.storage:
        return
    if sections.storage.kerberos:
        _check_login(sections.storage.kerberos, ("storage", "kerberos"), problems)
        if sections.storage.uri.startswith("file:"):
            problems.add(("storage", "kerberos"), "is used only with hdfs://")


def _check_hadoop(sections: MapSections, storage: StorageOptions, problems: Problems) -> None:
    """Check the properties of the HDFS client. Others are passed to Spark, if a table has lookups; no other reader exists."""
    has_lookups = any(table.lookups for table in sections.tables.values())
    for name, value in storage.properties:
        path = ("storage", "properties", name)
        if not is_honoured(name) and not has_lookups:
            what = "the HDFS client does not read this property, so it would have no effect: remove it"
            problems.add(path, what, closest(name, HONOURED))
        if name in PARSERS:
            try:
                PARSERS[name](value)
            except ValueError as error:
                problems.add(path, str(error))
        allowed = _HADOOP_VALUES.get(name)
        faults = [word for word in value.split(",") if allowed and word.strip() not in allowed]
        if allowed and faults:
            problems.add(
                path,
                f"expected {', '.join(allowed[:-1])} or {allowed[-1]}",
                closest(faults[0], allowed),
            )


def _check_login(options: KerberosOptions, path: Path, problems: Problems) -> None:
    if not _PRINCIPAL.fullmatch(options.principal):
        problems.add((*path, "principal"), "expected name@REALM or name/host@REALM")
    if options.cache is not None and options.keytab is not None:
        problems.add((*path, "cache"), "excludes keytab: keep one of the two")
    elif options.cache is not None and not _CACHE.fullmatch(options.cache):
        problems.add((*path, "cache"), "expected FILE:/path, DIR:/path, KEYRING:.. or KCM:..")
    elif options.cache is None and options.keytab is None:
        problems.add(path, "needs keytab or cache")
    elif options.keytab is not None and (not options.keytab or _NO_PATH.match(options.keytab)):
        problems.add((*path, "keytab"), "expected a local path, /etc/security/keytabs/etl.keytab")


def _check_spark(spark: SparkOptions, problems: Problems) -> None:
    if not _MASTER.fullmatch(spark.master):
        problems.add(("spark", "master"), "expected local[*,4], spark://host:7077, yarn or k8s://..")
    for name, _ in spark.conf:
        if name in _SPARK_OWNED:
            problems.add(("spark", "conf", name), _SPARK_OWNED[name])
        elif not name.startswith("spark."):
            problems.add(("spark", "conf", name), "Spark's properties begin with spark.", f"spark.{name}")


def _check_lineage(lineage: LineageOptions, problems: Problems) -> None:
    if not _is_address(lineage.url):
        near = f"http://{lineage.url}" if "://" not in lineage.url else ""
        problems.add(
            ("lineage", "url"),
            "expected http(s)://host:port[/path], without user, ? or #",
            near if _is_address(near) else "",
        )
    elif lineage.ca_file is not None and not lineage.url.startswith("https:"):
        problems.add(("lineage", "ca_file"), "is used only with https://")
    if lineage.token is not None and not _TOKEN.fullmatch(lineage.token):
        problems.add(("lineage", "token"), "a token must be one word of ASCII characters")
    if lineage.hive_namespace is not None and not _NAMESPACE.fullmatch(lineage.hive_namespace):
        problems.add(("lineage", "hive_namespace"), "expected hive://host:port, without a path")


def _is_address(url: str) -> bool:
    """Return whether it is an HTTP address without user, query and fragment."""
    return is_http_address(url) and not any(mark in url for mark in "@?#")


def _check_dead_letters(
    letters: DeadLetterOptions, storage: StorageOptions | None, problems: Problems
) -> None:
    if letters.table is not UNSET and (fault := fault_of_table(letters.table)):
        problems.add(("dead_letters", "table"), fault)
    if letters.location is not UNSET:
        check_location(("dead_letters", "location"), letters.location, storage, problems)
