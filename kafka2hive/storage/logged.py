"""A FileSystem that makes changes through another one and logs each of them.

The log is the audit trail: every change is one line of logger `kafka2hive.storage` with operation, path and outcome
(`ok`, `missing` for a delete that found nothing, or the error's name and text). JSON logs have them as the fields
`operation`, `path`, `target` and `outcome`. The level is DEBUG on success and INFO on failure. It is below DEBUG for a
successful heartbeat, and for a change that failed because its directory must be created first.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from kafka2hive.model.paths.ledger import parse_heartbeat_name, parse_repair_name
from kafka2hive.model.paths.path import base_name
from kafka2hive.storage.port import FileStatus, FileSystem, ParentMissing, StorageError, StorageWriter
from kafka2hive.storage.stored_file import StoredFile

Result = TypeVar("Result")

log = logging.getLogger("kafka2hive.storage")
BELOW_DEBUG = logging.DEBUG - 1
OK = "ok"
MISSING = "missing"


class LoggedFileSystem:
    """Logs the changes of `files`. Safe for any number of threads. A writer's `close` is logged, `write` is not."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def create(self, path: str) -> StorageWriter:
        return _LoggedWriter(self, path, self.change("create", path, lambda: self._files.create(path)))

    def rename(self, source: str, target: str) -> None:
        self.change("rename", source, lambda: self._files.rename(source, target), target)

    def read(self, path: str) -> bytes:
        return self._files.read(path)

    def open(self, path: str) -> StoredFile:
        return self._files.open(path)

    def tail(self, path: str, most: int) -> bytes:
        return self._files.tail(path, most)

    def stat(self, path: str) -> FileStatus:
        return self._files.stat(path)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self._files.list(path)

    def delete(self, path: str) -> bool:
        return self.change("delete", path, lambda: self._files.delete(path))

    def mkdirs(self, path: str) -> None:
        self.change("mkdirs", path, lambda: self._files.mkdirs(path))

    def change(self, operation: str, path: str, function: Callable[[], Result], target: str = "") -> Result:
        """Run a change and log it. _LoggedWriter calls this, too."""
        try:
            result = function()
        except StorageError as error:
            # for the first file of a new directory, the caller creates the directory and repeats the call
            level = BELOW_DEBUG if isinstance(error, ParentMissing) else logging.INFO
            self.log_line(
                operation=operation,
                path=path,
                outcome=f"{type(error).__name__}: {error}",
                target=target,
                level=level,
            )
            raise
        outcome = MISSING if result is False else OK
        self.log_line(operation, path, outcome, target)
        return result

    @staticmethod
    def log_line(
        operation: str, path: str, outcome: str, target: str = "", level: int = logging.DEBUG
    ) -> None:
        """Log one line, below DEBUG for a successful heartbeat."""
        fields = {"operation": operation, "path": path, "target": target, "outcome": outcome}
        arrow = f" -> {target}" if target else ""
        if outcome == OK and _is_heartbeat(path):
            level = BELOW_DEBUG
        log.log(level, "%s %s%s: %s", operation, path, arrow, outcome, extra={"fields": fields})


def _is_heartbeat(path: str) -> bool:
    """Return whether the path is a heartbeat, whose renames every two seconds would be 24 MB of log a day."""
    name = base_name(path)
    return parse_heartbeat_name(name) is not None or parse_repair_name(name) is not None


class _LoggedWriter:
    def __init__(self, files: LoggedFileSystem, path: str, writer: StorageWriter) -> None:
        self._files = files
        self._path = path
        self._writer = writer

    def write(self, data: bytes | memoryview) -> None:
        self._writer.write(data)

    def close(self) -> None:
        self._files.change("close", self._path, self._writer.close)

    def abandon(self) -> None:
        self._files.log_line("abandon", self._path, OK)
        self._writer.abandon()
