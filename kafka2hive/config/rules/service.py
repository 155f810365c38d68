"""The rules of a service's sections: Kafka, storage, Spark, dead letters, names and paths."""

import posixpath
import re
from urllib.parse import urlsplit

from kafka2hive.config.keys.declaration import LEFT_OUT, key_names
from kafka2hive.config.keys.librdkafka import (
    FIXED_VALUES,
    NAMES,
    OWNED,
    PROTOCOLS,
    fault_of_value,
    is_property,
)
from kafka2hive.config.keys.service import DeadLetterOptions, KafkaOptions, SparkOptions, StorageOptions
from kafka2hive.config.rules.hive import check_hive
from kafka2hive.config.rules.kerberos import check_kerberos
from kafka2hive.config.yaml.problems import Path, Problems, closest
from kafka2hive.config.yaml.shape import MapSections
from kafka2hive.model.paths.ledger import fault_of_table

_MASTER = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|spark://.+|yarn|k8s://.+")
_SPARK_OWNED = {
    "spark.master": "write it as `master` of this section",
    "spark.app.name": "it is the service's name",
    "spark.submit.deployMode": "the driver is this process (client mode)",
}


def filesystem_of(uri: str) -> str:
    """Return scheme and authority, e.g. `hdfs://namenode:8020` or `file://`. No rename crosses file systems."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


def fault_of_uri(uri: str) -> str:
    """Return what is wrong with a full path or base URI, empty if nothing is."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets without an IPv6 address
        return "expected a full path, hdfs://host:port/path or file:///path"
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
    _check_kafka(sections.kafka, problems)
    if sections.storage:
        _check_storage(sections.storage, problems)
    if sections.hive:
        check_hive(sections.hive, sections.has_kerberos, problems)
    check_kerberos(sections, problems)
    if sections.spark:
        _check_spark(sections.spark, problems)
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


def _check_kafka(properties: dict[str, object], problems: Problems) -> None:
    keys = set(key_names(KafkaOptions))
    for name, value in properties.items():
        path = ("kafka", name)
        if name in OWNED:
            problems.add(path, f"kafka2hive sets this property itself: {OWNED[name]}")
        elif name in FIXED_VALUES:
            if str(value).lower() != FIXED_VALUES[name][0]:
                problems.add(path, f"must be {FIXED_VALUES[name][0]}: {FIXED_VALUES[name][1]}")
        elif name not in keys and not is_property(name):
            problems.add(path, "not a property of librdkafka", closest(name, NAMES | keys))
        elif name not in keys and (fault := fault_of_value(name, value)):
            near = closest(str(value), PROTOCOLS) if name == "security.protocol" else ""
            problems.add(path, fault, near)
    servers = properties.get("bootstrap.servers")
    if isinstance(servers, str) and not all(server.strip() for server in servers.split(",")):
        problems.add(("kafka", "bootstrap.servers"), "expected host:port,host:port")


def _check_storage(storage: StorageOptions, problems: Problems) -> None:
    fault = fault_of_uri(storage.uri)
    if fault:
        near = storage.uri.replace("webhdfs://", "hdfs://").replace("viewfs://", "hdfs://")
        problems.add(("storage", "uri"), fault, near if near != storage.uri else "")
    for key in ("ledger_root", "warehouse"):
        location = getattr(storage, key)
        if location is not LEFT_OUT:
            check_location(("storage", key), location, storage, problems)


def _check_spark(spark: SparkOptions, problems: Problems) -> None:
    if not _MASTER.fullmatch(spark.master):
        problems.add(("spark", "master"), "expected local[*,4], spark://host:7077, yarn or k8s://..")
    for name, _ in spark.conf:
        if name in _SPARK_OWNED:
            problems.add(("spark", "conf", name), _SPARK_OWNED[name])
        elif not name.startswith("spark."):
            problems.add(("spark", "conf", name), "Spark's properties begin with spark.", f"spark.{name}")


def _check_dead_letters(
    letters: DeadLetterOptions, storage: StorageOptions | None, problems: Problems
) -> None:
    if letters.table is not LEFT_OUT and (fault := fault_of_table(letters.table)):
        problems.add(("dead_letters", "table"), fault)
    if letters.location is not LEFT_OUT:
        check_location(("dead_letters", "location"), letters.location, storage, problems)
