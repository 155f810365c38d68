"""What a run says about its tables, for other processes to read: advice beside its heartbeat, like that one.

`<ledger root>/alive/<service>/condition.<owner>.<k>` is written new, under a new name, whenever the text changes; the one
before is deleted afterwards. A reader takes the newest that it can make sense of, of live owners: a file that is
being written, or was left by a kill, does no harm. The text's meaning is the caller's.

`outcome.<owner>.<k>` in the same directory is what a run said when it ended. It stays until the next one has ended.
"""

from collections.abc import Callable
from typing import TypeVar

from kafka2hive.ledger.heartbeat import Processes, is_known_dead
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.paths.heartbeat import (
    condition_name,
    heartbeat_directory,
    outcome_name,
    parse_condition_name,
    parse_heartbeat_name,
    parse_outcome_name,
)
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import StorageError, children, write_file

Said = TypeVar("Said")
_TRIES_OF_OUTCOME = 2


class Board:
    """What one process says for one service. Failures are logged, once until it works again, and change nothing."""

    def __init__(self, ports: Ports, root: str, service: str, owner: str) -> None:
        self._ports = ports
        self._directory = heartbeat_directory(root, service)
        self._owner = owner
        self._count = 0
        self._shown: bytes | None = None
        self._left: list[str] = []
        self._failing = False

    def show(self, text: bytes) -> None:
        """Say `text` from now on; nothing is written when that is what it says already.

        State before: at most one text of this owner. After: the new one. A crash in between leaves both: the newer
        one counts. A write without a clear answer uses its name up.
        """
        if text == self._shown:
            return
        files = self._ports.files
        path = join(self._directory, condition_name(self._owner, self._count))
        self._count += 1
        before = list(self._left)
        self._left.append(path)
        try:
            files.mkdirs(self._directory)
            write_file(files, path, text)
        except StorageError as error:
            if not self._failing:
                log.warning("the tables' conditions are not told in %s: %s", self._directory, error)
            self._failing = True
            return
        self._shown, self._failing = text, False
        self._delete(before)

    def end(self, outcome: bytes | None) -> None:
        """Leave `outcome` behind, then delete what was said, and the outcomes of earlier runs.

        An outcome that cannot be written leaves all that is there, as a kill does. None: nothing happened that would be
        worth a word, and earlier outcomes stay. A crash in between leaves both: the newer one counts.
        """
        if outcome is not None:
            earlier = _named(self._ports, self._directory, parse_outcome_name, outcome_name)
            if not self._leave(outcome):
                return
            self._delete_all(earlier)
        self._delete(list(self._left))
        self._shown = None

    def _leave(self, outcome: bytes) -> bool:
        files = self._ports.files
        for count in range(_TRIES_OF_OUTCOME):
            try:
                files.mkdirs(self._directory)
                write_file(files, join(self._directory, outcome_name(self._owner, count)), outcome)
            except StorageError as error:
                failed = error
                continue
            return True
        log.warning("how the run ended is not told in %s: %s", self._directory, failed)
        return False

    def _delete_all(self, paths: list[str]) -> None:
        for path in paths:
            try:
                self._ports.files.delete(path)
            except StorageError as error:
                log.debug("delete %s: %s", path, error)

    def _delete(self, paths: list[str]) -> None:
        for path in paths:
            try:
                self._ports.files.delete(path)
            except StorageError as error:
                log.debug("take back %s: %s", path, error)
                continue
            self._left.remove(path)


def read_boards(
    ports: Ports, root: str, service: str, understand: Callable[[bytes], Said]
) -> dict[str, Said]:
    """What each owner said last, dead ones included: the caller asks who is alive.

    `understand` raises ValueError for a text that is none (half written); then the one before counts. Never fails:
    what cannot be read is not said.
    """
    return _read(
        ports=ports,
        directory=heartbeat_directory(root, service),
        parse=parse_condition_name,
        build=condition_name,
        understand=understand,
    )


def read_outcomes(
    ports: Ports, root: str, service: str, understand: Callable[[bytes], Said]
) -> dict[str, Said]:
    """Return the outcome that each owner left when it ended. Never fails, like read_boards."""
    return _read(
        ports=ports,
        directory=heartbeat_directory(root, service),
        parse=parse_outcome_name,
        build=outcome_name,
        understand=understand,
    )


def delete_dead_boards(ports: Ports, root: str, service: str, processes: Processes) -> int:
    """Delete what owners say that are dead for certain: without a heartbeat, or gone from this host. Returns how many."""
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


_Parse = Callable[[str], tuple[str, int] | None]
_Build = Callable[[str, int], str]


def _read(
    ports: Ports, directory: str, parse: _Parse, build: _Build, understand: Callable[[bytes], Said]
) -> dict[str, Said]:
    said: dict[str, Said] = {}
    for owner, count in sorted(_owners_and_counts(ports, directory, parse), reverse=True):
        if owner in said:
            continue
        try:
            said[owner] = understand(ports.files.read(join(directory, build(owner, count))))
        except (StorageError, ValueError) as error:
            log.debug("what %s says in %s: %s", owner, directory, error)
    return said


def _named(ports: Ports, directory: str, parse: _Parse, build: _Build) -> list[str]:
    return [join(directory, build(*one)) for one in _owners_and_counts(ports, directory, parse)]


def _owners_and_counts(ports: Ports, directory: str, parse: _Parse) -> list[tuple[str, int]]:
    try:
        return [p for child in children(ports.files, directory) if (p := parse(child.name))]
    except StorageError as error:
        log.debug("look at %s: %s", directory, error)
        return []
