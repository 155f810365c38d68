"""The rules of the hive section: its URL, and what each way to log in needs."""

import re
from urllib.parse import SplitResult, parse_qs, urlsplit

from kafka2hive.config.keys.service import HiveKeys
from kafka2hive.config.yaml.problems import Path, Problems, closest

AUTH = ("NONE", "NOSASL", "LDAP", "CUSTOM", "KERBEROS")
QOP = ("auth", "auth-int", "auth-conf")
_WITH_PASSWORD = ("LDAP", "CUSTOM")
TRANSPORTS = ("binary", "http")
_OPTIONS = ("auth", "http_path", "qop", "service", "ssl", "transport")
_SERVICE = re.compile(r"[A-Za-z0-9._-]+")


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
    """Return the option `auth` of a URL, by default the first one of AUTH."""
    return url_options(parts).get("auth", AUTH[0])


def check_hive(hive: HiveKeys, has_kerberos: bool, problems: Problems) -> None:
    """Check the section; `has_kerberos` says whether the map has a section kerberos."""
    path = ("hive", "url")
    parts = hive_url(hive.url)
    if parts is None:
        near = re.sub(r"^(jdbc:)?hive2?://", "hive://", hive.url)
        may_suggest = near != hive.url and "@" not in near and ";" not in near and hive_url(near) is not None
        problems.add(path, "expected hive://user@host:10000/default?auth=NONE", near if may_suggest else "")
        return
    options, auth = url_options(parts), hive_auth(parts)
    unknown = sorted(options.keys() - set(_OPTIONS))
    if parts.password is not None:
        problems.add(path, "the URL must not have a password: write it as hive.password")
    elif unknown:
        message = f"unknown option {unknown[0]!r}; expected one of {', '.join(_OPTIONS)}"
        problems.add(path, message, closest(unknown[0], _OPTIONS))
    elif auth not in AUTH:
        problems.add(path, f"auth must be {', '.join(AUTH)}", closest(auth, AUTH))
    elif auth in _WITH_PASSWORD and hive.password is None:
        problems.add(path, f"auth={auth} needs hive.password")
    elif auth not in _WITH_PASSWORD and hive.password is not None:
        problems.add(("hive", "password"), f"is used only with auth=LDAP or auth=CUSTOM, the URL says {auth}")
    elif auth == "KERBEROS" and parts.username is not None:
        problems.add(path, "with auth=KERBEROS the principal is the user: remove user@")
    elif auth == "KERBEROS" and not (has_kerberos or hive.kerberos):
        problems.add(path, "auth=KERBEROS needs the section kerberos: principal and keytab")
    elif auth != "KERBEROS" and hive.kerberos:
        problems.add(("hive", "kerberos"), f"is used only with auth=KERBEROS, the URL says {auth}")
    else:
        _check_options(options, auth, path, problems)
    if hive.ca_file is not None and options.get("ssl") != "true":
        problems.add(("hive", "ca_file"), "is used only with ssl=true in hive.url")


def _check_options(options: dict[str, str], auth: str, path: Path, problems: Problems) -> None:
    for name in ("qop", "service"):
        if name in options and auth != "KERBEROS":
            problems.add(path, f"{name} is used only with auth=KERBEROS, the URL says {auth}")
            return
    qop, service = options.get("qop", QOP[0]), options.get("service", "hive")
    transport = options.get("transport", TRANSPORTS[0])
    if qop not in QOP:
        problems.add(path, f"qop must be {', '.join(QOP)}", closest(qop, QOP))
    elif not _SERVICE.fullmatch(service):
        problems.add(path, "service is the first part of HiveServer2's principal, hive of hive/host@REALM")
    elif options.get("ssl", "false") not in ("true", "false"):
        problems.add(path, "ssl must be true or false")
    elif transport not in TRANSPORTS:
        problems.add(path, f"transport must be {' or '.join(TRANSPORTS)}", closest(transport, TRANSPORTS))
    elif "http_path" in options and transport != "http":
        problems.add(path, "http_path is used only with transport=http")
    elif "qop" in options and transport == "http":
        problems.add(path, "qop is used only with transport=binary: with HTTP ssl=true encrypts")
