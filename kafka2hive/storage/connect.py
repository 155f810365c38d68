"""Choose the adapter for a path's scheme, and refuse network mounts, whose rename and fsync are not reliable."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path

from kafka2hive.config.keys import StorageOptions
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, FreeSpace, InspectableFileSystem, StorageError, StorageWriter
from kafka2hive.storage.stored_file import StoredFile

NETWORK_TYPES = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"}
)
"""Types of mounts whose clients cache, rename deleted files and retry RPCs, so that a rename may overwrite or be lost."""
_MOUNTS = Path("/proc/self/mountinfo")
_ROOT = re.compile(r"(?P<scheme>file|hdfs)://(?P<authority>[^/]*)(?=/|$)")


def connect(options: StorageOptions, patience_seconds: float = math.inf) -> InspectableFileSystem:
    """Return the file system of a service, with one adapter per scheme and authority, created when a path first needs it.

    This does not connect yet, and hdfs-native is imported only for an `hdfs://` path. Raises ConfigError for a URI that
    is neither `hdfs://authority` nor `file:///` (`storage.uri`) and for a local path on a network mount (`storage.nfs`).
    `patience_seconds`: see HdfsFileSystem.
    """
    for uri in (options.uri, options.ledger_root, options.warehouse):
        if root_of(uri) == "file://":
            refuse_network_mount(uri)
    return RoutedFileSystem(lambda root: _adapter(root, options, patience_seconds))


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


def _adapter(root: str, options: StorageOptions, patience_seconds: float) -> InspectableFileSystem:
    if root == "file://":
        return LocalFileSystem()
    from kafka2hive.config.machine import new_files
    from kafka2hive.storage.hdfs import HdfsFileSystem

    made = new_files(options, os.environ)
    return HdfsFileSystem(
        root,
        options.properties,
        options.config_dir,
        kerberos=options.kerberos,
        new_files=made,
        patience_seconds=patience_seconds,
    )


class RoutedFileSystem:
    """Sends each call to the file system of its path; `adapter` creates the one for `scheme://authority`."""

    def __init__(self, adapter: Callable[[str], InspectableFileSystem]) -> None:
        self._adapter = adapter
        self._by_root: dict[str, InspectableFileSystem] = {}

    def create(self, path: str) -> StorageWriter:
        return self._of(path).create(path)

    def rename(self, source: str, target: str) -> None:
        """See FileSystem.rename. Raises StorageError if the paths are on different file systems."""
        if root_of(source) != root_of(target):
            raise StorageError(source, f"cannot be renamed to another file system: {target}")
        self._of(source).rename(source, target)

    def read(self, path: str) -> bytes:
        return self._of(path).read(path)

    def open(self, path: str) -> StoredFile:
        return self._of(path).open(path)

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

    def free_space(self, path: str) -> FreeSpace:
        return self._of(path).free_space(path)

    def modified_at(self, path: str) -> float:
        return self._of(path).modified_at(path)

    def _of(self, path: str) -> InspectableFileSystem:
        root = root_of(path)
        # if two threads create an adapter at once, the first is kept
        return self._by_root.get(root) or self._by_root.setdefault(root, self._adapter(root))


def refuse_network_mount(path: str, mountinfo: Path = _MOUNTS) -> None:
    """Raise ConfigError (`storage.nfs`) if `path` (`file:///a/b`, need not exist) is on a network mount.

    Without /proc/self/mountinfo (not Linux), no mount is refused.
    """
    try:
        table = mountinfo.read_text(errors="surrogateescape")
    except FileNotFoundError:
        return
    name = os.path.realpath(path.removeprefix("file://"))
    kind = mount_type(table, name)
    if kind in NETWORK_TYPES:
        raise ConfigError(
            "storage.nfs",
            f"{path} is on a network file system ({kind}), where exactly-once cannot be guaranteed",
            "use a local disk or HDFS",
        )


def mount_type(mountinfo: str, path: str) -> str | None:
    """Return the type of the mount that holds the absolute `path`; None if unknown. `mountinfo`: see proc_pid_mountinfo(5).

    If two mounts have the same mount point, the later line is the visible one.
    """
    best, kind = -1, None
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        if not separator:
            continue
        point = _unescape(before.split(" ")[4])
        if len(point) >= best and (path + "/").startswith(point.rstrip("/") + "/"):
            best, kind = len(point), after.split(" ")[0]
    return kind


def _unescape(field: str) -> str:
    """Undo the octal escapes of space, tab, newline and backslash in mountinfo."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field
