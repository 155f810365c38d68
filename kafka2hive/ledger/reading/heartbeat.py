"""Heartbeats of live owners: advice, so that cron and a second `run` do not fence a healthy one. Safety never depends on it.

`<ledger root>/alive/<service>/beat.<owner>.<k>` is renamed to `k+1` every few seconds by the main loop's progress. Its
content identifies the process, so that a starter on the same host sees at once that it is gone. A starter looks in all
services' directories: the map's service may have been renamed since.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Protocol

import orjson

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.paths.heartbeat import (
    heartbeat_directories,
    heartbeat_directory,
    heartbeat_name,
    parse_heartbeat_name,
)
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.storage.port import FileStatus, StorageError, children, write_file

HEARTBEAT_SECONDS = 2.0
WATCHED_HEARTBEATS = 4
UNKNOWN_NAMESPACE = "-"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot of one host; `started` in clock ticks since boot, as the kernel counts them.

    `namespace` is the one that `pid` counts in: two containers of one host, even of one host name, may both have a process 1.
    """

    host: str
    boot_id: str
    pid: int
    started: int
    namespace: str = UNKNOWN_NAMESPACE


class Processes(Protocol):
    def me(self) -> ProcessIdentity: ...

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """True only when it certainly ran on this host, in this pid namespace, and is not there any more."""
        ...


class Heartbeat:
    """The heartbeat of one process for one service. Failures are logged and change nothing."""

    def __init__(self, ports: Ports, root: str, service: str, owner: str, identity: ProcessIdentity) -> None:
        self._ports = ports
        self._directory = heartbeat_directory(root, service)
        self._owner = owner
        self._identity = identity
        self._count: int | None = None
        self._failing = False  # said already: a directory that may not be written fails every two seconds

    def send(self) -> None:
        """Begin or renew; call it from the main loop only."""
        files = self._ports.files
        try:
            if self._count is None:
                files.mkdirs(self._directory)
                write_file(files, self._path(0), orjson.dumps(asdict(self._identity)))
                self._count = 0
            else:
                files.rename(self._path(self._count), self._path(self._count + 1))
                self._count += 1
        except StorageError as error:
            log.log(
                logging.DEBUG if self._failing else logging.WARNING,
                "heartbeat in %s: %s",
                self._directory,
                error,
            )
            self._failing = True
            self._find_count()
        else:
            self._failing = False

    def end(self) -> None:
        """Delete it on a clean shutdown, so that the next start need not watch."""
        if self._count is None:
            return
        try:
            self._ports.files.delete(self._path(self._count))
        except StorageError as error:
            log.warning("delete the heartbeat in %s: %s", self._directory, error)
        self._count = None

    def _path(self, count: int) -> str:
        return join(self._directory, heartbeat_name(self._owner, count))

    def _find_count(self) -> None:
        """After a lost response the directory shows the count; nothing of this owner there: begin again."""
        self._count = next(
            (b.count for b in _heartbeats(self._ports, self._directory) if b.owner == self._owner), None
        )


def live_owners(
    ports: Ports, root: str, processes: Processes, wanted: Callable[[str, str], bool]
) -> dict[str, str]:
    """Watch the heartbeats that `wanted(service, owner)` picks. Returns the live owners, each with its service.

    Watches for WATCHED_HEARTBEATS on its own monotonic clock; with nothing to watch it returns at once. Several owners of
    a service may be alive: a fenced run sends until it notices. Owners whose process is gone from this host are dead
    without watching.
    """
    me = processes.me()
    before = {
        beat.owner: beat
        for beat in _all_heartbeats(ports, root)
        if wanted(beat.service, beat.owner)
        and (identity := _identity(ports, beat.path)) != me
        and not (identity and processes.is_gone(identity))
    }
    alive: dict[str, str] = {}
    until = ports.clock.monotonic() + HEARTBEAT_SECONDS * WATCHED_HEARTBEATS
    while len(alive) < len(before) and ports.clock.monotonic() < until:
        ports.clock.sleep(HEARTBEAT_SECONDS / 2)
        for beat in _all_heartbeats(ports, root):
            if beat.owner in before and beat.count > before[beat.owner].count:
                alive[beat.owner] = beat.service
    return alive


def is_known_dead(ports: Ports, path: str, processes: Processes) -> bool:
    """Whether the process of this heartbeat certainly ran on this host and is gone; False where nothing is known."""
    identity = _identity(ports, path)
    return identity is not None and processes.is_gone(identity)


@dataclass(frozen=True, slots=True)
class _Seen:
    service: str
    owner: str
    count: int
    path: str


def _all_heartbeats(ports: Ports, root: str) -> list[_Seen]:
    services = [child.path for child in _list(ports, heartbeat_directories(root)) if child.is_directory]
    return [beat for directory in services for beat in _heartbeats(ports, directory)]


def _heartbeats(ports: Ports, directory: str) -> list[_Seen]:
    """One service's, each owner once: with its highest count."""
    found = [(p, child.path) for child in _list(ports, directory) if (p := parse_heartbeat_name(child.name))]
    service = base_name(directory)
    return list(
        {owner: _Seen(service, owner, count, path) for (owner, count), path in sorted(found)}.values()
    )


def _list(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return children(ports.files, directory)
    except StorageError as error:
        log.warning("list the heartbeats in %s: %s", directory, error)
        return ()


def _identity(ports: Ports, path: str) -> ProcessIdentity | None:
    try:
        value = orjson.loads(ports.files.read(path))
        found = ProcessIdentity(*(value[f.name] for f in fields(ProcessIdentity)))
        return found if isinstance(found.pid, int) else None
    except (StorageError, ValueError, KeyError, TypeError):  # whatever is in it, it is advice only
        return None
