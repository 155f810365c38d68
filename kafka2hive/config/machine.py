"""What the map needs of this machine for Kerberos and TLS: keytabs, ticket caches, tokens, libraries. Asks no service."""

import ctypes
import ssl
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from kafka2hive.config.keys import KerberosOptions, ServiceMap, StorageOptions
from kafka2hive.config.keys.librdkafka import has_gssapi, uses_gssapi
from kafka2hive.config.native_library import LIBRARY, avro_needs_library
from kafka2hive.config.rules.kerberos import AUTHENTICATION, TRANSFER_PROTECTION
from kafka2hive.model.errors import ConfigError

_VERSION = b"\x05\x02"


class NoKeytab(ValueError):
    """The bytes are no keytab of version 2, or end in the middle of an entry."""


def principals(content: bytes) -> frozenset[str]:
    """As `kinit` takes them, `name/host@REALM`. Raises NoKeytab."""
    if content[:2] != _VERSION:
        raise NoKeytab("does not begin as a keytab")
    try:
        return frozenset(_principal(entry) for entry in _entries(content))
    except (struct.error, UnicodeDecodeError) as error:
        raise NoKeytab("is damaged") from error


def _entries(content: bytes) -> Iterator[bytes]:
    """Each begins with its length; a negative one is a hole that a deleted entry left."""
    at = len(_VERSION)
    while at < len(content):
        (length,) = struct.unpack_from(">i", content, at)
        at += 4
        if length == 0:
            return
        if at + abs(length) > len(content):
            raise NoKeytab("is cut off")
        if length > 0:
            yield content[at : at + length]
        at += abs(length)


def _principal(entry: bytes) -> str:
    """A count of name parts, the realm, the parts; each text begins with its length."""
    (count,) = struct.unpack_from(">H", entry)
    texts, at = [], 2
    for _ in range(count + 1):
        (length,) = struct.unpack_from(">H", entry, at)
        text = entry[at + 2 : at + 2 + length]
        if len(text) < length:
            raise NoKeytab("is cut off")
        texts.append(text.decode())
        at += 2 + length
    realm, *parts = texts
    return f"{'/'.join(parts)}@{realm}"


_MAGIC = b"HDTS\x00"
HDFS_TOKEN = "HDFS_DELEGATION_TOKEN"


class NoTokenFile(ValueError):
    """The bytes are no token file of format 0, or end in the middle of a token."""


def hdfs_services(content: bytes) -> frozenset[str]:
    """`host:port` or `ha-hdfs:nameservice` of each token for HDFS. Raises NoTokenFile."""
    if content[: len(_MAGIC)] != _MAGIC:
        raise NoTokenFile("does not begin as a token file of Hadoop")
    reader = _Reader(content, len(_MAGIC))
    services = set()
    for _ in range(reader.number()):
        _alias, _identifier, _password = reader.part(), reader.part(), reader.part()
        kind, service = reader.part(), reader.part()
        if kind == HDFS_TOKEN.encode():
            services.add(service.decode(errors="replace"))
    return frozenset(services)


class _Reader:
    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def part(self) -> bytes:
        """Bytes behind their length."""
        return self._take(self.number())

    def number(self) -> int:
        """Hadoop's variable-length integer (WritableUtils): one byte, or how many bytes follow."""
        (first,) = self._take(1)
        if first < 0x80:
            return first
        if not 0x88 <= first <= 0x8F:
            raise NoTokenFile("is damaged")  # -1 to -112, or a negative number of several bytes
        return int.from_bytes(self._take(0x90 - first))

    def _take(self, length: int) -> bytes:
        if self._at + length > len(self._content):
            raise NoTokenFile("is cut off")
        self._at += length
        return self._content[self._at - length : self._at]


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


def hive_tls(ca_file: str | None) -> ssl.SSLContext:
    """TLS 1.2 and later, the certificate and its host name checked; None: the system's authorities. Raises ConfigError."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            "hive.ca_file",
            f"the authorities of hive.ca_file {ca_file} cannot be read: {error}",
            "name a PEM file that the service's user can read",
        ) from None
