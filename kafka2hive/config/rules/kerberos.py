"""The rules of the kerberos sections, and of HDFS's properties about Kerberos."""

import re

from kafka2hive.config.keys.services import KerberosOptions
from kafka2hive.config.yaml.problems import Path, Problems, closest
from kafka2hive.config.yaml.shape import MapSections

_PRINCIPAL = re.compile(r"[^\s/@]+(/[^\s/@]+)*@[^\s/@]+")
_NO_PATH = re.compile(r"~|\w+:")
_CACHE = re.compile(r"(FILE:)?/.+|(DIR|KEYRING|KCM):.*")
TRANSFER_PROTECTION = "dfs.data.transfer.protection"
AUTHENTICATION = "hadoop.security.authentication"
_ALLOWED = {
    TRANSFER_PROTECTION: ("authentication", "integrity", "privacy"),
    "hadoop.rpc.protection": ("authentication", "integrity", "privacy"),
    AUTHENTICATION: ("simple", "kerberos"),
}


def check_kerberos(sections: MapSections, problems: Problems) -> None:
    """Check the map's section, those of storage and Hive, and Hadoop's properties in `storage.properties`."""
    if sections.kerberos:
        _check_section(sections.kerberos, ("kerberos",), problems)
    if sections.hive and sections.hive.kerberos:
        _check_section(sections.hive.kerberos, ("hive", "kerberos"), problems)
    if not sections.storage:
        return
    if sections.storage.kerberos:
        _check_section(sections.storage.kerberos, ("storage", "kerberos"), problems)
        if sections.storage.uri.startswith("file:"):
            problems.add(("storage", "kerberos"), "is used only with hdfs://")
    for name, value in sections.storage.properties:
        allowed = _ALLOWED.get(name)
        wrong = [word for word in value.split(",") if allowed and word.strip() not in allowed]
        if allowed and wrong:
            problems.add(
                ("storage", "properties", name),
                f"expected {', '.join(allowed[:-1])} or {allowed[-1]}",
                closest(wrong[0], allowed),
            )


def _check_section(options: KerberosOptions, path: Path, problems: Problems) -> None:
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
