"""Linux's rename that never overwrites, which Python does not offer: renameat2(2) with RENAME_NOREPLACE."""

# The port's paths are texts, and every call goes by the full one: no pathlib here.
# ruff: noqa: PTH104, PTH108, PTH112, PTH114

import ctypes
import errno
import os

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
