"""The rules of the map's sections other than tables and registry: Kafka, storage, Hive, Kerberos, Spark, and so on."""

import posixpath
import re
from urllib.parse import SplitResult, parse_qs, urlsplit

from kafka2hive.config.keys.connections import (
    HiveKeys,
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
)
from kafka2hive.config.keys.service import DeadLetterOptions, LineageOptions, SparkOptions
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
_AUTH = ("NONE", "NOSASL", "LDAP", "CUSTOM", "KERBEROS")
_QOP = ("auth", "auth-int", "auth-conf")
_WITH_PASSWORD = ("LDAP", "CUSTOM")
_TRANSPORTS = ("binary", "http")
_HIVE_OPTIONS = ("auth", "http_path", "qop", "service", "ssl", "transport")
_HIVE_SERVICE = re.compile(r"[A-Za-z0-9._-]+")
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


def hive_url(url: str) -> SplitResult | None:
    """Return the parts of HiveServer2's URL, None if it is malformed."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme == "hive" and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:  # the port is not a number
        return None
    return parts if is_valid else None


def url_options(parts: SplitResult) -> dict[str, str]:
    """Return the options behind the `?` of a URL; if one repeats, the last value wins."""
    return {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}


def hive_auth(parts: SplitResult) -> str:
    """Return the option `auth` of a URL, by default NONE."""
    return url_options(parts).get("auth", _AUTH[0])


def check_service(sections: MapSections, problems: Problems) -> None:
    """Check the sections other than tables and registry."""
    _check_kafka(sections.kafka, problems)
    if sections.storage:
        _check_storage(sections.storage, problems)
    if sections.hive:
        _check_hive(sections.hive, sections.has_kerberos, problems)
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


def _check_kafka(properties: dict[str, object], problems: Problems) -> None:
    keys = set(key_names(KafkaOptions))
    for name, value in properties.items():
        path = ("kafka", name)
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
                problems.add(("kafka", "bootstrap.servers"), f"expected host:port,host:port, not {server!r}")


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


def _check_hive(hive: HiveKeys, has_kerberos: bool, problems: Problems) -> None:
    """Check the section; `has_kerberos` says whether the map has a section kerberos."""
    path = ("hive", "url")
    parts = hive_url(hive.url)
    if parts is None:
        near = re.sub(r"^(jdbc:)?hive2?://", "hive://", hive.url)
        may_suggest = near != hive.url and "@" not in near and ";" not in near and hive_url(near) is not None
        problems.add(path, "expected hive://user@host:10000/default?auth=NONE", near if may_suggest else "")
        return
    options, auth = url_options(parts), hive_auth(parts)
    unknown = sorted(options.keys() - set(_HIVE_OPTIONS))
    if parts.password is not None:
        problems.add(path, "the URL must not have a password: write it as hive.password")
    elif unknown:
        message = f"unknown option {unknown[0]!r}; expected one of {', '.join(_HIVE_OPTIONS)}"
        problems.add(path, message, closest(unknown[0], _HIVE_OPTIONS))
    elif auth not in _AUTH:
        problems.add(path, f"auth must be one of {', '.join(_AUTH)}", closest(auth, _AUTH))
    elif auth in _WITH_PASSWORD and hive.password is None:
        problems.add(path, f"auth={auth} needs hive.password")
    elif auth not in _WITH_PASSWORD and hive.password is not None:
        problems.add(
            ("hive", "password"), f"is used only with auth=LDAP or auth=CUSTOM; hive.url has auth={auth}"
        )
    elif auth == "KERBEROS" and parts.username is not None:
        problems.add(path, "with auth=KERBEROS, the principal is the user: remove user@ from the URL")
    elif auth == "KERBEROS" and not (has_kerberos or hive.kerberos):
        problems.add(path, "auth=KERBEROS needs the section kerberos: principal and keytab")
    elif auth != "KERBEROS" and hive.kerberos:
        problems.add(("hive", "kerberos"), f"is used only with auth=KERBEROS; hive.url has auth={auth}")
    else:
        _check_hive_options(options, auth, path, problems)
    if hive.ca_file is not None and options.get("ssl") != "true":
        problems.add(("hive", "ca_file"), "is used only with ssl=true in hive.url")


def _check_hive_options(options: dict[str, str], auth: str, path: Path, problems: Problems) -> None:
    for name in ("qop", "service"):
        if name in options and auth != "KERBEROS":
            problems.add(path, f"{name} is used only with auth=KERBEROS; the URL has auth={auth}")
            return
    qop, service = options.get("qop", _QOP[0]), options.get("service", "hive")
    transport = options.get("transport", _TRANSPORTS[0])
    if qop not in _QOP:
        problems.add(path, f"qop must be one of {', '.join(_QOP)}", closest(qop, _QOP))
    elif not _HIVE_SERVICE.fullmatch(service):
        problems.add(
            path, "service must be the first part of HiveServer2's principal: hive if that is hive/host@REALM"
        )
    elif options.get("ssl", "false") not in ("true", "false"):
        problems.add(path, "ssl must be true or false")
    elif transport not in _TRANSPORTS:
        problems.add(path, f"transport must be {' or '.join(_TRANSPORTS)}", closest(transport, _TRANSPORTS))
    elif "http_path" in options and transport != "http":
        problems.add(path, "http_path is used only with transport=http")
    elif "qop" in options and transport == "http":
        problems.add(
            path, "qop is used only with transport=binary; with transport=http, use ssl=true to encrypt"
        )


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
