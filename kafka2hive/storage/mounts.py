"""The file system that holds a local path, and the refusal of network mounts, whose rename and fsync are not reliable."""

import os
from pathlib import Path

from kafka2hive.model.errors import ConfigError

NETWORK_TYPES = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"}
)
"""Types whose client caches, silly renames and retried RPCs break "never overwrites", "durable" and "visible to all"."""
_MOUNTS = Path("/proc/self/mountinfo")


def refuse_network_mount(path: str, mountinfo: Path = _MOUNTS) -> None:
    """Raise ConfigError (`storage.nfs`) if `path` (`file:///a/b`, need not exist) is on a network mount.

    Without /proc/self/mountinfo (not Linux), nothing is refused.
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
