"""Who this process is: the owner's name in directories, and whether another process of this host is gone.

Host name and process id are not enough: two containers may share both.
"""

import hashlib
import os
import re
import socket
import uuid
from functools import cache
from pathlib import Path

from kafka2hive.ledger.heartbeat import UNKNOWN_NAMESPACE, ProcessIdentity

_PROC = Path("/proc")
_DIGITS = 16
"""Hex digits of an owner's name that say which process made it; as many more are fresh for each name."""


@cache
def _boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@cache
def host_name() -> str:
    """The host's name with nothing but letters, digits, dots and dashes, as the ledger's grammar wants it."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()) or "host"


def _namespace() -> str:
    """The pid namespace, `pid:[4026531836]`; unknown where /proc is of another one (unshare without --mount-proc)."""
    try:
        if (_PROC / "self").readlink().name != str(os.getpid()):
            return UNKNOWN_NAMESPACE
        return (_PROC / "self/ns/pid").readlink().name
    except OSError:
        return UNKNOWN_NAMESPACE


def _started(pid: int | str) -> int | None:
    """Clock ticks after boot at which the process began (proc(5), field 22); None when it is gone or a zombie."""
    try:
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if after_name[0] == "Z" else int(after_name[19])


class HostProcesses:
    """The Processes port on this host."""

    def me(self) -> ProcessIdentity:
        return ProcessIdentity(
            host=host_name(),
            boot_id=_boot_id(),
            pid=os.getpid(),
            started=_started("self") or 0,
            namespace=_namespace(),
        )

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """Same host, boot and pid namespace, and there is no such pid, or it belongs to a younger process.

        Another boot proves nothing: it may be another machine of the same name.
        """
        me = self.me()
        here = (identity.host, identity.boot_id, identity.namespace) == (me.host, me.boot_id, me.namespace)
        if not here or me.namespace == UNKNOWN_NAMESPACE:
            return False
        return _started(identity.pid) != identity.started


def new_uuid() -> str:
    return uuid.uuid4().hex


def owner_name(process: ProcessIdentity, fresh: str) -> str:
    """`<host>-<pid>-<32 hex digits>`: a name for one take-over attempt, used once, ever.

    The first half of the digits is the same in all names of one process and in no other process's: a hash of its full
    identity. The second half is the end of `fresh`, hex digits made for this name alone.
    """
    return process_name(process) + fresh[-_DIGITS:]


def process_name(process: ProcessIdentity) -> str:
    """What `process_of` gives of all owner's names of this process."""
    identity = (process.host, process.boot_id, process.pid, process.started, process.namespace)
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    return f"{process.host}-{process.pid}-{digest[:_DIGITS]}"


def process_of(owner: str) -> str:
    """The part of an owner's name that all names of one process share, and those of no other."""
    return owner[:-_DIGITS]


def shown_process(owner: str) -> str:
    """`<host>-<pid>`, for people: others may have the same."""
    return owner.rsplit("-", 1)[0]
