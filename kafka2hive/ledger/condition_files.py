"""The files in which a run reports the conditions of its tables to other processes. Like its heartbeat, they are only hints.

Whenever the text changes, a run writes a new file `<ledger root>/alive/<service>/condition.<owner>.<k>`, then deletes the
previous one. A reader uses each live owner's newest file that it can decode, so a half-written file is harmless. The callers
encode and decode the text.

`outcome.<owner>.<k>` in the same directory holds the report of a run at its end. It stays until the next run has ended.
"""

from collections.abc import Callable
from typing import TypeVar

from kafka2hive.ledger.heartbeat import Processes, is_known_dead
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.paths.ledger import (
    condition_name,
    heartbeat_directory,
    outcome_name,
    parse_condition_name,
    parse_heartbeat_name,
    parse_outcome_name,
)
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import StorageError, children, write_file

Content = TypeVar("Content")
_OUTCOME_TRIES = 2

_Parse = Callable[[str], tuple[str, int] | None]
_Build = Callable[[str, int], str]


class ConditionFiles:
    """The condition and outcome files of one process for one service.

    Failures do not raise. A failure is logged once, until a write succeeds again.
    """

    def __init__(self, ports: Ports, root: str, service: str, owner: str) -> None:
        self._ports = ports
        self._directory = heartbeat_directory(root, service)
        self._owner = owner
        self._count = 0
        self._shown: bytes | None = None
        self._paths: list[str] = []
        self._failing = False

    def show(self, text: bytes) -> None:
        """Replace the condition file by a file with `text`, unless it has this text already.

        Before: at most one condition file of this owner. After: the new file. A crash in between leaves both; readers use the
        newer one. The name of a failed write is not used again.
        """
        if text == self._shown:
            return
        files = self._ports.files
        path = join(self._directory, condition_name(self._owner, self._count))
        self._count += 1
        before = list(self._paths)
        self._paths.append(path)
        try:
            files.mkdirs(self._directory)
            write_file(files, path, text)
        except StorageError as error:
            if not self._failing:
                log.warning(
                    "the tables' conditions cannot be written to %s, so `status` shows old conditions: %s",
                    self._directory,
                    error,
                )
            self._failing = True
            return
        self._shown, self._failing = text, False
        self._delete(before)

    def end(self, outcome: bytes | None) -> None:
        """Write the outcome file, then delete this owner's condition file and the outcomes of earlier runs.

        If the outcome cannot be written, nothing is deleted, as after a kill. If it is None, earlier outcomes stay. A crash in
        between leaves several outcomes; readers use the newest.
        """
        if outcome is not None:
            earlier = _paths(self._ports, self._directory, parse_outcome_name, outcome_name)
            if not self._write_outcome(outcome):
                return
            self._delete(earlier)
        self._delete(list(self._paths))
        self._shown = None

    def _write_outcome(self, outcome: bytes) -> bool:
        files = self._ports.files
        for count in range(_OUTCOME_TRIES):
            try:
                files.mkdirs(self._directory)
                write_file(files, join(self._directory, outcome_name(self._owner, count)), outcome)
            except StorageError as error:
                failure = error
                continue
            return True
        log.warning("the outcome of the run cannot be written to %s: %s", self._directory, failure)
        return False

    def _delete(self, paths: list[str]) -> None:
        for path in paths:
            try:
                self._ports.files.delete(path)
            except StorageError as error:
                log.debug("delete %s: %s", path, error)
                continue
            if path in self._paths:
                self._paths.remove(path)


def read_conditions(
    ports: Ports, root: str, service: str, decode: Callable[[bytes], Content]
) -> dict[str, Content]:
    """Return the newest condition of each owner, including dead owners; the caller checks who is alive.

    If `decode` raises ValueError (a half-written text) or a file cannot be read, the owner's previous file is used. Never
    raises.
    """
    return _read(
        ports=ports,
        directory=heartbeat_directory(root, service),
        parse=parse_condition_name,
        build=condition_name,
        decode=decode,
    )


def read_outcomes(
    ports: Ports, root: str, service: str, decode: Callable[[bytes], Content]
) -> dict[str, Content]:
    """Return the outcome that each owner wrote at its end; files are chosen and skipped as in `read_conditions`."""
    return _read(
        ports=ports,
        directory=heartbeat_directory(root, service),
        parse=parse_outcome_name,
        build=outcome_name,
        decode=decode,
    )


def delete_dead_conditions(ports: Ports, root: str, service: str, processes: Processes) -> int:
    """Delete the condition files of owners without a heartbeat, and of owners that are gone from this host. Return how many."""
    directory = heartbeat_directory(root, service)
    try:
        heartbeats = {
            p[0]: c.path for c in ports.files.list(directory) if (p := parse_heartbeat_name(c.name))
        }
    except StorageError:
        return 0
    deleted = 0
    for owner, count in _owners_and_counts(ports, directory, parse_condition_name):
        if owner in heartbeats and not is_known_dead(ports, heartbeats[owner], processes):
            continue
        try:
            deleted += ports.files.delete(join(directory, condition_name(owner, count)))
        except StorageError as error:
            log.debug("delete in %s: %s", directory, error)
    return deleted


def _read(
    ports: Ports, directory: str, parse: _Parse, build: _Build, decode: Callable[[bytes], Content]
) -> dict[str, Content]:
    contents: dict[str, Content] = {}
    for owner, count in sorted(_owners_and_counts(ports, directory, parse), reverse=True):
        if owner in contents:
            continue
        try:
            contents[owner] = decode(ports.files.read(join(directory, build(owner, count))))
        except (StorageError, ValueError) as error:
            log.debug("read the condition of %s in %s: %s", owner, directory, error)
    return contents


def _paths(ports: Ports, directory: str, parse: _Parse, build: _Build) -> list[str]:
    return [join(directory, build(*name)) for name in _owners_and_counts(ports, directory, parse)]


def _owners_and_counts(ports: Ports, directory: str, parse: _Parse) -> list[tuple[str, int]]:
    try:
        return [p for child in children(ports.files, directory) if (p := parse(child.name))]
    except StorageError as error:
        log.debug("list %s: %s", directory, error)
        return []
