"""Join, split and compare paths; build and parse a Hive partition's path: `dt=2013-01-01/hr=05`."""

import re
from dataclasses import dataclass

CACHE_SIZE = 4096
"""Entries in each cache of parsed names: a run uses few names at a time, again and again."""
OWNER = r"[A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32}"
"""The pattern of an owner's name: `<host>-<pid>-<32 hex digits>`."""
_ADDRESS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL
)
_HDFS_PORT = "8020"  # HdfsClientConfigKeys.DFS_NAMENODE_RPC_PORT_DEFAULT
HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_HIVE_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")


def join(directory: str, *names: str) -> str:
    """Return a path below a directory."""
    return "/".join((directory.rstrip("/"), *names))


def parent(path: str) -> str:
    return path.rsplit("/", 1)[0]


def base_name(path: str) -> str:
    return path.rsplit("/", 1)[1]


@dataclass(frozen=True, slots=True)
class _Address:
    scheme: str | None
    authority: str
    path: str


def same_location(a: str, b: str) -> bool:
    """Return whether both locations are the same directory.

    Trailing and doubled slashes are ignored, and so is the case of scheme and host; `file:/x` is `file:///x`; an hdfs
    location without a port has port 8020; a location without a scheme is in the other's file system.
    """
    first, second = _parse(a), _parse(b)
    if first.path != second.path:
        return False
    if first.scheme is None or second.scheme is None:
        return True
    return (first.scheme, first.authority) == (second.scheme, second.authority)


def _parse(location: str) -> _Address:
    match = _ADDRESS.fullmatch(location.strip())
    if match is None:
        return _Address(None, "", location)
    scheme = match["scheme"].lower() if match["scheme"] else None
    authority = (match["authority"] or "").lower()
    if scheme == "hdfs":
        authority = authority.removesuffix(f":{_HDFS_PORT}")
    path = re.sub("/+", "/", match["path"]).rstrip("/") or "/"
    return _Address(scheme, authority, path)


def escape_partition_value(value: str) -> str:
    """Return the value as Hive writes it in a path (FileUtils.escapePathName); the default partition for an empty one."""
    if value == "":
        return HIVE_DEFAULT_PARTITION
    return _HIVE_ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", value)


def unescape_partition_value(text: str) -> str:
    """Return the value of a path's text: the inverse of escape_partition_value for values that are not empty."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)


def partition_path(values: tuple[tuple[str, str], ...]) -> str:
    """Return the path of partition values: `dt=2013-01-01/hr=05` for `(("dt", "2013-01-01"), ("hr", "05"))`."""
    return "/".join(f"{name}={escape_partition_value(value)}" for name, value in values)


def parse_partition_path(path: str) -> tuple[tuple[str, str], ...]:
    """Return the partition values of a path: the inverse of partition_path; the default partition has the empty value."""
    pairs = []
    for part in path.split("/") if path else []:
        name, _, value = part.partition("=")
        pairs.append((name, "" if value == HIVE_DEFAULT_PARTITION else unescape_partition_value(value)))
    return tuple(pairs)
