"""Beats of a live owner: advice so that cron and a second `run` do not throw out a healthy one. Safety never depends on it.

`<ledger root>/alive/<service>/beat.<owner>.<k>` is renamed to `k+1` every few seconds by the main loop's progress. Its
content says which process beats, so that a starter on the same host can tell at once that it is gone.
"""

import logging
from dataclasses import dataclass
from typing import Protocol

import orjson

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.layout import alive_directory, beat_name, join, parse_beat_name
from kafka2hive.storage.port import NotFound, StorageError, write_file

BEAT_SECONDS = 2.0
WATCHED_BEATS = 4


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot of one host; `started` in clock ticks since boot, as the kernel counts them."""

    host: str
    boot_id: str
    pid: int
    started: int


class Processes(Protocol):
    """What this host knows of its processes."""

    def me(self) -> ProcessIdentity: ...

    def is_gone(self, identity: ProcessIdentity) -> bool:
        """True only when it certainly ran on this host and is not there any more."""
        ...


class Beat:
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
        self._count = _beats(self._ports, self._directory).get(self._owner)


def live_owners(ports: Ports, root: str, service: str, processes: Processes) -> frozenset[str]:
    """Watch a service's beats for a few of them on the own monotonic clock; the owners' names that beat now.

    Several may: a fenced run beats until it notices. Owners whose process on this very host is gone are dead at
    once, without watching.
    """
    directory = alive_directory(root, service)
    me = processes.me()
    before = {
        owner: count
        for owner, count in _beats(ports, directory).items()
        if (identity := _identity(ports, join(directory, beat_name(owner, count)))) != me
        and not (identity and processes.is_gone(identity))
    }
    alive: set[str] = set()
    until = ports.clock.monotonic() + BEAT_SECONDS * WATCHED_BEATS
    while len(alive) < len(before) and ports.clock.monotonic() < until:
        ports.clock.sleep(BEAT_SECONDS / 2)
        now = _beats(ports, directory)
        alive |= {owner for owner, count in before.items() if now.get(owner, count) > count}
    return frozenset(alive)


def is_known_dead(ports: Ports, beat: str, processes: Processes) -> bool:
    """Whether the process of this beat's file certainly ran on this host and is gone; False where nothing is known."""
    identity = _identity(ports, beat)
    return identity is not None and processes.is_gone(identity)


def _beats(ports: Ports, directory: str) -> dict[str, int]:
    try:
        parsed = [parse_beat_name(child.name) for child in ports.files.list(directory)]
    except NotFound:
        return {}
    except StorageError as error:
        log.warning("look at beats in %s: %s", directory, error)
        return {}
    return dict(sorted(p for p in parsed if p))


def _identity(ports: Ports, path: str) -> ProcessIdentity | None:
    try:
        value = orjson.loads(ports.files.read(path))
        return ProcessIdentity(value["host"], value["boot_id"], value["pid"], value["started"])
    except (StorageError, ValueError, KeyError, TypeError):  # whatever is in it, it is advice only
        return None


def _encode(identity: ProcessIdentity) -> bytes:
    return orjson.dumps(
        {"host": identity.host, "boot_id": identity.boot_id, "pid": identity.pid, "started": identity.started}
    )
