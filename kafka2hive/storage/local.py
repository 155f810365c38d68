"""The FileSystem port on a local disk, for one machine. Paths are `file:///a/b`.

The same answers as a NameNode's, proven by one contract test for both. Every call goes by the full path: a directory handle
that is kept open would follow a take-over's rename and defeat the fence. A change counts as done when it is on the disk.
"""

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence

from kafka2hive.storage.port import (
    AlreadyExists,
    Denied,
    FileStatus,
    NoRoom,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
    Unavailable,
)

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NOT_NOW = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EBUSY, errno.ENOMEM})
_WRONG_REQUEST = frozenset({errno.EINVAL, errno.ENAMETOOLONG, errno.ELOOP, errno.EXDEV, errno.ENOTEMPTY})


def classify(path: str, error: OSError, changes: bool, missing: type[NotFound] = NotFound) -> StorageError:
    """The port's error. `changes`: the call may leave something behind; `missing`: what a missing name means to it."""
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


# The port's paths are texts, and every call goes by the full one: no pathlib here.
# ruff: noqa: PTH104, PTH108, PTH112, PTH114


_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_NOT_OFFERED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})

_libc = ctypes.CDLL(None, use_errno=True)
_renameat2 = getattr(_libc, "renameat2", None)  # glibc >= 2.28, musl >= 1.2.6


def rename_without_overwriting(source: str, target: str) -> None:
    """Rename a file or directory; raises what os.rename raises, and FileExistsError when the target exists.

    Where the kernel or the file system does not offer it: hard link and unlink for a file (a crash in between leaves both
    names, and for a moment the loser of a race is seen as well); for a directory a check and a rename (not atomic against
    another process that creates an empty directory there).
    """
    if _renameat2 is None:
        _rename_in_two_steps(source, target)
        return
    if _renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _RENAME_NOREPLACE) == 0:
        return
    code = ctypes.get_errno()
    if code in _NOT_OFFERED:
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
        except FileNotFoundError:  # another rename of the same file was first: remove the second name again
            os.unlink(target)
            raise


# The port's paths are texts, and every call goes by the full one: no pathlib here.
# ruff: noqa: PTH102, PTH106, PTH108, PTH112, PTH116, PTH123


Sync = Callable[[int], None]
"""Brings what belongs to a file descriptor to the disk, or raises OSError."""

SCHEME = "file://"
_LOOKS = 5


class LocalFileSystem:
    """Local disk. Not for network mounts: see refuse_network_mount in mounts.py.

    `sync` makes what belongs to a descriptor durable.
    """

    def __init__(self, sync: Sync = os.fsync) -> None:
        self._sync = sync

    def create(self, path: str) -> "LocalWriter":
        """See FileSystem.create; durable only from `close` on, as a file being written is ignored by everybody."""
        with _errors(path, changes=True, missing=ParentMissing):
            descriptor = os.open(_name(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            return LocalWriter(path, descriptor, self._sync)

    def rename(self, source: str, target: str) -> None:
        old, new = _name(source), _name(target)
        try:
            rename_without_overwriting(old, new)
        except OSError as error:
            raise self._rename_refused(source, target, error) from None
        for parent in {_parent(old), _parent(new)}:
            _sync_after_change(source, parent, self._sync)

    def read(self, path: str) -> bytes:
        with _errors(path, changes=False), open(_name(path), "rb") as file:
            return file.read()

    def tail(self, path: str, most: int) -> bytes:
        with _errors(path, changes=False), open(_name(path), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            return file.read()

    def stat(self, path: str) -> FileStatus:
        with _errors(path, changes=False):
            return _status(path, os.stat(_name(path)))

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """See FileSystem.list. What vanished meanwhile may have been renamed, so the directory is listed again.

        Half a take-over would look like a table without a generation directory: a STOP without a cause.
        """
        for _ in range(_LOOKS):
            statuses, vanished = self._look(path)
            if not vanished:
                break
        return tuple(sorted(statuses, key=lambda status: status.name))

    def _look(self, path: str) -> tuple[Sequence[FileStatus], bool]:
        statuses, vanished = [], False
        with _errors(path, changes=False), os.scandir(_name(path)) as entries:
            for entry in entries:
                try:
                    statuses.append(_status(f"{path.rstrip('/')}/{entry.name}", entry.stat()))
                except FileNotFoundError:
                    vanished = True
        return statuses, vanished

    def delete(self, path: str) -> bool:
        """See FileSystem.delete; a directory that is not empty is refused (StorageError)."""
        name = _name(path)
        try:
            with _errors(path, changes=True):
                _remove(name)
        except NotFound:
            return False
        _sync_after_change(path, _parent(name), self._sync)
        return True

    def mkdirs(self, path: str) -> None:
        """See FileSystem.mkdirs; AlreadyExists too when one of the parents is a file."""
        name = _name(path)
        missing = []
        while not os.path.isdir(name):
            # checked again: another thread may have created it since
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

    def _rename_refused(self, source: str, target: str, error: OSError) -> StorageError:
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
    def __init__(self, path: str, descriptor: int, sync: Sync = os.fsync) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._sync = sync
        self._failed = False

    def write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data).cast("B")
        with _errors(self._path, changes=True):
            while rest:
                rest = rest[os.write(self._open(), rest) :]

    def close(self) -> None:
        """See FileWriter.close. ParentMissing: the directory was moved away, as by a take-over.

        A close that failed is final: after a failed fsync, Linux may call the next one a success although the bytes are lost.
        """
        if self._failed:
            raise StorageError(self._path, "could not be synced before; what the disk holds is not known")
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
            with contextlib.suppress(OSError):  # the file means nothing, so neither does this error
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
    """The kernel's name of a port path. Raises StorageError for a path of another file system."""
    if not path.startswith(SCHEME + "/"):
        raise StorageError(path, f"is not a {SCHEME}/ path")
    return path[len(SCHEME) :].rstrip("/") or "/"


def _parent(name: str) -> str:
    return name.rpartition("/")[0] or "/"


def _status(path: str, found: os.stat_result) -> FileStatus:
    is_directory = stat.S_ISDIR(found.st_mode)
    return FileStatus(path.rstrip("/"), 0 if is_directory else found.st_size, is_directory)


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
    """The change is made, but whether it outlives a power cut is not known when the directory cannot be synced."""
    try:
        _sync_directory(directory, sync)
    except OSError as error:
        raise OutcomeUnknown(path, f"done, but {directory} could not be synced: {error.strerror}") from None
