"""The port on local disk: what the contract test cannot show on one healthy disk."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka2hive.config.keys import StorageOptions
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage import local as local_errors
from kafka2hive.storage import local as local_rename
from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.connect import connect, mount_type, refuse_network_mount
from kafka2hive.storage.local import LocalFileSystem, LocalWriter
from kafka2hive.storage.port import (
    AlreadyExists,
    Denied,
    NoRoom,
    NotFound,
    OutcomeUnknown,
    StorageError,
    Unavailable,
    length_at,
    write_file,
)
from tests.harness.filesystem_cases import CASES, Case

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /data rw,relatime shared:2 master:1 - nfs4 server:/export rw,vers=4.2
31 30 254:1 / /data/fast\\040disk rw - xfs /dev/vdb rw
32 22 0:41 / /mnt/win rw - cifs //server/share rw
33 22 0:42 / /over rw - nfs server:/old rw
34 22 254:2 / /over rw - ext4 /dev/vdc rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/lib/x", "ext4"),
        ("/data", "nfs4"),
        ("/data/warehouse/t", "nfs4"),
        ("/database", "ext4"),
        ("/data/fast disk/w", "xfs"),
        ("/mnt/win/w", "cifs"),
        ("/over/w", "ext4"),
    ],
)
def test_the_innermost_and_latest_mount_holds_a_path(path: str, kind: str) -> None:
    assert mount_type(MOUNTS, path) == kind


def test_a_warehouse_on_nfs_is_refused_with_the_kind_and_the_path(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    with pytest.raises(ConfigError) as refused:
        refuse_network_mount("file:///data/warehouse", table)
    assert refused.value.code == "storage.nfs"
    assert "file:///data/warehouse" in refused.value.message
    assert "nfs4" in refused.value.message
    refuse_network_mount("file:///var/warehouse", table)


def test_connect_takes_a_local_warehouse_on_this_machines_disk(tmp_path: Path) -> None:
    base = f"file://{tmp_path}"
    files = connect(StorageOptions(base, f"{base}/ledger", f"{base}/warehouse"))
    files.mkdirs(f"{base}/ledger")
    write_file(files, f"{base}/ledger/a", b"x")
    assert files.read(f"{base}/ledger/a") == b"x"


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.__name__.startswith(("rename", "of_many", "a_take_over"))],
    ids=lambda case: case.__name__,
)
def test_a_disk_without_renameat2_keeps_the_contract_of_rename(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_rename, "_renameat2", None)
    case(LocalFileSystem(), f"file://{tmp_path}")


def test_an_error_of_the_disk_becomes_the_ports_error() -> None:
    expected: dict[int, type[StorageError]] = {
        errno.ENOENT: NotFound,
        errno.ENOTDIR: NotFound,
        errno.EEXIST: AlreadyExists,
        errno.ENOSPC: NoRoom,
        errno.EDQUOT: NoRoom,
        errno.EACCES: Denied,
        errno.EPERM: Denied,
        errno.EROFS: Denied,
        errno.EMFILE: Unavailable,
        errno.EXDEV: StorageError,
        errno.ENAMETOOLONG: StorageError,
        errno.EIO: OutcomeUnknown,
    }
    for code, kind in expected.items():
        assert type(local_errors.classify("file:///a", OSError(code, "text"), changes=True)) is kind, (
            errno.errorcode[code]
        )
    assert type(local_errors.classify("file:///a", OSError(errno.EIO, "text"), changes=False)) is Unavailable


def test_a_full_disk_is_no_room() -> None:
    writer = LocalWriter("file:///dev/full", os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(NoRoom) as full:
        writer.write(b"x")
    assert full.value.remedy == "free space, or raise the quota"
    writer.abandon()


def test_a_directory_that_may_not_be_written_is_denied(tmp_path: Path) -> None:
    files, base = LocalFileSystem(), f"file://{tmp_path}"
    write_file(files, f"{base}/f", b"x")

    def change() -> None:
        for attempt in (
            lambda: files.create(f"{base}/new"),
            lambda: files.rename(f"{base}/f", f"{base}/g"),
            lambda: files.mkdirs(f"{base}/d"),
            lambda: files.delete(f"{base}/f"),
        ):
            with pytest.raises(Denied):
                attempt()

    tmp_path.chmod(0o555)
    assert _as_somebody_without_rights(change) == 0
    tmp_path.chmod(0o755)
    assert [status.name for status in files.list(base)] == ["f"]


def test_a_file_has_a_length_and_a_missing_file_has_none(tmp_path: Path) -> None:
    files, path = LocalFileSystem(), f"{tmp_path.as_uri()}/a"
    assert length_at(files, path) is None
    write_file(files, path, b"12345")
    assert length_at(files, path) == 5


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as refused:
        LocalFileSystem().create(f"file://{tmp_path}/{'x' * 300}")
    assert type(refused.value) is StorageError


def test_a_rename_syncs_both_parents_and_a_close_its_parent(tmp_path: Path) -> None:
    program = """
import os, sys
opened = []
sys.addaudithook(lambda event, values: opened.append(values) if event == "open" else None)
from kafka2hive.storage.local import LocalFileSystem
files, base = LocalFileSystem(), "file://" + sys.argv[1]
def directories(step):
    opened.clear()
    step()
    names = {os.path.relpath(v[0], sys.argv[1]) for v in opened if v[2] & os.O_DIRECTORY}
    print(",".join(sorted(names)))
directories(lambda: files.mkdirs(base + "/a/b"))
files.mkdirs(base + "/c")
writer = files.create(base + "/a/b/f")
directories(writer.close)
directories(lambda: files.rename(base + "/a/b/f", base + "/c/f"))
directories(lambda: files.delete(base + "/c/f"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [".,a", "a/b", "a/b,c", "c"]


class PowerCut:
    """A disk that loses unsynced data: a file keeps the length of its last sync, and one that was never synced is empty."""

    def __init__(self) -> None:
        self.lengths: dict[int, int] = {}

    def sync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        self.lengths[found.st_ino] = found.st_size

    def strike(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                os.truncate(path, self.lengths.get(path.stat().st_ino, 0))


def test_a_closed_file_outlives_a_power_cut_and_an_open_one_may_not(tmp_path: Path) -> None:
    power = PowerCut()
    files = LocalFileSystem(power.sync)
    write_file(files, f"file://{tmp_path}/closed", b"data")
    files.rename(f"file://{tmp_path}/closed", f"file://{tmp_path}/moved")
    open_one = files.create(f"file://{tmp_path}/open")
    open_one.write(b"data")
    power.strike(tmp_path)
    assert (tmp_path / "moved").read_bytes() == b"data"
    assert (tmp_path / "open").read_bytes() == b""


def test_a_writer_cannot_be_used_after_its_end(tmp_path: Path) -> None:
    writer = LocalFileSystem().create(f"file://{tmp_path}/f")
    writer.abandon()
    writer.abandon()
    with pytest.raises(ValueError, match="closed or abandoned"):
        writer.write(b"x")
    with pytest.raises(ValueError, match="closed or abandoned"):
        writer.close()


def _as_somebody_without_rights(function: Callable[[], None]) -> int:
    """Run in a forked child, as `nobody` if the test runs as root. Return 0 if nothing was raised."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            function()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_threads_may_create_the_same_parent_at_once(tmp_path: Path) -> None:
    files = LocalFileSystem()
    for n in range(100):
        paths = [f"{tmp_path.as_uri()}/{n}/a/b/c/{own}" for own in range(8)]
        Threads(8).map(files.mkdirs, paths)
        assert all(files.stat(path).is_directory for path in paths)


class Syncs:
    """The kernel's fsync with a list of the synced inodes; the calls numbered `failing` (from 0) are errors."""

    def __init__(self, failing: frozenset[int] = frozenset()) -> None:
        self.synced: list[int] = []
        self._failing = failing

    def __call__(self, descriptor: int) -> None:
        number = len(self.synced)
        self.synced.append(os.fstat(descriptor).st_ino)
        if number in self._failing:
            raise OSError(errno.EIO, "input/output error")
        os.fsync(descriptor)


def test_a_file_and_its_directory_are_synced_before_it_counts_as_closed(tmp_path: Path) -> None:
    syncs = Syncs()
    files = LocalFileSystem(syncs)
    write_file(files, f"file://{tmp_path}/f", b"x")
    assert syncs.synced == [(tmp_path / "f").stat().st_ino, tmp_path.stat().st_ino]


def test_both_directories_are_synced_before_a_rename_counts(tmp_path: Path) -> None:
    syncs = Syncs()
    files = LocalFileSystem(syncs)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "f").write_bytes(b"x")
    files.rename(f"file://{tmp_path}/a/f", f"file://{tmp_path}/b/f")
    assert sorted(syncs.synced) == sorted((tmp_path / name).stat().st_ino for name in "ab")


@pytest.mark.parametrize("failing", [0, 1])
def test_a_close_whose_sync_failed_never_succeeds_later(tmp_path: Path, failing: int) -> None:
    """Linux reports a failure only to one fsync, and then forgets it and the bytes."""
    files = LocalFileSystem(Syncs(frozenset({failing})))
    writer = files.create(f"file://{tmp_path}/f")
    writer.write(b"x")
    with pytest.raises(OutcomeUnknown):
        writer.close()
    for _ in range(2):
        with pytest.raises(StorageError, match="an earlier sync failed") as caught:
            writer.close()
        assert type(caught.value) is StorageError
