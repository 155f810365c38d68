"""The HDFS client's properties: those that have an effect, and what they say about new files and directories."""

import re
from collections.abc import Callable
from dataclasses import dataclass

AUTHENTICATION = "hadoop.security.authentication"
TRANSFER_PROTECTION = "dfs.data.transfer.protection"
UMASK = "fs.permissions.umask-mode"
REPLICATION = "dfs.replication"
BLOCK_SIZE = "dfs.blocksize"

HONOURED = (
    AUTHENTICATION,
    TRANSFER_PROTECTION,
    UMASK,
    REPLICATION,
    BLOCK_SIZE,
    "dfs.client.block.write.replace-datanode-on-failure.best-effort",
    "dfs.client.block.write.replace-datanode-on-failure.enable",
    "dfs.client.block.write.replace-datanode-on-failure.policy",
    "dfs.client.failover.max.attempts",
    "dfs.client.failover.sleep.base.millis",
    "dfs.client.failover.sleep.max.millis",
    "dfs.client.socket-timeout",
    "dfs.client.use.datanode.hostname",
    "hadoop.security.key.provider.path",
)
"""The properties that hdfs-native or this program read."""
_HARMLESS = ("dfs.nameservices", "fs.defaultFS", "hadoop.rpc.protection")
"""Properties without an effect that site files have: the map's URI and the NameNode say the same."""
_OF_A_NAMESERVICE = (
    "dfs.client.failover.proxy.provider",
    "dfs.client.failover.random.order",
    "dfs.client.failover.resolve-needed",
    "dfs.client.failover.resolver.useFQDN",
    "dfs.ha.namenodes",
    "dfs.namenode.rpc-address",
)
"""The beginnings of properties whose names end with a nameservice, and some of them with one of its NameNodes."""
_SYMBOLIC = re.compile(r"[ugoa]+=[rwx-]*(,[ugoa]+=[rwx-]*)*")
_BLOCK_SIZE = re.compile(r"([1-9][0-9]*)([kmgtpe]?)", re.IGNORECASE)
_CHECKSUM_BYTES = 512


def is_honoured(name: str) -> bool:
    """Return whether the map may have the property: it has an effect, or its effect is certain without it."""
    return name in (*HONOURED, *_HARMLESS) or name.startswith(tuple(f"{one}." for one in _OF_A_NAMESERVICE))


@dataclass(frozen=True, slots=True)
class NewFiles:
    """How files and directories are created: the bits that `umask` takes away, and what files need of HDFS.

    `replication` and `block_size` (bytes) are those of the NameNode if they are None.
    """

    umask: int = 0o022
    replication: int | None = None
    block_size: int | None = None

    @property
    def file_mode(self) -> int:
        return 0o666 & ~self.umask

    @property
    def directory_mode(self) -> int:
        return 0o777 & ~self.umask

    @staticmethod
    def of(value: Callable[[str], str | None]) -> "NewFiles":
        """Return what the properties say; `value` returns one of them. Raises ValueError."""
        known: dict[str, int] = {}
        for name, parse in PARSERS.items():
            if text := value(name):
                try:
                    known[name] = parse(text)
                except ValueError as error:
                    raise ValueError(f"{name} is {text!r}, {error}") from None
        return NewFiles(known.get(UMASK, 0o022), known.get(REPLICATION), known.get(BLOCK_SIZE))


def parse_umask(text: str) -> int:
    """Return the bits to take away, from `027` or, in Hadoop's other notation, from the rights that stay: `u=rwx,g=rx,o=`."""
    text = text.strip()
    if re.fullmatch("0?[0-7]{1,3}", text):
        return int(text, 8)
    if not _SYMBOLIC.fullmatch(text):
        raise ValueError("expected octal digits such as 027, or u=rwx,g=rx,o=")
    umask = 0o777
    for part in text.split(","):
        who, _, rights = part.partition("=")
        bits = sum({"r": 4, "w": 2, "x": 1}.get(right, 0) for right in set(rights))
        for name, shift in (("u", 6), ("g", 3), ("o", 0)):
            if name in who or "a" in who:
                umask = umask & ~(7 << shift) | ((7 & ~bits) << shift)
    return umask


def parse_replication(text: str) -> int:
    """Return the number of replicas. Raises ValueError."""
    if not re.fullmatch("[1-9][0-9]{0,2}", text.strip()):
        raise ValueError("expected a number of replicas, such as 3")
    return int(text)


def parse_block_size(text: str) -> int:
    """Return the bytes, from `134217728`, `128m` or `1g`. Raises ValueError."""
    match = _BLOCK_SIZE.fullmatch(text.strip())
    size = int(match[1]) << 10 * " kmgtpe".index(match[2].lower() or " ") if match else 0
    if not size or size % _CHECKSUM_BYTES:
        raise ValueError(f"expected a multiple of {_CHECKSUM_BYTES} bytes, such as 128m")
    return size


PARSERS: dict[str, Callable[[str], int]] = {
    UMASK: parse_umask,
    REPLICATION: parse_replication,
    BLOCK_SIZE: parse_block_size,
}
"""The properties that this program reads, each with the function that reads its value or raises ValueError."""
