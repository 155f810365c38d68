"""The rules of the map's section hive: HiveServer2's URL, the metastore's, and the keys that belong to them."""

import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qs, urlsplit

from kafka2hive.config.keys.connections import HiveKeys
from kafka2hive.config.yaml.problems import Path, Problems, closest

_AUTH = ("NONE", "NOSASL", "LDAP", "CUSTOM", "KERBEROS")
_QOP = ("auth", "auth-int", "auth-conf")
_WITH_PASSWORD = ("LDAP", "CUSTOM")
_TRANSPORTS = ("binary", "http")
_DISCOVERY, _NAMESPACE = "serviceDiscoveryMode", "zooKeeperNamespace"
_HIVE_OPTIONS = ("auth", "http_path", "qop", "service", "ssl", "transport", _DISCOVERY, _NAMESPACE)
_ZNODE = re.compile(r"[^/\s]+(/[^/\s]+)*")
_HIVE_SERVICE = re.compile(r"[A-Za-z0-9._-]+")
_METASTORE_OPTIONS = ("auth", "qop", "service", "ssl")
_METASTORE_AUTH = ("NONE", "KERBEROS")
_THRIFT = "thrift://"


class HiveUrl(NamedTuple):
    """The parts of `hive.url` or `hive.metastore`. Hosts without a port have port None."""

    hosts: tuple[tuple[str, int | None], ...]
    user: str | None
    password: str | None
    options: dict[str, str]

    @property
    def auth(self) -> str:
        return self.options.get("auth", _AUTH[0])

    def addresses(self, port: int) -> tuple[tuple[str, int], ...]:
        """Return host and port of each; `port` is the default."""
        return tuple((host, port if own is None else own) for host, own in self.hosts)

    @property
    def namespace(self) -> str | None:
        """The name under which ZooKeeper has the servers; None if the hosts are the servers."""
        return self.options.get(_NAMESPACE, "hiveserver2") if _DISCOVERY in self.options else None


def hive_url(url: str) -> HiveUrl | None:
    """Return the parts of HiveServer2's URL, None if it is malformed."""
    return _parse(url, "hive")


def metastore_url(url: str) -> HiveUrl | None:
    """Return the parts of the metastore's URL, None if it is malformed. Each host may have its own `thrift://`, as in Hive."""
    parts = _parse(url.replace(f",{_THRIFT}", ","), "thrift")
    return parts if parts is None or parts.password is None else None


def _parse(url: str, scheme: str) -> HiveUrl | None:
    """Parse `scheme://user:password@host:port,host:port/path?options`; only HiveServer2 has a path, which is ignored."""
    try:
        parts = urlsplit(url)
        login, at, addresses = parts.netloc.rpartition("@")
        hosts = [urlsplit(f"//{address.strip()}") for address in addresses.split(",")]
        known = tuple((host.hostname or "", host.port) for host in hosts)
        first = urlsplit(f"//{login}{at}h")
    except ValueError:  # a port is not a number
        return None
    is_valid = parts.scheme == scheme and all(host and port != 0 for host, port in known)
    is_valid = is_valid and not any(host.path for host in hosts) and not set("@,") & set(login)
    is_valid = is_valid and (scheme == "hive" or parts.path in ("", "/"))
    return HiveUrl(known, first.username, first.password, url_options(parts)) if is_valid else None


def url_options(parts: SplitResult) -> dict[str, str]:
    """Return the options behind the `?` of a URL; if one repeats, the last value wins."""
    return {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}


def check_hive(hive: HiveKeys, has_kerberos: bool, problems: Problems) -> None:
    """Check the section; `has_kerberos` says whether the map has a section kerberos."""
    if hive.url is None and hive.metastore is None:
        problems.add(("hive",), "needs url (HiveServer2) or metastore, or both")
        return
    has_kerberos = has_kerberos or hive.kerberos is not None
    options = []
    if hive.url is not None:
        _check_url(hive, hive.url, has_kerberos, problems)
        parts = hive_url(hive.url)
        options += [parts.options] if parts is not None else []
    elif hive.password is not None:
        problems.add(("hive", "password"), "is used only with hive.url: the metastore takes no passwords")
    if hive.metastore is not None:
        _check_metastore(hive.metastore, has_kerberos, problems)
        metastore = metastore_url(hive.metastore)
        options += [metastore.options] if metastore is not None else []
    if not options:
        return
    keys = " or ".join(f"hive.{name}" for name in ("url", "metastore") if getattr(hive, name) is not None)
    if hive.kerberos and not any(each.get("auth") == "KERBEROS" for each in options):
        auth = options[0].get("auth", _AUTH[0])
        problems.add(("hive", "kerberos"), f"is used only with auth=KERBEROS; {keys} has auth={auth}")
    if hive.ca_file is not None and not any(each.get("ssl") == "true" for each in options):
        problems.add(("hive", "ca_file"), f"is used only with ssl=true in {keys}")


def _check_metastore(url: str, has_kerberos: bool, problems: Problems) -> None:
    path = ("hive", "metastore")
    parts = metastore_url(url)
    if parts is None:
        problems.add(path, "expected thrift://host:9083,host2:9083, with user@ only before the first host")
        return
    unknown = sorted(parts.options.keys() - set(_METASTORE_OPTIONS))
    if unknown:
        message = f"unknown option {unknown[0]!r}; expected one of {', '.join(_METASTORE_OPTIONS)}"
        problems.add(path, message, closest(unknown[0], _METASTORE_OPTIONS))
    elif parts.auth not in _METASTORE_AUTH:
        problems.add(path, "auth must be NONE or KERBEROS", closest(parts.auth, _METASTORE_AUTH))
    elif parts.auth == "KERBEROS" and parts.user is not None:
        problems.add(path, "with auth=KERBEROS, the principal is the user: remove user@ from the URL")
    elif parts.auth == "KERBEROS" and not has_kerberos:
        problems.add(path, "auth=KERBEROS needs the section kerberos: principal and keytab")
    else:
        _check_options(parts.options, parts.auth, path, problems)


def _check_url(hive: HiveKeys, url: str, has_kerberos: bool, problems: Problems) -> None:
    """Check HiveServer2's URL, and the keys that belong to it."""
    path = ("hive", "url")
    parts = hive_url(url)
    if parts is None:
        address, *settings = re.sub(r"^(jdbc:)?hive2?://", "hive://", url).split(";")
        near = address + "?" * bool(settings) + "&".join(settings)
        may_suggest = near != url and "@" not in near and _takes(near)
        problems.add(path, "expected hive://user@host:10000/default?auth=NONE", near if may_suggest else "")
        return
    options, auth = parts.options, parts.auth
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
    elif auth == "KERBEROS" and parts.user is not None:
        problems.add(path, "with auth=KERBEROS, the principal is the user: remove user@ from the URL")
    elif auth == "KERBEROS" and not (has_kerberos or hive.kerberos):
        problems.add(path, "auth=KERBEROS needs the section kerberos: principal and keytab")
    else:
        _check_options(options, auth, path, problems)


def _takes(url: str) -> bool:
    """Return whether the URL is well-formed, with known options only."""
    parts = hive_url(url)
    return parts is not None and parts.options.keys() <= set(_HIVE_OPTIONS)


def _check_options(options: dict[str, str], auth: str, path: Path, problems: Problems) -> None:
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
            path, "service must be the first part of the server's principal: hive if that is hive/host@REALM"
        )
    elif options.get("ssl", "false") not in ("true", "false"):
        problems.add(path, "ssl must be true or false")
    elif transport not in _TRANSPORTS:
        problems.add(path, f"transport must be {' or '.join(_TRANSPORTS)}", closest(transport, _TRANSPORTS))
    elif options.get(_DISCOVERY, "zooKeeper") != "zooKeeper":
        problems.add(path, f"{_DISCOVERY} must be zooKeeper")
    elif _NAMESPACE in options and _DISCOVERY not in options:
        problems.add(path, f"{_NAMESPACE} is used only with {_DISCOVERY}=zooKeeper")
    elif not _ZNODE.fullmatch(options.get(_NAMESPACE, "hiveserver2")):
        problems.add(path, f"{_NAMESPACE} must be a name without / before and behind it")
    elif "http_path" in options and transport != "http":
        problems.add(path, "http_path is used only with transport=http")
    elif "qop" in options and transport == "http":
        problems.add(
            path, "qop is used only with transport=binary; with transport=http, use ssl=true to encrypt"
        )
