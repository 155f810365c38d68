"""Heartbeats of live owners, so that cron or a second `run` does not fence a healthy run. No guarantee depends on them.

While its main loop makes progress, a run renames `<ledger root>/alive/<service>/beat.<owner>.<k>` every HEARTBEAT_SECONDS and
thereby increments k. The content identifies the process, so that a start on the same host sees at once if the process is gone.
A start looks in the directories of all services, because the map's service may have been renamed. A command that repairs
tables renames `repair.<owner>.<k>` in the same way.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Protocol

import orjson

from kafka2hive.ledger.ports import Ports, first_line, log
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.paths.ledger import (
    heartbeat_directory,
    heartbeat_name,
    heartbeat_root,
    parse_heartbeat_name,
    parse_repair_name,
    repair_name,
)
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.storage.port import ErasureCoded, FileStatus, StorageError, children, write_file

HEARTBEAT_SECONDS = 2.0
WATCHED_HEARTBEATS = 4
"""An owner counts as dead if its heartbeat does not change for this many intervals."""
UNKNOWN_NAMESPACE = "-"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot of one host; `started` is in the kernel's clock ticks since boot.

    `namespace` is the pid namespace: two containers with the same host name may both have a process 1.
    """

    host: str
    boot_id: str
    pid: int
    started: int
    namespace: str = UNKNOWN_NAMESPACE


class Processes(Protocol):
    """The port to the processes of this host."""

    def me(self) -> ProcessIdentity: ...

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """Return whether the process certainly ran on this host, in this pid namespace, and no longer exists."""
        ...


@dataclass(frozen=True, slots=True)
class LiveOwner:
    """An owner with a heartbeat. `repairs` is true for a command that repairs tables, false for a run."""

    service: str
    repairs: bool = False


class Heartbeat:
    """The heartbeat of one process for one service; `repairs` is as in LiveOwner. Failures are logged, not raised."""

    def __init__(
        self,
        ports: Ports,
        root: str,
        service: str,
        owner: str,
        identity: ProcessIdentity,
        *,
        repairs: bool = False,
    ) -> None:
        self._ports = ports
        self._directory = heartbeat_directory(root, service)
        self._owner = owner
        self._identity = identity
        self._repairs = repairs
        self._count: int | None = None
        self._failing = (
            False  # a failure is logged once: without write permission it repeats every two seconds
        )

    def send(self) -> StorageError | None:
        """Create the heartbeat, or rename it to the next count; return the error of a failure. One thread may call it.

        Raises ConfigError if the ledger root is erasure-coded: then no ledger can be written either.
        """
        files = self._ports.files
        try:
            if self._count is None:
                files.mkdirs(self._directory)
                write_file(files, self._path(0), orjson.dumps(asdict(self._identity)))
                self._count = 0
            else:
                files.rename(self._path(self._count), self._path(self._count + 1))
                self._count += 1
        except ErasureCoded as error:
            raise ConfigError("storage.erasure_coded", first_line(error), error.remedy) from error
        except StorageError as error:
            log.log(
                logging.DEBUG if self._failing else logging.WARNING,
                "cannot write the heartbeat in %s, so another start may take the tables over: %s",
                self._directory,
                error,
            )
            self._failing = True
            self._find_count()
            return error
        self._failing = False
        return None

    def end(self) -> None:
        """Delete the heartbeat at a clean end, so that the next start need not watch it."""
        if self._count is None:
            return
        try:
            self._ports.files.delete(self._path(self._count))
        except StorageError as error:
            log.warning("cannot delete the heartbeat in %s: %s", self._directory, error)
        self._count = None

    def _path(self, count: int) -> str:
        name = repair_name if self._repairs else heartbeat_name
        return join(self._directory, name(self._owner, count))

    def _find_count(self) -> None:
        """Read the count from the directory after an error. If this owner's file is not there, the next call creates it."""
        self._count = next(
            (b.count for b in _heartbeats(self._ports, self._directory) if b.owner == self._owner), None
        )


def live_owners(
    ports: Ports, root: str, processes: Processes, is_wanted: Callable[[str, str], bool]
) -> dict[str, LiveOwner]:
    """Watch the heartbeats for which `is_wanted(service, owner)` is true, and return the live owners.

    The watch takes WATCHED_HEARTBEATS intervals, or no time if there are no such heartbeats. Several owners of a service may
    be alive, because a fenced run sends heartbeats until it notices. An owner whose process is gone from this host is known to
    be dead without a watch.
    """
    before = {
        beat.owner: beat
        for beat in _all_heartbeats(ports, root)
        if is_wanted(beat.service, beat.owner) and _may_be_another_process(ports, beat.path, processes)
    }
    alive: dict[str, LiveOwner] = {}
    until = ports.clock.monotonic() + HEARTBEAT_SECONDS * WATCHED_HEARTBEATS
    while len(alive) < len(before) and ports.clock.monotonic() < until:
        ports.clock.sleep(HEARTBEAT_SECONDS / 2)
        for beat in _all_heartbeats(ports, root):
            if beat.owner in before and beat.count > before[beat.owner].count:
                alive[beat.owner] = LiveOwner(beat.service, beat.repairs)
    return alive


class HeartbeatWatch:
    """Finds the live owners without waiting, for a process that looks again and again."""

    def __init__(self, ports: Ports, root: str, processes: Processes) -> None:
        self._ports = ports
        self._root = root
        self._processes = processes
        self._seen: dict[str, tuple[int, float]] = {}

    def look(self) -> dict[str, LiveOwner]:
        """Return the owners other than this process that may be alive.

        An owner may be alive if its heartbeat is new or has changed within WATCHED_HEARTBEATS intervals, and its process is not
        known to be gone from this host.
        """
        now = self._ports.clock.monotonic()
        before, self._seen = self._seen, {}
        alive: dict[str, LiveOwner] = {}
        for beat in _all_heartbeats(self._ports, self._root):
            count, since = before.get(beat.owner, (None, now))
            since = since if count == beat.count else now
            self._seen[beat.owner] = (beat.count, since)
            is_quiet = now - since >= HEARTBEAT_SECONDS * WATCHED_HEARTBEATS
            if not is_quiet and _may_be_another_process(self._ports, beat.path, self._processes):
                alive[beat.owner] = LiveOwner(beat.service, beat.repairs)
        return alive


def _may_be_another_process(ports: Ports, path: str, processes: Processes) -> bool:
    """Return whether the heartbeat belongs to another process, which may still run."""
    identity = _identity(ports, path)
    return identity != processes.me() and not (identity and processes.is_gone(identity))


def is_known_dead(ports: Ports, path: str, processes: Processes) -> bool:
    """Return whether the process of this heartbeat certainly ran on this host and is gone."""
    identity = _identity(ports, path)
    return identity is not None and processes.is_gone(identity)


@dataclass(frozen=True, slots=True)
class _Beat:
    service: str
    owner: str
    count: int
    path: str
    repairs: bool


def _all_heartbeats(ports: Ports, root: str) -> list[_Beat]:
    services = [child.path for child in _list(ports, heartbeat_root(root)) if child.is_directory]
    return [beat for directory in services for beat in _heartbeats(ports, directory)]


def _heartbeats(ports: Ports, directory: str) -> list[_Beat]:
    """Return the heartbeats of one service: the highest count of each owner."""
    service = base_name(directory)
    beats = []
    for child in _list(ports, directory):
        if (run := parse_heartbeat_name(child.name)) is not None:
            beats.append(_Beat(service, *run, child.path, repairs=False))
        elif (repair := parse_repair_name(child.name)) is not None:
            beats.append(_Beat(service, *repair, child.path, repairs=True))
    return list(
        {beat.owner: beat for beat in sorted(beats, key=lambda beat: (beat.owner, beat.count))}.values()
    )


def _list(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return children(ports.files, directory)
    except StorageError as error:
        log.warning("cannot list the heartbeats in %s: %s", directory, error)
        return ()


def _identity(ports: Ports, path: str) -> ProcessIdentity | None:
    try:
        value = orjson.loads(ports.files.read(path))
        identity = ProcessIdentity(*(value[f.name] for f in fields(ProcessIdentity)))
        return identity if isinstance(identity.pid, int) else None
    except (StorageError, ValueError, KeyError, TypeError):  # a heartbeat is only a hint
        return None
