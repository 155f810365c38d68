"""Beats of a live owner: advice so that cron and a second `run` do not throw out a healthy one. Safety never depends on it.

`<ledger root>/alive/<service>/beat.<owner>.<k>` is renamed to `k+1` every few seconds by the main loop's progress. Its
content says which process beats, so that a starter on the same host can tell at once that it is gone. A starter looks in
all services' directories: the map's service may have been renamed since.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Protocol

import orjson

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.layout import (
    alive_directories,
    alive_directory,
    base_name,
    beat_name,
    join,
    parse_beat_name,
)
from kafka2hive.storage.port import FileStatus, NotFound, StorageError, write_file

BEAT_SECONDS = 2.0
WATCHED_BEATS = 4
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
    """What this host knows of its processes."""

    def me(self) -> ProcessIdentity: ...

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """True only when it certainly ran on this host, in this pid namespace, and is not there any more."""
        ...


class Heartbeat:
    """The beat of one process for one service. Failures are logged and change nothing."""

    def __init__(self, ports: Ports, root: str, service: str, owner: str, identity: ProcessIdentity) -> None:
        self._ports = ports
        self._directory = alive_directory(root, service)
        self._owner = owner
        self._identity = identity
        self._count: int | None = None
        self._failing = False  # said already: a directory that may not be written fails every two seconds

    def beat(self) -> None:
        """Begin or go on beating; call it from the main loop only."""
        files = self._ports.files
        try:
            if self._count is None:
                files.mkdirs(self._directory)
                write_file(files, self._path(0), _encode(self._identity))
                self._count = 0
            else:
                files.rename(self._path(self._count), self._path(self._count + 1))
                self._count += 1
        except StorageError as error:
            log.log(
                logging.DEBUG if self._failing else logging.WARNING, "beat in %s: %s", self._directory, error
            )
            self._failing = True
            self._find_count()
        else:
            self._failing = False

    def end(self) -> None:
        """Take the beat away on an orderly end, so that the next start need not watch."""
        if self._count is None:
            return
        try:
            self._ports.files.delete(self._path(self._count))
        except StorageError as error:
            log.warning("end beat in %s: %s", self._directory, error)
        self._count = None

    def _path(self, count: int) -> str:
        return join(self._directory, beat_name(self._owner, count))

    def _find_count(self) -> None:
        """After an unclear answer the directory tells where the beat stands; no beat of mine there: begin again."""
        self._count = next(
            (b.count for b in _beats(self._ports, self._directory) if b.owner == self._owner), None
        )


def live_owners(
    ports: Ports, root: str, processes: Processes, wanted: Callable[[str, str], bool]
) -> dict[str, str]:
    """Watch the beats that `wanted(service, owner)` picks; the names of the owners that beat now, each with its service.

    For a few beats, on the own monotonic clock; with none to watch it answers at once. Several of a service may beat: a
    fenced run does until it notices. Owners whose process on this very host is gone are dead at once, without watching.
    """
    me = processes.me()
    before = {
        beat.owner: beat
        for beat in _all_beats(ports, root)
        if wanted(beat.service, beat.owner)
        and (identity := _identity(ports, beat.path)) != me
        and not (identity and processes.is_gone(identity))
    }
    alive: dict[str, str] = {}
    until = ports.clock.monotonic() + BEAT_SECONDS * WATCHED_BEATS
    while len(alive) < len(before) and ports.clock.monotonic() < until:
        ports.clock.sleep(BEAT_SECONDS / 2)
        for beat in _all_beats(ports, root):
            if beat.owner in before and beat.count > before[beat.owner].count:
                alive[beat.owner] = beat.service
    return alive


def is_known_dead(ports: Ports, beat: str, processes: Processes) -> bool:
    """Whether the process of this beat's file certainly ran on this host and is gone; False where nothing is known."""
    identity = _identity(ports, beat)
    return identity is not None and processes.is_gone(identity)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A beat as it lay there a moment ago."""

    service: str
    owner: str
    count: int
    path: str


def _all_beats(ports: Ports, root: str) -> list[_Seen]:
    services = [child.path for child in _list(ports, alive_directories(root)) if child.is_directory]
    return [beat for directory in services for beat in _beats(ports, directory)]


def _beats(ports: Ports, directory: str) -> list[_Seen]:
    """One service's, each owner once: with its highest count."""
    found = [(p, child.path) for child in _list(ports, directory) if (p := parse_beat_name(child.name))]
    service = base_name(directory)
    return list(
        {owner: _Seen(service, owner, count, path) for (owner, count), path in sorted(found)}.values()
    )


def _list(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return ports.files.list(directory)
    except NotFound:
        return ()
    except StorageError as error:
        log.warning("look at beats in %s: %s", directory, error)
        return ()


def _identity(ports: Ports, path: str) -> ProcessIdentity | None:
    try:
        value = orjson.loads(ports.files.read(path))
        found = ProcessIdentity(*(value[f.name] for f in fields(ProcessIdentity)))
        return found if isinstance(found.pid, int) else None
    except (StorageError, ValueError, KeyError, TypeError):  # whatever is in it, it is advice only
        return None


def _encode(identity: ProcessIdentity) -> bytes:
    return orjson.dumps(asdict(identity))
