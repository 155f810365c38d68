"""Check that this machine has what the map needs: keytabs, ticket caches, tokens, certificates, libraries."""

import ctypes
import ssl
import struct
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from kafka2hive.config.file_formats import FILE_FORMATS
from kafka2hive.config.keys import KerberosOptions, ServiceMap, StorageOptions
from kafka2hive.config.keys.hdfs_client import AUTHENTICATION, TRANSFER_PROTECTION, NewFiles
from kafka2hive.config.keys.librdkafka import has_gssapi, uses_gssapi
from kafka2hive.config.mask_keys import read_mask_keys
from kafka2hive.config.native_library import LIBRARY, avro_needs_library
from kafka2hive.model.errors import ConfigError

GSSAPI_LIBRARY = "libgssapi_krb5.so.2"
_SITE_FILES = ("core-site.xml", "hdfs-site.xml")
_KEYTAB_VERSION = b"\x05\x02"
_TOKEN_FILE_MAGIC = b"HDTS\x00"
_HDFS_TOKEN_KIND = b"HDFS_DELEGATION_TOKEN"


def check_this_machine(service_map: ServiceMap, environ: Mapping[str, str], library: Any = LIBRARY) -> None:
    """Raise ConfigError for the first thing that is missing. Reads files, but connects to no service.

    `library` is the compiled library of this environment, None if it has none.
    """
    storage, hive = service_map.storage, service_map.hive
    for section in _logins(service_map):
        _check_login(section)
    is_kerberised = storage.uri.startswith("hdfs:") and uses_kerberos(storage, environ)
    if is_kerberised:
        _check_transfer_protection(storage, environ)
        _check_tokens(storage, environ)
    if is_kerberised or (hive and hive.kerberos):
        _check_library()
    if hive and hive.ca_file is not None:
        hive_tls(hive.ca_file)
    if hive and hive.metastore is not None and find_spec("pymetastore") is None:
        raise metastore_package_missing()
    if hive and hive.server is not None and hive.server.namespace is not None and find_spec("kazoo") is None:
        raise kazoo_package_missing()
    clusters = service_map.clusters.values()
    if any(uses_gssapi(dict(options.properties)) for options in clusters) and not has_gssapi():
        raise gssapi_missing()
    if library is None and any(FILE_FORMATS[rule.writer.format].needs_library for rule in service_map.tables):
        raise avro_needs_library()
    read_mask_keys(service_map)


def check_keytabs(service_map: ServiceMap) -> None:
    """Raise ConfigError (`kerberos.keytab`) for the first keytab that cannot be read, or lacks its principal."""
    for section in _logins(service_map):
        if section.keytab is not None:
            _check_keytab(section.keytab, section.principal)


def _logins(service_map: ServiceMap) -> list[KerberosOptions]:
    hive = service_map.hive
    sections = [service_map.storage.kerberos, hive.kerberos if hive else None, service_map.kerberos]
    return list(dict.fromkeys(filter(None, sections)))


def metastore_package_missing() -> ConfigError:
    """Return the error for an environment that cannot talk to the metastore."""
    return _extra_missing("hive.metastore needs the package pymetastore", "metastore")


def kazoo_package_missing() -> ConfigError:
    """Return the error for an environment that cannot ask ZooKeeper."""
    return _extra_missing("serviceDiscoveryMode=zooKeeper in hive.url needs the package kazoo", "zookeeper")


def _extra_missing(message: str, extra: str) -> ConfigError:
    return ConfigError(
        "hive.extra",
        f"{message}, which is not installed",
        f"type: python -m pip install 'kafka2hive[{extra}]'",
    )


def gssapi_missing() -> ConfigError:
    """Return the error for a Kafka client that cannot log in with Kerberos."""
    return ConfigError(
        "kafka.gssapi",
        "the installed Kafka client was built without GSSAPI, which sasl.mechanisms GSSAPI (librdkafka's default) needs",
        "build the client with scripts/build-gssapi (docs/security.md), or set sasl.mechanisms to another one",
    )


def uses_kerberos(storage: StorageOptions, environ: Mapping[str, str]) -> bool:
    """Return whether the map or Hadoop's site files make the HDFS client log in with Kerberos. Raises ConfigError."""
    explicit = dict(storage.properties).get(AUTHENTICATION)
    if explicit is not None:
        return explicit == "kerberos"
    return storage.kerberos is not None or hadoop_key(AUTHENTICATION, storage, environ) == "kerberos"


def hadoop_key(name: str, storage: StorageOptions, environ: Mapping[str, str]) -> str | None:
    """Return a Hadoop property as the HDFS client sees it: from `storage.properties`, otherwise from the site files.

    Raises ConfigError if a site file cannot be read.
    """
    explicit = dict(storage.properties).get(name)
    if explicit is not None:
        return explicit
    folder = _hadoop_folder(storage, environ)
    value = None
    for file in _SITE_FILES:
        if folder is not None and (folder / file).exists():
            value = _site_properties(folder / file).get(name, value)
    return value


def new_files(storage: StorageOptions, environ: Mapping[str, str]) -> NewFiles:
    """Return how files are created on HDFS, by `storage.properties` and the site files. Raises ConfigError."""
    try:
        return NewFiles.of(lambda name: hadoop_key(name, storage, environ))
    except ValueError as error:
        raise ConfigError(
            "storage.config_dir",
            f"a property of Hadoop's site files cannot be used: {error}",
            "correct it there, or set it in storage.properties of the map",
        ) from None


def _hadoop_folder(storage: StorageOptions, environ: Mapping[str, str]) -> Path | None:
    if storage.config_dir is not None:
        return Path(storage.config_dir)
    if folder := environ.get("HADOOP_CONF_DIR"):
        return Path(folder)
    home = environ.get("HADOOP_HOME")
    return Path(home) / "etc" / "hadoop" if home else None


def _site_properties(path: Path) -> dict[str, str]:
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except (OSError, ElementTree.ParseError) as error:
        raise ConfigError(
            "storage.config_dir", f"{path} cannot be read: {error}", "correct storage.config_dir or the file"
        ) from None
    pairs = ((entry.findtext("name"), entry.findtext("value")) for entry in root.iter("property"))
    return {name.strip(): (value or "").strip() for name, value in pairs if name}


def _check_login(section: KerberosOptions) -> None:
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
                "renew it regularly (k5start, or a timer with kinit), or set kerberos.principal and kerberos.keytab",
            ) from None


def _check_keytab(keytab: str, principal: str) -> None:
    try:
        names = principals(Path(keytab).read_bytes())
    except OSError as error:
        raise ConfigError(
            "kerberos.keytab",
            f"the keytab {keytab} cannot be read: {error.strerror}",
            "put the keytab there, readable only by the service's user (mode 0400)",
        ) from None
    except InvalidKeytab as error:
        raise ConfigError(
            "kerberos.keytab", f"{keytab} is not a keytab: it {error}", "export it again with ktadd"
        ) from None
    if principal not in names:
        raise ConfigError(
            "kerberos.keytab",
            f"the keytab {keytab} has no key of {principal}; its keys: {', '.join(sorted(names)) or 'none'}",
            "correct kerberos.principal, or export the keytab of that principal",
        )


def _check_transfer_protection(storage: StorageOptions, environ: Mapping[str, str]) -> None:
    if hadoop_key(TRANSFER_PROTECTION, storage, environ) is None:
        raise ConfigError(
            "storage.transfer_protection",
            f"HDFS uses Kerberos, but neither storage.properties nor Hadoop's files set {TRANSFER_PROTECTION}:"
            " DataNodes would reset every connection",
            f"copy the value of the cluster's hdfs-site.xml, e.g. storage.properties: {{{TRANSFER_PROTECTION}: privacy}}"
            " (any value will do if DataNodes listen below port 1024), or set storage.config_dir",
        )


def _check_tokens(storage: StorageOptions, environ: Mapping[str, str]) -> None:
    """Check that the token file has a token for the NameNode, unless the map has a Kerberos login.

    hdfs-native ignores tokens of other services without an error.
    """
    path = environ.get("HADOOP_TOKEN_FILE_LOCATION")
    if path is None or storage.kerberos is not None:
        return
    try:
        services = hdfs_services(Path(path).read_bytes())
    except (OSError, InvalidTokenFile) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise ConfigError(
            "kerberos.token",
            f"the token file of HADOOP_TOKEN_FILE_LOCATION, {path}, {reason}",
            "fetch new delegation tokens (hdfs fetchdt), or unset the variable",
        ) from None
    authority = urlsplit(storage.uri).netloc
    if not services & {authority, f"ha-hdfs:{authority}"}:
        raise ConfigError(
            "kerberos.token",
            f"storage.uri names {authority}, but the delegation tokens of {path} are for"
            f" {', '.join(sorted(services)) or 'no NameNode'}",
            "write storage.uri exactly as the token's service is written (a host name does not match its address)",
        )


def _check_library() -> None:
    try:
        ctypes.CDLL(GSSAPI_LIBRARY)
    except OSError:
        raise ConfigError(
            "kerberos.library",
            f"Kerberos needs MIT's {GSSAPI_LIBRARY}, which is not installed on this machine",
            "apt-get install libgssapi-krb5-2, or dnf install krb5-libs, on every machine with executors",
        ) from None


def hive_tls(ca_file: str | None) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or later that checks the server's certificate and host name.

    `ca_file` holds the trusted authorities; None stands for the system's. Raises ConfigError if it cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            "hive.ca_file",
            f"the certificates of hive.ca_file {ca_file} cannot be read: {error}",
            "set it to a PEM file that the service's user can read",
        ) from None


class InvalidKeytab(ValueError):
    """The bytes are not a keytab of version 2, or end within an entry."""


def principals(content: bytes) -> frozenset[str]:
    """Return the principals of a keytab as `kinit` writes them, `name/host@REALM`. Raises InvalidKeytab."""
    if content[:2] != _KEYTAB_VERSION:
        raise InvalidKeytab("does not begin like a keytab")
    try:
        return frozenset(_principal(entry) for entry in _entries(content))
    except (struct.error, UnicodeDecodeError) as error:
        raise InvalidKeytab("is damaged") from error


def _entries(content: bytes) -> Iterator[bytes]:
    """Yield the entries. Each one follows its length; a negative length marks the hole of a deleted entry."""
    at = len(_KEYTAB_VERSION)
    while at < len(content):
        (length,) = struct.unpack_from(">i", content, at)
        at += 4
        if length == 0:
            return
        if at + abs(length) > len(content):
            raise InvalidKeytab("is cut off")
        if length > 0:
            yield content[at : at + length]
        at += abs(length)


def _principal(entry: bytes) -> str:
    """Parse an entry: the number of name parts, the realm, the parts; each text follows its length."""
    (count,) = struct.unpack_from(">H", entry)
    texts, at = [], 2
    for _ in range(count + 1):
        (length,) = struct.unpack_from(">H", entry, at)
        text = entry[at + 2 : at + 2 + length]
        if len(text) < length:
            raise InvalidKeytab("is cut off")
        texts.append(text.decode())
        at += 2 + length
    realm, *parts = texts
    return f"{'/'.join(parts)}@{realm}"


class InvalidTokenFile(ValueError):
    """The bytes are not a token file of format 0, or end within a token."""


def hdfs_services(content: bytes) -> frozenset[str]:
    """Return `host:port` or `ha-hdfs:nameservice` of each token for HDFS. Raises InvalidTokenFile."""
    if content[: len(_TOKEN_FILE_MAGIC)] != _TOKEN_FILE_MAGIC:
        raise InvalidTokenFile("does not begin like a token file of Hadoop")
    reader = _TokenReader(content, len(_TOKEN_FILE_MAGIC))
    services = set()
    for _ in range(reader.read_number()):
        _alias, _identifier, _password = reader.read_part(), reader.read_part(), reader.read_part()
        kind, service = reader.read_part(), reader.read_part()
        if kind == _HDFS_TOKEN_KIND:
            services.add(service.decode(errors="replace"))
    return frozenset(services)


class _TokenReader:
    """Reads the bytes of a token file (Hadoop's Credentials) from a position that moves forward."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def read_part(self) -> bytes:
        """Read a length, then that number of bytes."""
        return self._take(self.read_number())

    def read_number(self) -> int:
        """Read Hadoop's variable-length integer (WritableUtils).

        A first byte below 0x80 is the number; 0x8F to 0x88 say that the number is in the 1 to 8 bytes that follow.
        """
        (first,) = self._take(1)
        if first < 0x80:
            return first
        if not 0x88 <= first <= 0x8F:
            raise InvalidTokenFile("is damaged")  # a negative number
        return int.from_bytes(self._take(0x90 - first))

    def _take(self, length: int) -> bytes:
        if self._at + length > len(self._content):
            raise InvalidTokenFile("is cut off")
        self._at += length
        return self._content[self._at - length : self._at]
