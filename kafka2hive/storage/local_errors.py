"""What the kernel's error numbers mean, in the port's words. Pure."""

import errno

from kafka2hive.storage.port import (
    AlreadyExists,
    Denied,
    NoRoom,
    NotFound,
    OutcomeUnknown,
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
