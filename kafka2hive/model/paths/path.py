"""Paths put together and taken apart."""

import re
from dataclasses import dataclass

REMEMBERED = 4096  # names and buckets come again and again in one run, few at a time


def join(directory: str, *names: str) -> str:
    """One path below another; the only place that puts paths together."""
    return "/".join((directory.rstrip("/"), *names))


def parent(path: str) -> str:
    return path.rsplit("/", 1)[0]


def base_name(path: str) -> str:
    return path.rsplit("/", 1)[1]


_ADDRESS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL
)
_HDFS_PORT = "8020"  # HdfsClientConfigKeys.DFS_NAMENODE_RPC_PORT_DEFAULT


@dataclass(frozen=True, slots=True)
class _Address:
    scheme: str | None
    authority: str
    path: str


def same_location(a: str, b: str) -> bool:
    """Whether both name one directory.

    Slashes at the end and doubled ones do not matter, nor the case of scheme and host; `file:/x` is `file:///x`; an
    hdfs address without a port means port 8020; one without a scheme is taken to be in the other's file system.
    """
    first, second = _parse(a), _parse(b)
    if first.path != second.path:
        return False
    if first.scheme is None or second.scheme is None:
        return True
    return (first.scheme, first.authority) == (second.scheme, second.authority)


def _parse(location: str) -> _Address:
    found = _ADDRESS.fullmatch(location.strip())
    if found is None:
        return _Address(None, "", location)
    scheme = found["scheme"].lower() if found["scheme"] else None
    authority = (found["authority"] or "").lower()
    if scheme == "hdfs":
        authority = authority.removesuffix(f":{_HDFS_PORT}")
    path = re.sub("/+", "/", found["path"]).rstrip("/") or "/"
    return _Address(scheme, authority, path)
