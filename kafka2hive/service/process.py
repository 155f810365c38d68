"""The identity of this process: its owner names in ledgers, and whether another process of this host is gone.

Host name and process id do not identify a process, because two containers may share both.
"""

import getpass
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
"""An owner's name has this number of hex digits that identify the process, then as many that are new for each name."""


@cache
def _boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@cache
def host_name() -> str:
    """Return the host's name in the grammar of the ledger: all but letters, digits and dots become dashes."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()) or "host"


def _namespace() -> str:
    """Return the pid namespace, e.g. `pid:[4026531836]`.

    It is UNKNOWN_NAMESPACE if /proc shows a different namespace than this process's (unshare without --mount-proc).
    """
    try:
        if (_PROC / "self").readlink().name != str(os.getpid()):
            return UNKNOWN_NAMESPACE
        return (_PROC / "self/ns/pid").readlink().name
    except OSError:
        return UNKNOWN_NAMESPACE


def _start_ticks(pid: int | str) -> int | None:
    """Return when the process started, in clock ticks after boot (proc(5), field 22); None if it is gone or a zombie."""
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
            started=_start_ticks("self") or 0,
            namespace=_namespace(),
        )

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """Return whether the process is known to be gone: it ran here, and its pid is free or was reused.

        If the boot differs, the process may run on another machine with the same name, so the result is False.
        """
        me = self.me()
        is_local = (identity.host, identity.boot_id, identity.namespace) == (
            me.host,
            me.boot_id,
            me.namespace,
        )
        if not is_local or me.namespace == UNKNOWN_NAMESPACE:
            return False
        return _start_ticks(identity.pid) != identity.started


def user_name() -> str:
    """Return `<user>@<host>` of this process, for people; a user without a name is given by number."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = str(os.getuid())
    return f"{user}@{host_name()}"


def new_uuid() -> str:
    return uuid.uuid4().hex


def owner_name(process: ProcessIdentity, fresh: str, *, is_command: bool = False) -> str:
    """Return `<host>-<pid>-<32 hex digits>`, the name for one take-over attempt, which is never used again.

    The first half of the digits is a hash of the process's full identity, so it is the same in all names of this process, and
    different in those of other processes. The second half is the end of `fresh`, a string of new hex digits; its first digit
    says whether a run (0 to 7) or a command (8 to f) takes the table over.
    """
    digits = fresh[-_DIGITS:]
    kind = int(digits[0], 16) % 8 + (8 if is_command else 0)
    return f"{process_name(process)}{kind:x}{digits[1:]}"


def is_of_command(owner: str) -> bool:
    """Return whether a command has made this owner's name."""
    return int(owner[-_DIGITS], 16) >= 8


def process_name(process: ProcessIdentity) -> str:
    """Return what `process_of` returns for all owner names of this process."""
    identity = (process.host, process.boot_id, process.pid, process.started, process.namespace)
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    return f"{process.host}-{process.pid}-{digest[:_DIGITS]}"


def process_of(owner: str) -> str:
    """Return the part of an owner's name that identifies its process."""
    return owner[:-_DIGITS]


def shown_process(owner: str) -> str:
    """Return `<host>-<pid>` for display, which is not unique."""
    return owner.rsplit("-", 1)[0]
