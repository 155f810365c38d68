"""The FileSystem for the map's storage options. Only this module knows which adapter serves which scheme."""

import re
from collections.abc import Callable

from kafka2hive.config.keys import StorageOptions
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.mounts import refuse_network_mount
from kafka2hive.storage.port import FileStatus, FileSystem, StorageError, StorageWriter

_ROOT = re.compile(r"(?P<scheme>file|hdfs)://(?P<authority>[^/]*)(?=/|$)")


def connect(options: StorageOptions) -> FileSystem:
    """Return the file system of a service, with one adapter per scheme and authority, created when a path first needs it.

    This does not connect yet, and hdfs-native is imported only for an `hdfs://` path. Raises ConfigError for a URI that
    is neither `hdfs://authority` nor `file:///` (`storage.uri`) and for a local path on a network mount (`storage.nfs`).
    """
    for uri in (options.uri, options.ledger_root, options.warehouse):
        if root_of(uri) == "file://":
            refuse_network_mount(uri)
    return RoutedFileSystem(lambda root: _adapter(root, options))


def root_of(path: str) -> str:
    """Return `hdfs://host:port` of `hdfs://host:port/a/b`, `file://` of `file:///a/b`. Raises ConfigError for another form."""
    match = _ROOT.match(path)
    if not match or (match["scheme"] == "hdfs") != bool(match["authority"]):
        raise ConfigError(
            "storage.uri",
            f"{path} is not a path of a known file system",
            "write hdfs://host:port/..., hdfs://nameservice/... or file:///...",
        )
    return match[0]


def _adapter(root: str, options: StorageOptions) -> FileSystem:
    if root == "file://":
        return LocalFileSystem()
    from kafka2hive.storage.hdfs import HdfsFileSystem

    return HdfsFileSystem(root, options.properties, options.config_dir, options.kerberos)


class RoutedFileSystem:
    """Sends each call to the file system of its path; `adapter` creates the one for `scheme://authority`."""

    def __init__(self, adapter: Callable[[str], FileSystem]) -> None:
        self._adapter = adapter
        self._by_root: dict[str, FileSystem] = {}

    def create(self, path: str) -> StorageWriter:
        return self._of(path).create(path)

    def rename(self, source: str, target: str) -> None:
        """See FileSystem.rename. Raises StorageError if the paths are on different file systems."""
        if root_of(source) != root_of(target):
            raise StorageError(source, f"cannot be renamed to another file system: {target}")
        self._of(source).rename(source, target)

    def read(self, path: str) -> bytes:
        return self._of(path).read(path)

    def tail(self, path: str, most: int) -> bytes:
        return self._of(path).tail(path, most)

    def stat(self, path: str) -> FileStatus:
        return self._of(path).stat(path)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self._of(path).list(path)

    def delete(self, path: str) -> bool:
        return self._of(path).delete(path)

    def mkdirs(self, path: str) -> None:
        self._of(path).mkdirs(path)

    def _of(self, path: str) -> FileSystem:
        root = root_of(path)
        # if two threads create one each, the first is kept
        return self._by_root.get(root) or self._by_root.setdefault(root, self._adapter(root))
