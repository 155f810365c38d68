"""What the map asks of this machine: keytab, ticket cache, libraries, authorities, Hadoop's own files.

No service is asked.
"""

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from kafka2hive.config.checks.services.kerberos import AUTHENTICATION, TRANSFER_PROTECTION
from kafka2hive.config.librdkafka import has_gssapi, uses_gssapi
from kafka2hive.config.machine.keytab import NoKeytab, principals
from kafka2hive.config.machine.native_library import LIBRARY, avro_needs_library
from kafka2hive.config.machine.token_file import NoTokenFile, hdfs_services
from kafka2hive.config.values import KerberosOptions, ServiceMap, StorageOptions
from kafka2hive.model.errors import ConfigError

GSSAPI_LIBRARY = "libgssapi_krb5.so.2"
_SITE_FILES = ("core-site.xml", "hdfs-site.xml")


def check_this_machine(service_map: ServiceMap, environ: Mapping[str, str], library: Any = LIBRARY) -> None:
    """Raises ConfigError for the first thing that is missing. Reads files; connects to nothing.

    `library`: the compiled one of this environment, None without.
    """
    storage, hive = service_map.storage, service_map.hive
    sections = [storage.kerberos, hive.kerberos if hive else None, service_map.kerberos]
    for section in dict.fromkeys(filter(None, sections)):
        _check_section(section)
    is_kerberised = storage.uri.startswith("hdfs:") and uses_kerberos(storage, environ)
    if is_kerberised:
        _check_transfer_protection(storage, environ)
        _check_tokens(storage, environ)
    if is_kerberised or (hive and hive.kerberos):
        _check_library()
    if hive and hive.ca_file is not None:
        _check_authorities(hive.ca_file)
    if uses_gssapi(dict(service_map.kafka.properties)) and not has_gssapi():
        raise no_gssapi()
    if library is None and any(rule.writer.format == "avro" for rule in service_map.tables):
        raise avro_needs_library()


def no_gssapi() -> ConfigError:
    """The Kafka client of this machine cannot log in with Kerberos."""
    return ConfigError(
        "kafka.gssapi",
        "the installed Kafka client was built without GSSAPI, which sasl.mechanisms GSSAPI (librdkafka's default) needs",
        "build it with scripts/build-gssapi (docs/security.md), or use another of sasl.mechanisms",
    )


def uses_kerberos(storage: StorageOptions, environ: Mapping[str, str]) -> bool:
    """Whether HDFS is asked with Kerberos: by the map, or by Hadoop's files."""
    said = dict(storage.properties).get(AUTHENTICATION)
    if said is not None:
        return said == "kerberos"
    return storage.kerberos is not None or hadoop_key(AUTHENTICATION, storage, environ) == "kerberos"


def hadoop_key(name: str, storage: StorageOptions, environ: Mapping[str, str]) -> str | None:
    """A key as the HDFS client will see it: `storage.properties`, else the site files. Raises ConfigError."""
    said = dict(storage.properties).get(name)
    if said is not None:
        return said
    folder = _hadoop_folder(storage, environ)
    found = None
    for file in _SITE_FILES:
        if folder is not None and (folder / file).exists():
            found = _site(folder / file).get(name, found)
    return found


def _hadoop_folder(storage: StorageOptions, environ: Mapping[str, str]) -> Path | None:
    if storage.config_dir is not None:
        return Path(storage.config_dir)
    if folder := environ.get("HADOOP_CONF_DIR"):
        return Path(folder)
    home = environ.get("HADOOP_HOME")
    return Path(home) / "etc" / "hadoop" if home else None


def _site(path: Path) -> dict[str, str]:
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except (OSError, ElementTree.ParseError) as error:
        raise ConfigError(
            "storage.config_dir", f"{path} cannot be read: {error}", "correct storage.config_dir or the file"
        ) from None
    pairs = ((entry.findtext("name"), entry.findtext("value")) for entry in root.iter("property"))
    return {name.strip(): (value or "").strip() for name, value in pairs if name}


def _check_section(section: KerberosOptions) -> None:
    if section.keytab is not None:
        _check_keytab(section.keytab, section.principal)
    elif section.cache is not None and section.cache.startswith(("/", "FILE:")):
        path = section.cache.removeprefix("FILE:")
        try:
            Path(path).open("rb").close()
        except OSError as error:
            raise ConfigError(
                "kerberos.cache",
                f"the ticket cache {path} cannot be read: {error.strerror}",
                "have something keep it (k5start, a timer with kinit), or write principal and keytab",
            ) from None


def _check_keytab(keytab: str, principal: str) -> None:
    try:
        held = principals(Path(keytab).read_bytes())
    except OSError as error:
        raise ConfigError(
            "kerberos.keytab",
            f"the keytab {keytab} cannot be read: {error.strerror}",
            "put it there, readable for the service's user alone (mode 0400)",
        ) from None
    except NoKeytab as error:
        raise ConfigError(
            "kerberos.keytab", f"{keytab} is no keytab: it {error}", "export it again with ktadd"
        ) from None
    if principal not in held:
        raise ConfigError(
            "kerberos.keytab",
            f"the keytab {keytab} does not hold {principal}, but {', '.join(sorted(held)) or 'nobody'}",
            "correct kerberos.principal, or export the keytab of that principal",
        )


def _check_transfer_protection(storage: StorageOptions, environ: Mapping[str, str]) -> None:
    if hadoop_key(TRANSFER_PROTECTION, storage, environ) is None:
        raise ConfigError(
            "storage.transfer_protection",
            f"HDFS with Kerberos, and {TRANSFER_PROTECTION} is said neither in storage.properties nor in Hadoop's"
            " files: DataNodes would reset every connection",
            f"write storage.properties: {{{TRANSFER_PROTECTION}: privacy}} as the cluster's hdfs-site.xml has it"
            " (any of its words where DataNodes listen below port 1024), or name storage.config_dir",
        )


def _check_tokens(storage: StorageOptions, environ: Mapping[str, str]) -> None:
    """Without a login of the map the file's tokens must do; hdfs-native ignores in silence those that do not fit."""
    path = environ.get("HADOOP_TOKEN_FILE_LOCATION")
    if path is None or storage.kerberos is not None:
        return
    try:
        services = hdfs_services(Path(path).read_bytes())
    except (OSError, NoTokenFile) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise ConfigError(
            "kerberos.token",
            f"the delegation tokens of HADOOP_TOKEN_FILE_LOCATION: {path} {reason}",
            "fetch them again (hdfs fetchdt), or unset the variable",
        ) from None
    authority = urlsplit(storage.uri).netloc
    if not services & {authority, f"ha-hdfs:{authority}"}:
        raise ConfigError(
            "kerberos.token",
            f"no delegation token of {path} is for {authority}, as storage.uri has it, but for"
            f" {', '.join(sorted(services)) or 'nobody'}",
            "write storage.uri with the very text of the token's service (an address is another text than its name)",
        )


def _check_authorities(ca_file: str) -> None:
    from kafka2hive.config.machine.authorities import hive_tls  # ssl is loaded only where it is used

    hive_tls(ca_file)


def _check_library() -> None:
    try:
        ctypes.CDLL(GSSAPI_LIBRARY)
    except OSError:
        raise ConfigError(
            "kerberos.library",
            f"Kerberos needs MIT's {GSSAPI_LIBRARY}, which this machine lacks",
            "apt-get install libgssapi-krb5-2, or dnf install krb5-libs; on every machine with executors",
        ) from None
