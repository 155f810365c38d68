"""A file system in memory whose answers get lost: before the call arrives, or after it was carried out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kafka2hive.storage.port import (
    AlreadyExists,
    FileStatus,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
)
from kafka2hive.storage.stored_file import StoredFile
from tests.harness.clock import SkippedTime
from tests.harness.stored import stored

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Trouble:
    """The `nth` call of `operation` (from 0) gives `error` instead of its answer; `done`: it was carried out.

    `times` calls in a row. `length`: a close that was carried out left only so many bytes, None: all.
    """

    operation: str
    nth: int = 0
    done: bool = False
    times: int = 1
    error: type[StorageError] = OutcomeUnknown
    length: int | None = None


@dataclass
class UnclearFiles:
    """`content` by full path; `open_names` are being written. `took` seconds of `clock` pass with every call."""

    troubles: list[Trouble] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    content: dict[str, bytes] = field(default_factory=dict)
    open_names: set[str] = field(default_factory=set)
    calls: list[tuple[str, str]] = field(default_factory=list)
    clock: SkippedTime = field(default_factory=SkippedTime)
    took: float = 0.0
    before: Callable[[str, str], None] = lambda operation, path: None

    def names(self, state: str) -> list[str]:
        return sorted(path for path in self.content if path.endswith(state))

    def create(self, path: str) -> "UnclearWriter":
        def make() -> UnclearWriter:
            if path.rpartition("/")[0] not in self.directories:
                raise ParentMissing(path)
            if path in self.content:
                raise AlreadyExists(path)
            self.content[path] = b""
            self.open_names.add(path)
            return UnclearWriter(self, path)

        return self.ask("create", path, make)

    def rename(self, source: str, target: str) -> None:
        def move() -> None:
            if source not in self.content:
                raise NotFound(source)
            if target in self.content:
                raise AlreadyExists(target)
            self.content[target] = self.content.pop(source)

        self.ask("rename", source, move)

    def stat(self, path: str) -> FileStatus:
        def look() -> FileStatus:
            if path not in self.content:
                raise NotFound(path)
            return FileStatus(path, len(self.content[path]), False)

        return self.ask("stat", path, look)

    def mkdirs(self, path: str) -> None:
        self.ask("mkdirs", path, lambda: self.directories.add(path))

    def read(self, path: str) -> bytes:
        return self.content[path]

    def open(self, path: str) -> StoredFile:
        return stored(self.read(path))

    def tail(self, path: str, most: int) -> bytes:
        return self.content[path][-most:]

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return tuple(self.stat(p) for p in sorted(self.content) if p.rpartition("/")[0] == path)

    def delete(self, path: str) -> bool:
        return self.content.pop(path, None) is not None

    def ask(self, operation: str, path: str, do: Callable[[], Result]) -> Result:
        trouble = self.trouble(operation)
        self.calls.append((operation, path))
        self.clock.seconds += self.took
        self.before(operation, path)
        if trouble is None:
            return do()
        if trouble.done:
            do()
        raise trouble.error(path, "the answer did not come")

    def trouble(self, operation: str) -> Trouble | None:
        nth = self.count(operation)
        found = (t for t in self.troubles if t.operation == operation and t.nth <= nth < t.nth + t.times)
        return next(found, None)

    def count(self, operation: str) -> int:
        return sum(called == operation for called, _ in self.calls)


@dataclass
class UnclearWriter:
    """A second `close` finds out, as the port promises."""

    files: UnclearFiles
    path: str
    written: bytes = b""

    def write(self, data: bytes | memoryview) -> None:
        def write() -> None:
            self.written += bytes(data)
            self.files.content[self.path] = self.written

        self.files.ask("write", self.path, write)

    def close(self) -> None:
        trouble = self.files.trouble("close")

        def close() -> None:
            self.files.open_names.discard(self.path)
            if trouble is not None and trouble.length is not None:
                self.files.content[self.path] = self.written[: trouble.length]
            elif len(self.files.content[self.path]) != len(self.written):
                raise StorageError(self.path, "closed with fewer bytes than were written")

        self.files.ask("close", self.path, close)

    def abandon(self) -> None:
        self.files.calls.append(("abandon", self.path))
