"""The hive section: its URL, and what each way to log in needs."""

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
    """The parts of HiveServer2's URL, None when it is none."""
    try:
        parts = urlsplit(url)
        good = parts.scheme == "hive" and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number
        return None
    return parts if good else None


def url_options(parts: SplitResult) -> dict[str, str]:
    """What stands behind the `?` of a URL; of an option said twice the last."""
    return {name: said[-1] for name, said in parse_qs(parts.query, keep_blank_values=True).items()}


def hive_auth(parts: SplitResult) -> str:
    """One of AUTH in a URL that is right; the first of them where it says none."""
    return url_options(parts).get("auth", AUTH[0])


def check_hive(hive: HiveKeys, has_kerberos: bool, problems: Problems) -> None:
    """`has_kerberos`: the map has a section of that name."""
    path = ("hive", "url")
    parts = hive_url(hive.url)
    if parts is None:
        near = re.sub(r"^(jdbc:)?hive2?://", "hive://", hive.url)
        good = near != hive.url and "@" not in near and ";" not in near and hive_url(near) is not None
        problems.add(path, "expected hive://user@host:10000/default?auth=NONE", near if good else "")
        return
    options, auth = url_options(parts), hive_auth(parts)
    unknown = sorted(options.keys() - set(_OPTIONS))
    if parts.password is not None:
        problems.add(path, "a password does not belong into the URL: write it as hive.password")
    elif unknown:
        message = f"unknown option {unknown[0]!r}; there are {', '.join(_OPTIONS)}"
        problems.add(path, message, closest(unknown[0], _OPTIONS))
    elif auth not in AUTH:
        problems.add(path, f"auth must be {', '.join(AUTH)}", closest(auth, AUTH))
    elif auth in _WITH_PASSWORD and hive.password is None:
        problems.add(path, f"auth={auth} needs hive.password")
    elif auth not in _WITH_PASSWORD and hive.password is not None:
        problems.add(("hive", "password"), f"is used with auth=LDAP or auth=CUSTOM only, the URL says {auth}")
    elif auth == "KERBEROS" and parts.username is not None:
        problems.add(path, "with auth=KERBEROS the principal says who you are: leave user@ out")
    elif auth == "KERBEROS" and not (has_kerberos or hive.kerberos):
        problems.add(path, "auth=KERBEROS needs the section kerberos: principal and keytab")
    elif auth != "KERBEROS" and hive.kerberos:
        problems.add(("hive", "kerberos"), f"is used with auth=KERBEROS only, the URL says {auth}")
    else:
        _check_options(options, auth, path, problems)
    if hive.ca_file is not None and options.get("ssl") != "true":
        problems.add(("hive", "ca_file"), "is used with ssl=true in hive.url only")


def _check_options(options: dict[str, str], auth: str, path: Path, problems: Problems) -> None:
    for name in ("qop", "service"):
        if name in options and auth != "KERBEROS":
            problems.add(path, f"{name} is used with auth=KERBEROS only, the URL says {auth}")
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
        problems.add(path, "http_path is used with transport=http only")
    elif "qop" in options and transport == "http":
        problems.add(path, "qop is used with transport=binary only: with HTTP ssl=true encrypts")
