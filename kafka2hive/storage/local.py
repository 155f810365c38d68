"""The FileSystem port on a local disk, for one machine. Paths are `file:///a/b`.

It answers as a NameNode does; one contract test covers both. Every call uses the full path, because an open directory handle
would follow the rename of a take-over and defeat the fence. Each change but `create` returns only after it is on the disk.
"""

import contextlib
import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence

from kafka2hive.storage.port import (
    AlreadyExists,
    Denied,
    FileStatus,
    FreeSpace,
    NoRoom,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
    Unavailable,
)
from kafka2hive.storage.stored_file import StoredFile

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NOT_NOW = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EBUSY, errno.ENOMEM})
_WRONG_REQUEST = frozenset({errno.EINVAL, errno.ENAMETOOLONG, errno.ELOOP, errno.EXDEV, errno.ENOTEMPTY})
_NOT_SUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_LISTINGS = 5
SCHEME = "file://"

Sync = Callable[[int], None]
"""Makes a file descriptor's data durable, or raises OSError."""

_libc = ctypes.CDLL(None, use_errno=True)
_renameat2 = getattr(_libc, "renameat2", None)  # glibc >= 2.28, musl >= 1.2.6

# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH112, PTH114, PTH116, PTH123 - the port's paths are strings


def classify(path: str, error: OSError, changes: bool, missing: type[NotFound] = NotFound) -> StorageError:
    """Return the port's error. `changes` says whether the call may have changed something, `missing` is the error for ENOENT."""
    text = error.strerror or str(error)
    code = error.errno
    if code in _MISSING:
        return missing(path, text)
    if code == errno.EEXIST:
        return AlreadyExists(path, text)
    if code in _NO_ROOM:
        return NoRoom(path, text)
    if code in _DENIED:
        return Denied(path, text)
    if code in _NOT_NOW:
        return Unavailable(path, text)
    if code in _WRONG_REQUEST:
        return StorageError(path, text)
    return OutcomeUnknown(path, text) if changes else Unavailable(path, text)


def rename_without_overwriting(source: str, target: str) -> None:
    """Rename a file or directory. Raises what os.rename raises, and FileExistsError if the target exists.

    If the kernel or the file system does not support this:
    - a file is hard-linked and unlinked. A crash in between leaves both names. If two processes rename the same file at once,
      the target of the one that fails exists for a moment.
    - for a directory, the target is checked before the rename, which would replace an empty directory that another process
      creates in between.
    """
    if _renameat2 is None:
        _rename_in_two_steps(source, target)
        return
    if _renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _RENAME_NOREPLACE) == 0:
        return
    code = ctypes.get_errno()
    if code in _NOT_SUPPORTED:
        _rename_in_two_steps(source, target)
    else:
        raise OSError(code, os.strerror(code), source)


def _rename_in_two_steps(source: str, target: str) -> None:
    if os.path.isdir(source) and not os.path.islink(source):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        os.rename(source, target)
    else:
        os.link(source, target, follow_symlinks=False)
        try:
            os.unlink(source)
        except FileNotFoundError:  # another rename of the same file was first, so this name is removed again
            os.unlink(target)
            raise


class LocalFileSystem:
    """A local disk, not a network mount (see `refuse_network_mount`). `sync` makes a file descriptor's data durable."""

    def __init__(self, sync: Sync = os.fsync) -> None:
        self._sync = sync

    def create(self, path: str) -> "LocalWriter":
        """See FileSystem.create. The file is durable only after `close`; until then every reader must ignore it."""
        with _errors(path, changes=True, missing=ParentMissing):
            descriptor = os.open(_name(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            return LocalWriter(path, descriptor, self._sync)

    def rename(self, source: str, target: str) -> None:
        old, new = _name(source), _name(target)
        try:
            rename_without_overwriting(old, new)
        except OSError as error:
            raise self._rename_error(source, target, error) from None
        for parent in {_parent(old), _parent(new)}:
            _sync_after_change(source, parent, self._sync)

    def read(self, path: str) -> bytes:
        with _errors(path, changes=False), open(_name(path), "rb") as file:
            return file.read()

    def open(self, path: str) -> StoredFile:
        with _errors(path, changes=False):
            file = open(_name(path), "rb", buffering=0)  # noqa: SIM115 - StoredFile closes it
            length = os.fstat(file.fileno()).st_size

        def part(start: int, count: int) -> bytes:
            with _errors(path, changes=False):
                return os.pread(file.fileno(), count, start)

        return StoredFile(length, part, file.close)

    def tail(self, path: str, most: int) -> bytes:
        with _errors(path, changes=False), open(_name(path), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            return file.read()

    def stat(self, path: str) -> FileStatus:
        with _errors(path, changes=False):
            return _status(path, os.stat(_name(path)))

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """See FileSystem.list. If an entry vanishes during the listing, it may have been renamed, so the directory is listed
        again, at most _LISTINGS times.

        Otherwise a take-over in progress could look like a ledger without a generation directory, which is a STOP.
        """
        for _ in range(_LISTINGS):
            statuses, is_changing = self._list_once(path)
            if not is_changing:
                break
        return tuple(sorted(statuses, key=lambda status: status.name))

    def _list_once(self, path: str) -> tuple[Sequence[FileStatus], bool]:
        """Return the entries, and whether one of them vanished while they were listed."""
        statuses, is_changing = [], False
        with _errors(path, changes=False), os.scandir(_name(path)) as entries:
            for entry in entries:
                try:
                    statuses.append(_status(f"{path.rstrip('/')}/{entry.name}", entry.stat()))
                except FileNotFoundError:
                    is_changing = True
        return statuses, is_changing

    def free_space(self, path: str) -> FreeSpace:
        with _errors(path, changes=False):
            return FreeSpace(bytes=shutil.disk_usage(_name(path)).free)

    def modified_at(self, path: str) -> float:
        with _errors(path, changes=False):
            return os.stat(_name(path)).st_mtime

    def delete(self, path: str) -> bool:
        """See FileSystem.delete. Raises StorageError for a directory that is not empty."""
        name = _name(path)
        try:
            with _errors(path, changes=True):
                _remove(name)
        except NotFound:
            return False
        _sync_after_change(path, _parent(name), self._sync)
        return True

    def mkdirs(self, path: str) -> None:
        """See FileSystem.mkdirs. Raises AlreadyExists also if a parent is a file."""
        name = _name(path)
        missing = []
        while not os.path.isdir(name):
            # checked again, because another thread may have created it since
            if os.path.lexists(name) and not os.path.isdir(name):
                raise AlreadyExists(path, f"{name} is not a directory")
            missing.append(name)
            name = _parent(name)
        for directory in reversed(missing):
            with _errors(path, changes=True, missing=ParentMissing):
                try:
                    os.mkdir(directory, 0o755)
                except FileExistsError:
                    if not os.path.isdir(directory):
                        raise
            _sync_after_change(path, _parent(directory), self._sync)

    def _rename_error(self, source: str, target: str, error: OSError) -> StorageError:
        if (
            error.errno != errno.ENOTDIR
            and target.startswith(source.rstrip("/") + "/")
            and os.path.isdir(_name(source))
        ):
            return StorageError(source, f"cannot be moved into itself: {target}")
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            return classify(source, error, changes=True)
        try:
            self.stat(source)
        except NotFound as missing:
            return missing
        return ParentMissing(source, f"rename to {target}: {error.strerror}")


class LocalWriter:
    """See StorageWriter."""

    def __init__(self, path: str, descriptor: int, sync: Sync = os.fsync) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._sync = sync
        self._failed = False

    def write(self, data: bytes | memoryview) -> None:
        remaining = memoryview(data).cast("B")
        with _errors(self._path, changes=True):
            while remaining:
                remaining = remaining[os.write(self._open(), remaining) :]

    def close(self) -> None:
        """See StorageWriter.close. Raises ParentMissing if the directory was moved, as by a take-over.

        A failed close is final: after a failed fsync, Linux may report success for the next one although bytes are lost.
        """
        if self._failed:
            raise StorageError(self._path, "an earlier sync failed: the content on the disk is unknown")
        descriptor, self._failed = self._open(), True
        try:
            with _errors(self._path, changes=True):
                self._sync(descriptor)
        finally:
            self.abandon()
        with _errors(self._path, changes=True, missing=ParentMissing):
            _sync_directory(_parent(_name(self._path)), self._sync)
        self._failed = False

    def abandon(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # the file is ignored, and so is this error
                os.close(descriptor)

    def __del__(self) -> None:
        self.abandon()

    def _open(self) -> int:
        if self._descriptor is None:
            raise ValueError(f"{self._path} was closed or abandoned")
        return self._descriptor


@contextlib.contextmanager
def _errors(path: str, changes: bool, missing: type[NotFound] = NotFound) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise classify(path, error, changes, missing) from None


def _name(path: str) -> str:
    """Return the kernel's path for a port path. Raises StorageError for a path of another file system."""
    if not path.startswith(SCHEME + "/"):
        raise StorageError(path, f"is not a {SCHEME}/ path")
    return path[len(SCHEME) :].rstrip("/") or "/"


def _parent(name: str) -> str:
    return name.rpartition("/")[0] or "/"


def _status(path: str, result: os.stat_result) -> FileStatus:
    is_directory = stat.S_ISDIR(result.st_mode)
    return FileStatus(path.rstrip("/"), 0 if is_directory else result.st_size, is_directory)


def _remove(name: str) -> None:
    try:
        os.unlink(name)
    except IsADirectoryError:
        os.rmdir(name)


def _sync_directory(directory: str, sync: Sync) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def _sync_after_change(path: str, directory: str, sync: Sync) -> None:
    """Sync a directory after a change in it. Raises OutcomeUnknown if a power cut could still undo the change."""
    try:
        _sync_directory(directory, sync)
    except OSError as error:
        raise OutcomeUnknown(path, f"done, but {directory} could not be synced: {error.strerror}") from None
