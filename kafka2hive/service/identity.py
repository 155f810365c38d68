"""Who this process is: the owner's name in directories, and whether another process of this host is gone."""

import os
import re
import socket
import uuid
from functools import cache
from pathlib import Path

from kafka2hive.ledger.alive import ProcessIdentity

_PROC = Path("/proc")


@cache
def _boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@cache
def host_name() -> str:
    """The host's name with nothing but letters, digits, dots and dashes, as the ledger's grammar wants it."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()) or "host"


def _started(pid: int) -> int | None:
    """Clock ticks after boot at which the process began (proc(5), field 22); None when it is gone or a zombie."""
    try:
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if after_name[0] == "Z" else int(after_name[19])


class HostProcesses:
    """The Processes port on this host."""

    def me(self) -> ProcessIdentity:
        return ProcessIdentity(host_name(), _boot_id(), os.getpid(), _started(os.getpid()) or 0)

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """Same host: another boot, no such pid, or the pid belongs to a younger process."""
        if identity.host != host_name():
            return False
        return identity.boot_id != _boot_id() or _started(identity.pid) != identity.started


def new_uuid() -> str:
    return uuid.uuid4().hex


def owner_name(process: ProcessIdentity, fresh: str) -> str:
    """`<host>-<pid>-<uuid>`: a name for one take-over attempt; `fresh` are 32 hex digits of its own."""
    return f"{process.host}-{process.pid}-{fresh}"


def new_owner() -> str:
    """The name of an attempt of this very process."""
    return owner_name(HostProcesses().me(), new_uuid())


def process_of(owner: str) -> str:
    """The part of an owner's name that all names of one process share."""
    return owner.rsplit("-", 1)[0]
