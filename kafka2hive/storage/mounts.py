"""Which file system a local path lies on, and the refusal of those whose rename and fsync are not reliable."""

import os
from pathlib import Path

from kafka2hive.model.errors import ConfigError

# A client's cache, silly renames and retried RPCs break "never overwrites", "durable" and "seen by all".
NETWORK_TYPES = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"}
)
_MOUNTS = Path("/proc/self/mountinfo")


def refuse_network_mount(path: str, mountinfo: Path = _MOUNTS) -> None:
    """Raise ConfigError (`storage.nfs`) when `path` (`file:///a/b`, need not exist) lies on a network mount.

    Where there is no /proc/self/mountinfo (not Linux) nothing is known and nothing refused.
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
            f"{path} lies on a network file system ({kind}); exactly-once does not hold there",
            "use a local disk or HDFS",
        )


def mount_type(mountinfo: str, path: str) -> str | None:
    """Type of the mount that holds the absolute `path`; `mountinfo` as in proc_pid_mountinfo(5). None: not known.

    Of two mounts at one place the later line is the visible one.
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
    """Space, tab, newline and backslash stand as octal numbers there."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field
